import pg from 'pg';
import type { Clock } from '../model/clock.ts';
import type { Log } from './log.ts';

export interface ListenDeps {
  readonly poolConfig: pg.PoolConfig;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

export interface Listener {
  /** From now on nothing is missed, until the connection is lost; called each time that there is one. */
  onListening(): void;
  onNotice(payload: string): void;
}

/** Databases are back from a restart within seconds. */
const RECONNECT_MS = 1_000;

/** Listens on a connection of its own, and on another once that is lost. */
export function startListening(
  { poolConfig, clock, log }: ListenDeps,
  channel: string,
  listener: Listener,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const listening = (async () => {
    while (!stopping.signal.aborted) {
      try {
        await listen(poolConfig, channel, stopping.signal, listener);
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.warn({ err: error, channel }, 'events are not listened for: those who follow them hear of them later');
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

/** Until the signal aborts, or, by throwing, until the connection is lost. */
async function listen(
  poolConfig: pg.PoolConfig,
  channel: string,
  signal: AbortSignal,
  listener: Listener,
): Promise<void> {
  const client = new pg.Client({ ...poolConfig, application_name: 'flywheel-events', keepAlive: true });
  const ended = Promise.withResolvers<void>();
  client.on('error', ended.reject);
  client.on('end', () => ended.reject(new Error('The connection was closed.')));
  client.on('notification', ({ payload }) => listener.onNotice(payload ?? ''));
  const onAbort = () => ended.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  // Whoever waits for it may not have come to it when it fails.
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
