import { sql } from 'kysely';
import type { Call } from './gate.ts';
import type { World } from './world.ts';

/**
 * A step of the service that the model of the landing protocol knows, as docs/model/log.pml reads it: the kind, the number of the
 * bundle, and what is known about it.
 */
export type ModelStep = readonly [kind: number, bundle: number, ...known: number[]];

/** What was done for a batch, in order. */
export interface BatchLog {
  readonly batchId: string;
  readonly pipelines: number;
  readonly steps: readonly ModelStep[];
}

/**
 * Logs what processes of the service commit and send from now on. Triggers write the log, in the order of the commits and whichever
 * process dies; `observeSend` adds what passes a gate.
 */
export async function startProtocolLog({ db }: World): Promise<void> {
  for (const statement of TRIGGERS) await sql.raw(statement).execute(db);
}

/** Adds a request that sends transactions, before it is forwarded. */
export async function observeSend({ db }: World, { method, params }: Call): Promise<void> {
  if (method !== 'sendBundle' && method !== 'sendTransaction') return;
  const transactions = [params[0]].flat();
  await sql`insert into protocol_log.steps (kind, detail) values ('send', ${JSON.stringify({ transactions })})`.execute(
    db,
  );
}

/** Reads the log of each batch: what concerns it, and the jobs of the others of its multisig, which take the turns of its lanes. */
export async function readProtocolLogs({ db }: World): Promise<BatchLog[]> {
  const { rows } = await sql<LoggedStep>`
    select kind, flywheel_id as "flywheelId", batch_id as "batchId", detail from protocol_log.steps order by id
  `.execute(db);
  const batches = await db
    .selectFrom('batches')
    .select(['id', 'flywheel_id', 'batch_index', 'pipeline_count'])
    .orderBy('created_at')
    .execute();
  const indices = new Map(batches.map(({ id, batch_index }) => [id, batch_index]));
  return batches.map(({ id, flywheel_id, batch_index, pipeline_count }) => {
    const own = { id, flywheelId: flywheel_id, isBehind: (other: string) => (indices.get(other) ?? 0n) > batch_index };
    return { batchId: id, pipelines: pipeline_count, steps: translate(rows, own) };
  });
}

type LoggedStep = { readonly flywheelId: string | null; readonly batchId: string | null } & (
  | { readonly kind: 'begin'; readonly detail: BegunRun }
  | { readonly kind: 'record'; readonly detail: RecordedBundle }
  | { readonly kind: 'send'; readonly detail: { readonly transactions: readonly string[] } }
  | { readonly kind: 'settle'; readonly detail: SettledBundle }
  | { readonly kind: 'status'; readonly detail: { readonly status: string; readonly executed: number | null } }
  | { readonly kind: 'final'; readonly detail: null }
);

interface BegunRun {
  readonly lane: keyof typeof LANES;
  /** Null if the queue had given the job to another process when the run began. */
  readonly job: { readonly type: string; readonly batchId: string } | null;
}

interface RecordedBundle {
  readonly id: number;
  readonly phase: 'setup' | 'execution' | 'close';
  readonly firstPipeline: number;
  readonly pipelineCounts: readonly number[];
  readonly transactions: readonly string[];
}

interface SettledBundle {
  readonly id: number;
  readonly phase: RecordedBundle['phase'];
  readonly state: 'landed' | 'failed';
  readonly pipelineCounts: readonly number[];
  readonly signatures: readonly string[];
  readonly landedSignatures: readonly string[];
}

/** Numbers of docs/model/log.pml and runs.pml. */
const BEGIN = 0;
const RECORD = 1;
const SEND = 2;
const SETTLE = 3;
const WRITE = 4;
const FINAL = 5;
const LANES = { setup: 0, deciding: 1 } as const;
const JOBS: Readonly<Record<string, number>> = { setup: 0, execute: 1, close: 2, cancel: 3, expire: 3 };
/** A job that does nothing for the batch. */
const NOTHING = 4;
const PHASES = { setup: 0, execution: 1 } as const;
const STATUSES: Readonly<Record<string, number>> = { FINALIZED: 1, EXECUTED: 2, FAILED: 3 };

