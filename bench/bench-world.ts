import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '@flywheel/service/internal/log.ts';
import { startPostgres } from '@flywheel/service/internal/store/postgres.ts';
import { openWorld, type World, type WorldDatabase, type WorldOptions } from '@flywheel/testing/world';

/** No bench reaches these. */
export const UNBOUNDED = {
  MAX_OPEN_BATCHES: '10000',
  MAX_OPEN_PIPELINES: '1000000',
  MAX_LOCKED_LAMPORTS_PER_PROJECT: '1000000000000000',
  MAX_LOCKED_LAMPORTS_UNADMITTED: '1000000000000000',
  MAX_SPENT_LAMPORTS_PER_PROJECT: '1000000000000000',
} as const;

/** Opens a service as in production: the database flushes every commit to disk. */
export function openBenchWorld(
  environment: Readonly<Record<string, string>> = {},
  options: WorldOptions = {},
  postgresSettings: Readonly<Record<string, string>> = {},
): Promise<World> {
  return openWorld(
    { ...UNBOUNDED, NONCE_POOL_SIZE: '400', ...environment },
    { openDatabase: () => openDurableDatabase(postgresSettings), ...options },
  );
}

async function openDurableDatabase(settings: Readonly<Record<string, string>>): Promise<WorldDatabase> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'flywheel-bench-'));
  const { poolConfig, directory, stop } = await startPostgres({
    dataDirectory,
    settings,
    log: createLog('error'),
  });
  const { user, database, host, port } = poolConfig;
  return {
    url: `postgresql://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host ?? '')}`,
    close: async () => {
      await stop();
      await Promise.all([dataDirectory, directory].map((path) => rm(path, { recursive: true, force: true })));
    },
  };
}
