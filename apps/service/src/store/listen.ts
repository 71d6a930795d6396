import pg from 'pg';
import type { Clock } from '../model/clock.ts';
import type { Log } from '../model/log.ts';
import { KEEP_ALIVE } from './db.ts';

export interface ListenDeps {
  /** Leads to PostgreSQL itself: a pooler in transaction mode loses notifications. */
  readonly sessionConfig: pg.PoolConfig;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

export interface Listener {
  /** Called after each connection: no notification is missed from now on, until the connection is lost. */
  onListening(): void;
  onNotice(payload: string): void;
}

/** A database restarts within seconds. */
export const RECONNECT_MS = 1_000;

/** Listens on a connection of its own, which is replaced when it is lost. */
export function startListening(
  { sessionConfig, clock, log }: ListenDeps,
  channel: string,
  listener: Listener,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const listening = (async () => {
    while (!stopping.signal.aborted) {
      try {
        await listen(sessionConfig, channel, stopping.signal, listener);
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.warn({ err: error, channel }, 'the listener for events is not connected: events arrive late');
      }
      await clock.sleep(RECONNECT_MS, stopping.signal).catch(() => undefined);
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await listening;
    },
  };
}

/** Listens until the signal aborts. @throws when the connection is lost. */
async function listen(
  sessionConfig: pg.PoolConfig,
  channel: string,
  signal: AbortSignal,
  listener: Listener,
): Promise<void> {
  const client = new pg.Client({ ...sessionConfig, ...KEEP_ALIVE, application_name: 'flywheel-events' });
  const ended = Promise.withResolvers<void>();
  client.on('error', ended.reject);
  client.on('end', () => ended.reject(new Error('The connection was closed.')));
  client.on('notification', ({ payload }) => listener.onNotice(payload ?? ''));
  const onAbort = () => ended.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  // It may reject before it is awaited, which must not end the process.
  ended.promise.catch(() => undefined);
  try {
    await client.connect();
    await client.query(`listen ${channel}`);
    listener.onListening();
    if (!signal.aborted) await ended.promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
    await client.end().catch(() => undefined);
  }
}
