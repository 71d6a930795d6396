import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Localnet } from '@flywheel/localnet';
import { type App, type Role, startApp } from '@flywheel/service/internal/app.ts';
import { parseConfig } from '@flywheel/service/internal/config.ts';
import { createLog } from '@flywheel/service/internal/log.ts';
import { createSignerFile, loadSigner } from '@flywheel/service/internal/solana/signer.ts';
import { type Db, openDb } from '@flywheel/service/internal/store/db.ts';
import { createSolanaRpc, generateKeyPairSigner, type KeyPairSigner, type TransactionPartialSigner } from '@solana/kit';
import { type Answer, send } from './client.ts';
import { openCluster } from './cluster.ts';
import type { WorldPooler } from './pooled-world.ts';
import { openTestDatabase, TEST_ROLES } from './postgres.ts';
import { signIn } from './project.ts';

export { createSignerFile };

/** A whole service on a real database and a local cluster, for one test file. */
export interface World {
  readonly url: string;
  /** The local cluster, or the one of FLYWHEEL_TEST_RPC_URL. */
  readonly localnet: Localnet;
  readonly rpc: ReturnType<typeof createSolanaRpc>;
  /** The service's own database, to check rows and to create states that no request can create; never behind a pooler. */
  readonly db: Db;
  /** The same database, with the login that owns its tables; never behind a pooler. */
  readonly databaseUrl: string;
  /** PgBouncer, if it is between the service and its database. */
  readonly pooler: WorldPooler | null;
  /** The service's variables, for other processes of it. */
  readonly environment: Readonly<Record<string, string>>;
  /** The service's operator, for acts on chain that only it can take. */
  readonly operator: TransactionPartialSigner;
  readonly app: App;
  /** Stops the service and starts it again on the same data, with changed variables if any are given. */
  restart(environment?: Readonly<Record<string, string>>): Promise<void>;
  stop(): Promise<void>;
}

export interface WorldDatabase {
  /** The database as a DATABASE_URL. */
  readonly url: string;
  close(): Promise<void>;
}

/** Rate limits that no test reaches by accident, and short slots. */
const ENVIRONMENT = {
  ...TEST_ROLES,
  HOST: '127.0.0.1',
  PORT: '0',
  LOG_LEVEL: 'error',
  RATE_LIMIT_INIT: '100000/60',
  RATE_LIMIT_PREVIEW: '100000/60',
  RATE_LIMIT_EXECUTE: '100000/60',
  RATE_LIMIT_GET: '100000/1',
  RATE_LIMIT_CURRENT: '100000/1',
  RATE_LIMIT_CONSOLE: '100000/60',
  RATE_LIMIT_HEAVY: '100000/60',
  RATE_LIMIT_PROJECT: '100000/60',
  RATE_LIMIT_ADDRESS: '1000000/60',
  RATE_LIMIT_UNKNOWN_CREDENTIALS: '100000/60',
  RATE_LIMIT_PROOF: '100000/60',
};
const SLOT_MS = 50;
const ROLES: ReadonlySet<Role> = new Set(['http', 'worker']);

export interface WorldOptions {
  /** Replaces the tests' own database, which works without fsync. */
  readonly openDatabase?: () => Promise<WorldDatabase>;
  /**
   * The pooler of the service's processes; by default the one that FLYWHEEL_TEST_POOLER names, and nothing if the test
   * replaces the database.
   */
  readonly pooler?: 'pgbouncer' | null;
  /** A cluster that runs already, instead of the tests' own. */
  readonly cluster?: Localnet;
  /** Roles of this process; HTTP and worker by default. Without any it runs no part of the service and migrates nothing. */
  readonly roles?: ReadonlySet<Role>;
  /** Whether the cluster has transactions of version 1; it has by default. */
  readonly v1?: boolean;
  /** Milliseconds of a slot; 50 by default. */
  readonly slotMs?: number;
  /** Slots between `confirmed` and `finalized`; 2 by default, 31 on a cluster. */
  readonly finalizedLagSlots?: number;
  /** Requests that the block engine accepts in a second; any number by default. */
  readonly engineRequestsPerSecond?: number;
}

