import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bank, createRpcBank, localnetBank } from '@flywheel/localnet';
import {
  type App,
  ConfigError,
  createLog,
  createSignerFile,
  parseConfig,
  type Role,
  removeDatabase,
  startApp,
} from '@flywheel/service';
import { CliError } from '../../errors.ts';
import { openPayer } from './payer.ts';

export interface LocalService {
  readonly url: string;
  readonly rpcUrl: string;
  /** Pays for the wallets and tokens of the demo. */
  readonly bank: Bank;
  /** Words for the Squads program on the cluster. */
  readonly program: string;
  /** Stops everything that was started and removes its directory. */
  stop(): Promise<void>;
}

/** The cluster of a demo: a new local one by default. */
export interface DemoCluster {
  /** JSON-RPC of a cluster that runs already, such as a validator's. */
  readonly rpcUrl?: string | undefined;
  /** Keypair file of the wallet that pays there; without it, the cluster's faucet is asked. */
  readonly payer?: string | undefined;
}

/** The variables that the demo inherits; others, like DATABASE_URL, could connect it to a real database or cluster. */
const INHERITED = ['FLYWHEEL_SQUADS_PROGRAM', 'FLYWHEEL_OFFLINE', 'LOG_LEVEL'] as const;

/** Faster than a cluster’s 400 ms, so that the demo takes seconds. */
const SLOT_MS = '100';

/** Rent of about a hundred pipelines, and of the nonces of the pool; SOL that is left over stays with the demo's keys. */
const OPERATOR_LAMPORTS = 2_000_000_000n;

/** Starts a database and the service in a temporary directory, on free ports, and a local cluster unless one is named. */
export async function startLocalService(
  environment: Readonly<Record<string, string | undefined>>,
  { rpcUrl, payer }: DemoCluster,
): Promise<LocalService> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-demo-'));
  const removeDirectory = async () => {
    await removeDatabase(directory);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const own = {
      LOG_LEVEL: 'silent',
      ...Object.fromEntries(INHERITED.map((name) => [name, environment[name]]).filter(([, value]) => value)),
      HOST: '127.0.0.1',
      PORT: '0',
      FLYWHEEL_DATA_DIR: directory,
    };
    if (rpcUrl === undefined) {
      const cluster = { LOCALNET_PORT: '0', LOCALNET_SLOT_MS: SLOT_MS };
      const { url, app } = await start({ ...own, ...cluster }, ['http', 'worker', 'localnet']);
      const bank = createRpcBank(app.rpcUrl, await localnetBank());
      return { url, rpcUrl: app.rpcUrl, bank, program: app.program ?? 'unknown', stop: stopper(app, removeDirectory) };
    }
    const bank = createRpcBank(rpcUrl, await openPayer(rpcUrl, payer));
    const [operator, company] = [join(directory, 'operator.json'), join(directory, 'company.json')];
    await bank.airdrop(await createSignerFile(operator), OPERATOR_LAMPORTS);
    await createSignerFile(company);
    const cluster = {
      SOLANA_RPC_URL: rpcUrl,
      SOLANA_CLUSTER_IS_LOCAL: '1',
      OPERATOR_SIGNER: operator,
      COMPANY_SIGNER: company,
      // The service listens on loopback and serves the demo's project only.
      MAX_LOCKED_LAMPORTS_UNADMITTED: String(OPERATOR_LAMPORTS),
    };
    const { url, app } = await start({ ...own, ...cluster }, ['http', 'worker']);
    return { url, rpcUrl, bank, program: 'the one on the cluster', stop: stopper(app, removeDirectory) };
  } catch (error) {
    await removeDirectory();
    if (error instanceof ConfigError) throw new CliError('ERR_USAGE', error.message, { cause: error });
    throw error;
  }
}

async function start(variables: Readonly<Record<string, string | undefined>>, roles: readonly Role[]) {
  const config = parseConfig(variables);
  const app = await startApp(config, new Set(roles), createLog(config.logLevel));
  if (app.url !== null) return { app, url: app.url };
  await app.stop();
  throw new Error('The service started without an HTTP address.');
}

function stopper(app: App, removeDirectory: () => Promise<void>): () => Promise<void> {
  return async () => {
    try {
      await app.stop();
    } finally {
      await removeDirectory();
    }
  };
}
