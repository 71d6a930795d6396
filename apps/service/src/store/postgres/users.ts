import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/**
 * Counts the processes that use a server, by advisory locks of their connections. The server releases a lock when its
 * process dies, however it dies, so the count is always right and no stale file can remain.
 */
const LOCK_CLASS = 0x666c7977; // 'flyw'
const IN_USE = 1;
const IN_EXCLUSIVE_USE = 2;

/** Joins the users of a server. @returns false if it is stopping: its last user holds the lock until it has stopped. */
export async function joinUsers(client: pg.Client): Promise<boolean> {
  try {
    await client.query('select pg_advisory_lock_shared($1, $2)', [LOCK_CLASS, IN_USE]);
    return true;
  } catch (error) {
    if (isConnectionLoss(error)) return false;
    throw error;
  }
}

/** Removes this process from the users; returns true if it was the last and no other can join any more. */
export async function isLastUser(client: pg.Client): Promise<boolean> {
  // Released before the exclusive lock is requested: of two processes that leave at once, the later one finds the lock
  // free.
  await client.query('select pg_advisory_unlock_shared($1, $2)', [LOCK_CLASS, IN_USE]);
  try {
    return await tryLock(client, IN_USE);
  } catch (error) {
    // The other one was faster, and is stopping the server.
    if (isConnectionLoss(error)) return false;
    throw error;
  }
}

/** The server notices a killed process when its socket closes, which takes a moment. */
const EXCLUSIVE_ATTEMPTS = 20;
const EXCLUSIVE_RETRY_MS = 50;

/**
 * Takes the data directory exclusively.
 * @throws Error naming the process that has it; the connection is closed then.
 */
export async function takeExclusively(client: pg.Client, dataDirectory: string): Promise<void> {
  for (let attempt = 1; attempt <= EXCLUSIVE_ATTEMPTS; attempt++) {
    if (await tryLock(client, IN_EXCLUSIVE_USE)) return;
    await sleep(EXCLUSIVE_RETRY_MS);
  }
  const { rows } = await client.query<{ application_name: string }>(
    `select application_name from pg_stat_activity join pg_locks using (pid)
     where locktype = 'advisory' and classid = $1 and objid = $2 and granted`,
    [LOCK_CLASS, IN_EXCLUSIVE_USE],
  );
  await client.end();
  const holder = rows[0]?.application_name ?? 'another process';
  throw new Error(`The data directory ${dataDirectory} is in use by ${holder}. Stop it, or use another directory.`);
}

async function tryLock(client: pg.Client, lock: number): Promise<boolean> {
  const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1, $2) as locked', [
    LOCK_CLASS,
    lock,
  ]);
  return rows[0]?.locked === true;
}

/** 57P01 to 57P03: the server is shutting down. An error without a code is the closed socket. */
function isConnectionLoss(error: unknown): boolean {
  return error instanceof pg.DatabaseError ? /^57P0[1-3]$/.test(error.code ?? '') : error instanceof Error;
}
