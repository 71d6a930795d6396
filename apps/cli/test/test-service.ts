import { type App, createLog, parseConfig, startApp } from '@flywheel/service';
import { openTestDatabase, TEST_ROLES, type TestDatabase } from '@flywheel/testing/postgres';
import { makeTemporaryFolder, type TemporaryFolder } from './wallet-files.ts';

export interface TestService extends Pick<App, 'rpcUrl' | 'stop'> {
  readonly url: string;
  readonly database: TestDatabase;
  /** Contains its keys; `stop` removes it. */
  readonly folder: TemporaryFolder;
  /** The environment with which it was started. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Starts a service with its own database and cluster, and rate limits so high that tests never wait. */
export async function startTestService(environment: Readonly<Record<string, string>> = {}): Promise<TestService> {
  const folder = await makeTemporaryFolder();
  const database = await openTestDatabase();
  const settings = {
    ...TEST_ROLES,
    DATABASE_URL: database.url,
    FLYWHEEL_DATA_DIR: folder.path,
    PORT: '0',
    LOG_LEVEL: 'silent',
    RATE_LIMIT_INIT: '10000/60',
    RATE_LIMIT_PREVIEW: '10000/60',
    RATE_LIMIT_EXECUTE: '10000/60',
    RATE_LIMIT_PROOF: '10000/60',
    ...environment,
  };
  const cluster = { LOCALNET_PORT: '0', LOCALNET_SLOT_MS: '100', FLYWHEEL_SQUADS_PROGRAM: 'emulation' };
  const roles = new Set(['http', 'worker', 'localnet'] as const);
  const app = await startApp(parseConfig({ ...settings, ...cluster }), roles, createLog('silent'));
  if (app.url === null) throw new Error('The service started without an HTTP address.');
  return {
    ...{ url: app.url, rpcUrl: app.rpcUrl, database, folder, settings },
    stop: async () => {
      await app.stop();
      await folder[Symbol.asyncDispose]();
    },
  };
}