/** The model leaves out how accounts are closed. */
function translate(
  log: readonly LoggedStep[],
  { id, flywheelId, isBehind }: { readonly id: string; readonly flywheelId: string; isBehind(other: string): boolean },
): ModelStep[] {
  const bundles = log.flatMap(({ kind, batchId, detail }, at) =>
    kind === 'record' && batchId === id && detail.phase !== 'close' ? [{ ...detail, at, isSent: false }] : [],
  );
  const numberOf = (bundleId: number) => bundles.findIndex((bundle) => bundle.id === bundleId);
  // An approval may be part of several bundles: it is sent with the first one that is recorded, and was not sent.
  const send = (transaction: string, at: number): ModelStep[] => {
    const holding = bundles.filter(({ transactions }) => transactions.includes(transaction));
    const isSentBefore = holding.some(({ isSent }) => isSent);
    const sent = holding.find((bundle) => !bundle.isSent && (bundle.at < at || !isSentBefore));
    if (!sent) return [];
    sent.isSent = true;
    return [[SEND, numberOf(sent.id)]];
  };
  return log.flatMap((step, at): ModelStep[] => {
    // A bundle is sent with its first transaction.
    if (step.kind === 'send') return send(step.detail.transactions[0] ?? '', at);
    if (step.kind === 'begin' && step.flywheelId === flywheelId) {
      const { lane, job } = step.detail;
      // A setup sets up the batches before its own.
      const isForIt = job !== null && (job.batchId === id || (lane === 'setup' && isBehind(job.batchId)));
      return [[BEGIN, 0, isForIt ? (JOBS[job.type] ?? NOTHING) : NOTHING, LANES[lane]]];
    }
    if (step.batchId !== id) return [];
    switch (step.kind) {
      case 'record': {
        const { phase, firstPipeline, pipelineCounts } = step.detail;
        if (phase === 'close') return [];
        return [
          [RECORD, numberOf(step.detail.id), PHASES[phase], firstPipeline, sum(pipelineCounts), approves(step.detail)],
        ];
      }
      case 'settle': {
        const { phase, state, signatures, landedSignatures, pipelineCounts } = step.detail;
        if (phase === 'close') return [];
        const hasLanded = signatures.map((signature) => landedSignatures.includes(signature));
        const pipelines = sum(pipelineCounts.filter((_, position) => hasLanded[position]));
        const approval = hasLanded[0] ? approves(step.detail) : 0;
        return [[SETTLE, numberOf(step.detail.id), state === 'landed' ? 1 : 0, pipelines, approval]];
      }
      case 'status':
        return [[WRITE, 0, STATUSES[step.detail.status] ?? 0, step.detail.executed ?? 0]];
      case 'final':
        return [[FINAL, 0]];
      default:
        return [];
    }
  });
}

/** The approval is a transaction of its own, before the pipelines. */
function approves({ phase, pipelineCounts }: Pick<RecordedBundle, 'phase' | 'pipelineCounts'>): number {
  return phase === 'execution' && pipelineCounts[0] === 0 ? 1 : 0;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

/** The functions run with the rights of the database's owner: processes of the service have none on the log. */
const TRIGGERS = [
  'create schema protocol_log',
  `create table protocol_log.steps (
    id bigint generated always as identity primary key, flywheel_id uuid, batch_id uuid, kind text not null, detail jsonb
  )`,
  `create function protocol_log.begin() returns trigger language plpgsql security definer as $$
  declare is_setup boolean := new.setup_run_number <> old.setup_run_number;
  begin
    insert into protocol_log.steps (flywheel_id, kind, detail) select new.id, 'begin', jsonb_build_object(
      'lane', case when is_setup then 'setup' else 'deciding' end,
      'job', (select j.data from jobs.job j where j.name = 'batch' and j.state = 'active'
        and j.singleton_key = new.multisig || case when is_setup then ':setup' else '' end)
    );
    return null;
  end $$`,
  `create trigger protocol_log after update of run_number, setup_run_number on flywheels
    for each row execute function protocol_log.begin()`,
  `create function protocol_log.record() returns trigger language plpgsql security definer as $$ begin
    insert into protocol_log.steps (batch_id, kind, detail)
    select new.batch_id, case when tg_op = 'INSERT' then 'record' else 'settle' end, jsonb_build_object(
      'id', new.id, 'phase', new.phase, 'state', new.state, 'firstPipeline', new.first_pipeline,
      'pipelineCounts', new.pipeline_counts, 'transactions', new.transactions, 'signatures', new.signatures,
      'landedSignatures', new.landed_signatures
    );
    return null;
  end $$`,
  `create trigger protocol_log after insert or update of state on bundles
    for each row execute function protocol_log.record()`,
  `create function protocol_log.status() returns trigger language plpgsql security definer as $$ begin
    if new.status <> old.status then
      insert into protocol_log.steps (batch_id, kind, detail) select new.id, 'status', jsonb_build_object(
        'status', new.status, 'executed', new.execute_result->'totalSuccessful'
      );
    elsif new.end_finalized_at is not null and old.end_finalized_at is null then
      insert into protocol_log.steps (batch_id, kind) values (new.id, 'final');
    end if;
    return null;
  end $$`,
  `create trigger protocol_log after update on batches for each row execute function protocol_log.status()`,
];
