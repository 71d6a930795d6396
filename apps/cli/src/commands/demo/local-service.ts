import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, createLog, parseConfig, removeDatabase, startApp } from '@flywheel/service';
import { CliError } from '../../errors.ts';

export interface LocalService {
  readonly url: string;
  readonly rpcUrl: string;
  readonly program: string;
  /** Stops everything and removes its directory. */
  stop(): Promise<void>;
}

/** The variables that the demo inherits; others, like DATABASE_URL, could connect it to a real database or cluster. */
const INHERITED = ['FLYWHEEL_SQUADS_PROGRAM', 'FLYWHEEL_OFFLINE', 'LOG_LEVEL'] as const;

/** Faster than a cluster’s 400 ms, so that the demo takes seconds. */
const SLOT_MS = '100';

/** Starts a database, a cluster and the service in a temporary directory, on free ports. */
export async function startLocalService(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<LocalService> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-demo-'));
  const removeDirectory = async () => {
    await removeDatabase(directory);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const config = parseConfig({
      LOG_LEVEL: 'silent',
      ...Object.fromEntries(INHERITED.map((name) => [name, environment[name]]).filter(([, value]) => value)),
      HOST: '127.0.0.1',
      PORT: '0',
      LOCALNET_PORT: '0',
      LOCALNET_SLOT_MS: SLOT_MS,
      FLYWHEEL_DATA_DIR: directory,
    });
    const roles = new Set(['http', 'worker', 'localnet'] as const);
    const app = await startApp(config, roles, createLog(config.logLevel));
    const stop = async () => {
      try {
        await app.stop();
      } finally {
        await removeDirectory();
      }
    };
    if (app.url === null) {
      await stop();
      throw new Error('The service started without an HTTP address.');
    }
    return { url: app.url, rpcUrl: app.rpcUrl, program: app.program ?? 'unknown', stop };
  } catch (error) {
    await removeDirectory();
    if (error instanceof ConfigError) throw new CliError('ERR_USAGE', error.message, { cause: error });
    throw error;
  }
}
