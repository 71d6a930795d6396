import pg from 'pg';
import type { Log } from '../log.ts';

/** The queue of the jobs of batches. */
export const BATCH = 'batch';

export interface Presence {
  leave(): Promise<void>;
}

/**
 * Marks this process as a worker of the database, by a lock that the server releases when the process dies, however it
 * dies. If no other worker lives, the jobs that still run belong to workers that were killed: they become due at once,
 * and not only after their heartbeats have expired. A wrong takeover only repeats work: a job continues from the state
 * on chain, and a delayed worker writes nothing (decision 39).
 */
export async function joinWorkers(sessionConfig: pg.PoolConfig, log: Pick<Log, 'warn'>): Promise<Presence> {
  const client = new pg.Client({ ...sessionConfig, application_name: 'flywheel-worker', keepAlive: true });
  client.on('error', (error) => log.warn({ err: error }, 'the connection that marks this worker is lost'));
  await client.connect();
  try {
    if (await isAlone(client)) {
      const taken = await takeOver(client);
      if (taken > 0) log.warn({ jobs: taken }, 'the jobs of a worker that was killed are run again');
    }
    await client.query('select pg_advisory_lock_shared($1, $2)', LOCK);
    await client.query('select pg_advisory_unlock($1, $2)', LOCK);
  } catch (error) {
    await client.end();
    throw error;
  }
  return { leave: () => client.end() };
}

const LOCK = [0x666c7977 /* 'flyw' */, 0x776f726b /* 'work' */];

/** Takes the lock exclusively, which fails while another worker shares it. A worker that starts at once waits for its end. */
async function isAlone(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ isAlone: boolean }>('select pg_try_advisory_lock($1, $2) as "isAlone"', LOCK);
  return rows[0]?.isAlone === true;
}

/** Makes running jobs of batches due. The others are deleted, because every worker that starts requests them. */
async function takeOver(client: pg.Client): Promise<number> {
  const { rowCount } = await client.query(
    `update jobs.job set state = 'retry', start_after = now() where state = 'active' and name = $1`,
    [BATCH],
  );
  // One of them may wait to be retried already, and a second one in that state is not allowed.
  await client.query(`delete from jobs.job where state = 'active' and name <> $1`, [BATCH]);
  return rowCount ?? 0;
}
