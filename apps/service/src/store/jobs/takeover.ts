import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../../model/log.ts';
import { KEEP_ALIVE } from '../db.ts';
import { RECONNECT_MS } from '../listen.ts';

/** The queue of the jobs of batches. */
export const BATCH = 'batch';

export interface Presence {
  leave(): Promise<void>;
}

/**
 * Marks this process as a worker of the database, by a lock that the server releases when the process dies, however it
 * dies. If no other worker lives, the jobs that still run belong to workers that were killed: they become due at once,
 * and not only after their heartbeats have expired. A wrong takeover only repeats work: a job continues from the state
 * on chain, and a delayed worker writes nothing (decision 39). A connection that is lost, as in a failover, is replaced.
 */
export async function joinWorkers(sessionConfig: pg.PoolConfig, log: Pick<Log, 'warn'>): Promise<Presence> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let mark = await holdMark(sessionConfig, async (client) => {
    if (!(await isAlone(client))) return;
    const taken = await takeOver(client);
    if (taken > 0) log.warn({ jobs: taken }, 'the jobs of a worker that was killed are run again');
  });
  const staying = (async () => {
    while (!signal.aborted) {
      const err = await mark.lost;
      if (signal.aborted) return;
      log.warn({ err }, 'the connection that marks this worker is lost');
      await sleep(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
      // A failed attempt leaves the lost mark, and the next one follows.
      if (!signal.aborted) mark = await holdMark(sessionConfig).catch((error: Error) => ({ ...mark, lost: error }));
    }
  })();
  return {
    async leave() {
      stopping.abort();
      await mark.client.end();
      await staying;
      // It may have been replaced meanwhile.
      await mark.client.end();
    },
  };
}

const LOCK = [0x666c7977 /* 'flyw' */, 0x776f726b /* 'work' */];

interface Mark {
  readonly client: pg.Client;
  /** Resolves with the reason when the connection has ended; never rejects. */
  readonly lost: Promise<Error> | Error;
}

/** Opens the connection that holds the shared lock. `begin` runs before, and may take the lock exclusively. */
async function holdMark(sessionConfig: pg.PoolConfig, begin?: (client: pg.Client) => Promise<void>): Promise<Mark> {
  const client = new pg.Client({ ...sessionConfig, ...KEEP_ALIVE, application_name: 'flywheel-worker' });
  const lost = Promise.withResolvers<Error>();
  client.on('error', lost.resolve);
  client.on('end', () => lost.resolve(new Error('The connection was closed.')));
  try {
    await client.connect();
    await begin?.(client);
    await client.query('select pg_advisory_lock_shared($1, $2)', LOCK);
    if (begin !== undefined) await client.query('select pg_advisory_unlock($1, $2)', LOCK);
  } catch (error) {
    await client.end();
    throw error;
  }
  return { client, lost: lost.promise };
}

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