export async function openWorld(
  environment: Readonly<Record<string, string>> = {},
  {
    openDatabase,
    pooler: pooling = openDatabase === undefined ? readPooling() : null,
    roles = ROLES,
    v1 = true,
    slotMs = SLOT_MS,
    finalizedLagSlots = 2,
    engineRequestsPerSecond,
    cluster,
  }: WorldOptions = {},
): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-test-'));
  const clusterOptions = {
    slotMs,
    finalizedLagSlots,
    squadsProgram: process.env.FLYWHEEL_SQUADS_PROGRAM,
    v1,
    ...(engineRequestsPerSecond !== undefined && { engineRequestsPerSecond }),
  };
  const openOwn = openDatabase ?? openTestDatabase;
  const [started, opened] = await Promise.allSettled([cluster ?? openCluster(clusterOptions), openOwn()]);
  // An open resource keeps the process alive: the test would hang instead of failing.
  if (opened.status === 'rejected') {
    if (started.status === 'fulfilled') await started.value.stop();
    throw opened.reason;
  }
  if (started.status === 'rejected') {
    await opened.value.close();
    throw started.reason;
  }
  const [localnet, database] = [started.value, opened.value];
  const signers = await createSignerFiles(directory, localnet);
  const given = {
    ...ENVIRONMENT,
    FLYWHEEL_DATA_DIR: directory,
    DATABASE_URL: database.url,
    SOLANA_RPC_URL: localnet.url,
    SOLANA_CLUSTER_IS_LOCAL: '1',
    JITO_BLOCK_ENGINE_URL: localnet.blockEngineUrl,
    ...signers,
    ...environment,
  };
  const db = openDb({ connectionString: database.url }, createLog('error'));
  let pooler: WorldPooler | null = null;
  const close = async () => {
    await db.destroy();
    await pooler?.stop();
    await database.close();
    await localnet.stop();
    await rm(directory, { recursive: true });
  };
  const complete = (changes: Readonly<Record<string, string>>) => {
    const variables = { ...given, ...changes };
    return pooler?.pooled(variables) ?? variables;
  };
  const start = async (changes: Readonly<Record<string, string>>) => {
    if (roles.size === 0) return null;
    const config = parseConfig(complete(changes));
    return startApp(config, roles, createLog(config.logLevel));
  };
  let app: App | null;
  try {
    // Only the tests that need PgBouncer look for it.
    if (pooling !== null) pooler = await (await import('./pooled-world.ts')).startWorldPooler(database.url, db);
    app = await start({});
  } catch (error) {
    await close();
    throw error;
  }
  return {
    get url() {
      return requireUrl(requireApp(app));
    },
    get app() {
      return requireApp(app);
    },
    localnet,
    rpc: createSolanaRpc(localnet.url),
    db,
    databaseUrl: database.url,
    pooler,
    environment: complete({}),
    operator: await loadSigner(signers.OPERATOR_SIGNER),
    restart: async (changes = {}) => {
      await app?.stop();
      app = await start(changes);
    },
    stop: async () => {
      await app?.stop();
      await close();
    },
  };
}

/** Reads FLYWHEEL_TEST_POOLER; null if it is not set. @throws Error if it names no pooler. */
function readPooling(): 'pgbouncer' | null {
  const { FLYWHEEL_TEST_POOLER: name = '' } = process.env;
  if (name === '' || name === 'pgbouncer') return name || null;
  throw new Error(`FLYWHEEL_TEST_POOLER is ${name}; the only pooler of the tests is pgbouncer.`);
}

const OPERATOR_LAMPORTS = 100_000_000_000n;

async function createSignerFiles(directory: string, localnet: Localnet) {
  const [operator, company] = [join(directory, 'operator.json'), join(directory, 'company.json')];
  await localnet.bank.airdrop(await createSignerFile(operator), OPERATOR_LAMPORTS);
  await createSignerFile(company);
  return { OPERATOR_SIGNER: operator, COMPANY_SIGNER: company };
}

function requireApp(app: App | null): App {
  if (app === null) throw new Error('This process runs no part of the service.');
  return app;
}

function requireUrl({ url }: App): string {
  if (url === null) throw new Error('The service was started without HTTP.');
  return url;
}

/** A world with a company operator in the console. */
export interface ConsoleWorld {
  readonly world: World;
  /** A wallet that COMPANY_OPERATORS lists and that owns no project. */
  readonly company: { readonly wallet: KeyPairSigner; readonly cookie: string };
  /** Its session, as a Cookie header. */
  readonly companyCookie: string;
  /** One request to `/console/api`. */
  readonly ask: (method: string, path: string, cookie: string, body?: unknown) => Promise<Answer>;
}

export async function openConsoleWorld(environment: Readonly<Record<string, string>> = {}): Promise<ConsoleWorld> {
  const companyWallet = await generateKeyPairSigner();
  const world = await openWorld({ COMPANY_OPERATORS: companyWallet.address, ...environment });
  const companyCookie = await signIn(world.url, companyWallet);
  return {
    world,
    company: { wallet: companyWallet, cookie: companyCookie },
    companyCookie,
    ask: (method, path, cookie, body) =>
      send(world.url, method, `/console/api${path}`, {
        headers: { cookie, ...(method !== 'GET' && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body }),
      }),
  };
}
