import type { Logger } from 'pino';
import type { Clock } from '../model/clock.ts';
import { type SchemaOutcome, type SchemaThread, startThread } from './thread.ts';
import type { SchemaJob } from './thread-program.ts';

/**
 * Runs JSON Schemas in a few threads, fairly among those who send them.
 *
 * Written on node:worker_threads and not on piscina or tinypool: what this pool is for is in neither of them, a queue that
 * takes turns among senders and a limit in CPU time of the thread. Their own parts, start and message, are ten lines here.
 */
export interface SchemaPool {
  /** Runs a job when it is the sender's turn. Never rejects. */
  run(sender: SchemaSender, job: SchemaJob): Promise<SchemaOutcome | Refusal>;
  /** Ends the threads. Jobs that run or wait are answered `starved`. */
  close(): void;
}

/** Whose job it is. One job of a sender runs at a time. */
export interface SchemaSender {
  readonly id: string;
  /** `admitted`: a project that the company has admitted. `project`: any other. `wallet`: a registration or a trial. */
  readonly kind: 'admitted' | 'project' | 'wallet';
}

/** The sender's schemas have used up their CPU time too often. */
export interface Refusal {
  readonly status: 'barred';
  readonly exhaustions: number;
  readonly retryAfterSeconds: number;
}

export interface SchemaPoolOptions {
  readonly log: Pick<Logger, 'warn' | 'error'>;
  readonly clock: Pick<Clock, 'now'>;
  /** CPU time for a schema. */
  readonly schemaCpuMs?: number;
  /** Wall time of a job, as a multiple of its CPU time. */
  readonly wallFactor?: number;
  readonly start?: typeof startThread;
}

/** One for admitted projects, one for all projects, one for everyone. Each starts when it is first needed, and is kept. */
const THREADS = 3;
/**
 * Jobs of a kind, and of the kinds before it, that run at a time. Wallets cost nothing and projects little: wallets leave a
 * thread to projects, and both leave one to admitted projects.
 */
const MAX_RUNNING = { wallet: 1, project: 2, admitted: THREADS } as const;

/** CPU time for a schema, and for each payload. A schema of a hundred properties takes 5 ms, a payload 0.01 ms. */
export const SCHEMA_CPU_MS = 50;
export const PAYLOAD_CPU_MS = 0.2;
const WALL_FACTOR = 10;

/** Longest wait for a turn. */
const MAX_WAIT_MS = 5_000;
/** The most jobs of all senders of a kind together. */
const MAX_WAITING = 500;
const MAX_WAITING_PER_SENDER = 100;

/** A sender whose schemas end threads waits for the rest of a window: a new thread takes 0.1 s of CPU time. */
export const MAX_EXHAUSTIONS = 3;
const EXHAUSTION_WINDOW_MS = 60_000;
/** Bounds the memory for senders that were counted. */
const MAX_COUNTED_SENDERS = 10_000;

interface Waiting {
  readonly sender: SchemaSender;
  readonly job: SchemaJob;
  readonly resolve: (outcome: SchemaOutcome | Refusal) => void;
  readonly timer: NodeJS.Timeout;
}

