import type { Address } from '@solana/kit';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../db.ts';

/** SQL that is true for a job of lane `setup` (decision 39). */
export const isSetup = (job: string) => `(${job}.data->>'type' = 'setup')`;

/** SQL for the multisig of a job, which is its key until it is claimed. */
export const multisigOf = (job: string) => `split_part(${job}.singleton_key, ':', 1)`;

/** SQL for the key under which a job runs: one job of each key runs at a time. */
export const keyOf = (job: string) =>
  `case when ${isSetup(job)} then ${multisigOf(job)} || ':setup' else ${job}.singleton_key end`;

/** Selects the jobs of a multisig, of both lanes. */
export const isOf = (multisig: string | RawBuilder<string>): RawBuilder<boolean> =>
  sql`singleton_key in (${multisig}::text, ${multisig}::text || ':setup')`;

/** Names a job of a batch. */
interface JobOfBatch {
  readonly type: string;
  readonly batchId: string;
  readonly multisig: Address | RawBuilder<Address>;
}

/** Selects the jobs that wait, or wait to be retried, and do the work of this one. */
export const isRepeatOf = ({ type, batchId, multisig }: JobOfBatch): RawBuilder<boolean> =>
  // The conditions of pg-boss's index job_i10, of what waits for a key.
  sql`policy = 'key_strict_fifo' and ${isOf(multisig)} and state < 'active' and not blocked
    and data->>'type' = ${type} and data->>'batchId' = ${batchId}`;

/** Returns true if a job runs, or waits for less than a minute: one may have been put off for years. */
export async function isEnqueued(db: Db, { type, batchId, multisig }: JobOfBatch): Promise<boolean> {
  // The conditions of pg-boss's indexes job_i8 and job_i10, of what holds a key and of what waits for one.
  const { rows } = await sql`
    select from jobs.job
    where name = 'batch' and policy = 'key_strict_fifo' and ${isOf(multisig)}
      and ((state < 'active' and not blocked) or state in ('active', 'retry', 'failed'))
      and data->>'type' = ${type} and data->>'batchId' = ${batchId} and start_after < now() + interval '1 minute'
    limit 1
  `.execute(db);
  return rows.length > 0;
}

/** Deletes the jobs that wait for their time and do the work of this one. Only workers may. */
export async function dropWaiting(db: Db, job: JobOfBatch): Promise<void> {
  await sql`delete from jobs.job where name = 'batch' and ${isRepeatOf(job)} and state = 'created'`.execute(db);
}
