import { AsyncLocalStorage } from 'node:async_hooks';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import {
  type Attributes,
  INVALID_SPAN_CONTEXT,
  type Span,
  type SpanOptions,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import pg from 'pg';
import { main } from '../../../src/main.ts';

/**
 * Runs `flywheel work`, which reports before and after everything that a job commits or sends, and continues when its
 * parent has answered. The service is unchanged: steps are intercepted in its spans, and where its packages call the
 * database and the cluster.
 */
async function workStepByStep(): Promise<void> {
  announceJobs();
  announceCommits();
  announceSends();
  await main('work');
  process.disconnect();
}

/** A step, as reported to the parent. */
export interface Step {
  readonly number: number;
  /** Name of the step, e.g. `execute: before commit of bundles 2`. */
  readonly name: string;
  readonly job: StepJob;
}

export interface StepJob {
  readonly id: string;
  readonly type: string;
  /** Absent if the job concerns no batch. */
  readonly batchId?: string;
  readonly multisig?: string;
}

interface JobContext {
  readonly job: StepJob;
  /** How often each step has occurred. */
  readonly counts: Map<string, number>;
}

/** The first step of a kind, the second, and the third, which has both before it: later ones are like the third. */
const MAX_ORDINAL = 3;

const context = new AsyncLocalStorage<JobContext>();
const waiting = new Map<number, () => void>();
let asked = 0;
process.on('message', (number: number) => waiting.get(number)?.());

async function step(name: string, { job }: JobContext): Promise<void> {
  asked += 1;
  const announced: Step = { number: asked, name: `${job.type}: ${name}`, job };
  const answered = new Promise<void>((resolve) => waiting.set(announced.number, resolve));
  process.send?.(announced);
  await answered;
  waiting.delete(announced.number);
}

/** Reports the moments right before and right after an act. Outside a job nothing is reported. */
async function surround<Result>(what: string, act: () => Promise<Result>): Promise<Result> {
  const running = context.getStore();
  if (!running) return act();
  const ordinal = (running.counts.get(what) ?? 0) + 1;
  running.counts.set(what, ordinal);
  if (ordinal > MAX_ORDINAL) return act();
  await step(`before ${what} ${ordinal}`, running);
  const result = await act();
  await step(`after ${what} ${ordinal}`, running);
  return result;
}

/** Reports a job that was taken, and one that is finished before the queue knows it. The service traces each as a span. */
function announceJobs(): void {
  const span = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);
  const tracer = {
    startSpan: () => span,
    startActiveSpan: (_name: string, { attributes = {} }: SpanOptions, work: (active: Span) => Promise<unknown>) => {
      const job = jobOf(attributes);
      return job === null ? work(span) : announced(job, () => work(span));
    },
  };
  // Tracer's overloads, of which the service calls one.
  trace.setGlobalTracerProvider({ getTracer: () => tracer as unknown as Tracer });
}

function jobOf({
  'flywheel.job.id': id,
  'flywheel.job.type': type,
  'flywheel.batch.id': batchId,
  'flywheel.multisig': multisig,
}: Attributes): StepJob | null {
  if (id === undefined) return null;
  const ofBatch = batchId === undefined ? {} : { batchId: String(batchId), multisig: String(multisig) };
  return { id: String(id), type: String(type), ...ofBatch };
}

function announced(job: StepJob, work: () => Promise<unknown>): Promise<unknown> {
  const running = { job, counts: new Map() };
  return context.run(running, async () => {
    await step('taken', running);
    const result = await work();
    await step('done', running);
    return result;
  });
}

/** Reports transactions by the tables that they write, and single statements that write. */
function announceCommits(): void {
  const query: (...given: unknown[]) => unknown = pg.Client.prototype.query;
  const tablesByClient = new WeakMap<pg.Client, Set<string>>();
  const queryAnnounced = function queryAnnounced(this: pg.Client, ...given: unknown[]): unknown {
    const text = textOf(given);
    if (context.getStore() === undefined || typeof text !== 'string') return query.apply(this, given);
    const isCommit = text === 'commit';
    if (text === 'begin') tablesByClient.set(this, new Set());
    const written = tablesByClient.get(this);
    if (isCommit || text === 'rollback') tablesByClient.delete(this);
    const tables = isCommit ? written : new Set(tablesWritten(text));
    if (written && !isCommit) for (const table of tables ?? []) written.add(table);
    if ((written && !isCommit) || !tables?.size) return query.apply(this, given);
    return surround(`commit of ${[...tables].join(', ')}`, async () => query.apply(this, given));
  };
  Object.assign(pg.Client.prototype, { query: queryAnnounced });
}

/** Kysely's statements are objects, those of pg-boss texts. */
function textOf([query]: readonly unknown[]): unknown {
  return typeof query === 'object' && query !== null && 'text' in query ? query.text : query;
}

const WRITE = /\b(?:insert into|delete from|update)\s+(?:"?\w+"?\.)?"?(\w+)"?(?=\s+set\b|\s*\(|\s+where\b)/gi;

function tablesWritten(sql: string): string[] {
  return [...sql.matchAll(WRITE)].flatMap(([, table]) => table ?? []);
}

const SENDS: ReadonlySet<string> = new Set(['sendBundle', 'sendTransaction']);

/** Reports requests that send a transaction or a bundle. Their answer waits until the parent has heard of it. */
function announceSends(): void {
  const request: (url: string, options: http.RequestOptions) => http.ClientRequest = http.request;
  const requestAnnounced = (url: string, options: http.RequestOptions): http.ClientRequest => {
    const sent = request(url, options);
    const end = sent.end.bind(sent);
    return Object.assign(sent, {
      end: (body: string) => {
        const method = Object(JSON.parse(body)).method;
        if (context.getStore() === undefined || !SENDS.has(method)) return end(body);
        const listeners = sent.listeners('response');
        sent.removeAllListeners('response');
        const answer = () =>
          new Promise((resolve, reject) => {
            sent.once('response', resolve).once('error', reject);
            end(body);
          });
        surround(method, answer).then(
          (response) => {
            for (const listener of listeners) listener(response);
          },
          () => undefined, // the sender listens to errors too
        );
        return sent;
      },
    });
  };
  Object.assign(http, { request: requestAnnounced });
  syncBuiltinESMExports();
}

await workStepByStep();