export function createSchemaPool({
  log,
  clock,
  schemaCpuMs = SCHEMA_CPU_MS,
  wallFactor = WALL_FACTOR,
  start = startThread,
}: SchemaPoolOptions): SchemaPool {
  const threads = new Set<SchemaThread>();
  const idle: SchemaThread[] = [];
  /** Senders in the order of their turns. */
  const turns = new Map<string, Waiting[]>();
  const running = new Map<string, SchemaSender>();
  const exhaustions = createExhaustions(clock);
  const waiting = { admitted: 0, project: 0, wallet: 0 };
  let isClosed = false;

  const addThread = () => {
    const thread = start(log);
    threads.add(thread);
    return thread;
  };

  /** Takes an idle thread, or starts one; null while all are busy. */
  const takeThread = () => {
    for (let thread = idle.pop(); thread; thread = idle.pop()) {
      if (thread.isAlive()) return thread;
      threads.delete(thread);
    }
    return threads.size < THREADS ? addThread() : null;
  };

  const hasTurn = ({ id, kind }: SchemaSender) => {
    if (running.has(id)) return false;
    const max = MAX_RUNNING[kind];
    return [...running.values()].filter((other) => MAX_RUNNING[other.kind] <= max).length < max;
  };

  const remove = (entry: Waiting) => {
    const { id, kind } = entry.sender;
    const rest = (turns.get(id) ?? []).filter((other) => other !== entry);
    if (rest.length > 0) turns.set(id, rest);
    else turns.delete(id);
    waiting[kind] -= 1;
    clearTimeout(entry.timer);
  };

  const startJobs = () => {
    for (const [next] of [...turns.values()]) {
      if (!next || !hasTurn(next.sender)) continue;
      const thread = takeThread();
      if (thread === null) return;
      remove(next);
      void runOn(thread, next);
    }
  };

  /** Jobs that were sent before their sender was barred would each end a thread. */
  const refuseBarred = ({ id }: SchemaSender) => {
    const refusal = exhaustions.find(id);
    if (refusal === null) return;
    for (const entry of turns.get(id) ?? []) {
      remove(entry);
      entry.resolve(refusal);
    }
  };

  const runOn = async (thread: SchemaThread, { sender, job, resolve }: Waiting) => {
    running.set(sender.id, sender);
    const cpuMs = schemaCpuMs + PAYLOAD_CPU_MS * job.payloads.length;
    const outcome = await thread.run(job, { cpuMs, wallMs: cpuMs * wallFactor });
    if (isClosed) return resolve({ status: 'starved' });
    running.delete(sender.id);
    const others = turns.get(sender.id);
    if (others) {
      // The sender goes to the end of the line.
      turns.delete(sender.id);
      turns.set(sender.id, others);
    }
    if (outcome.status === 'exhausted') {
      exhaustions.add(sender.id);
      log.warn({ sender, position: outcome.position }, 'a schema used up its CPU time');
      refuseBarred(sender);
    }
    if (thread.isAlive()) idle.push(thread);
    else {
      threads.delete(thread);
      idle.push(addThread());
    }
    resolve(outcome);
    startJobs();
  };

  return {
    run(sender, job) {
      const refusal = exhaustions.find(sender.id);
      if (refusal !== null) return Promise.resolve(refusal);
      const ofSender = turns.get(sender.id) ?? [];
      if (isClosed || waiting[sender.kind] >= MAX_WAITING || ofSender.length >= MAX_WAITING_PER_SENDER) {
        return Promise.resolve({ status: 'starved' });
      }
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          remove(entry);
          resolve({ status: 'starved' });
        }, MAX_WAIT_MS);
        const entry = { sender, job, resolve, timer };
        turns.set(sender.id, [...ofSender, entry]);
        waiting[sender.kind] += 1;
        startJobs();
      });
    },
    close() {
      isClosed = true;
      for (const entry of [...turns.values()].flat()) {
        remove(entry);
        entry.resolve({ status: 'starved' });
      }
      for (const thread of threads) thread.kill();
    },
  };
}

/** Counts, for each sender, how often its schemas used up their CPU time within a window. */
function createExhaustions({ now }: Pick<Clock, 'now'>) {
  const counted = new Map<string, { count: number; readonly until: number }>();
  return {
    add(id: string): void {
      const time = now().getTime();
      const known = counted.get(id);
      if (known && known.until > time) known.count += 1;
      else {
        counted.delete(id);
        counted.set(id, { count: 1, until: time + EXHAUSTION_WINDOW_MS });
      }
      for (const [oldest, { until }] of counted) {
        if (until > time && counted.size <= MAX_COUNTED_SENDERS) break;
        counted.delete(oldest);
      }
    },
    find(id: string): Refusal | null {
      const known = counted.get(id);
      const leftMs = known === undefined ? 0 : known.until - now().getTime();
      if (!known || known.count < MAX_EXHAUSTIONS || leftMs <= 0) return null;
      return { status: 'barred', exhaustions: known.count, retryAfterSeconds: Math.ceil(leftMs / 1_000) };
    },
  };
}
