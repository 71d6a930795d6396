import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Localnet } from '@flywheel/localnet';
import type { Logger } from 'pino';
import type { Deps } from './batches/deps.ts';
import { createNonceQueue } from './batches/nonce-queue.ts';
import type { PreviewDeps } from './batches/preview.ts';
import { oldestCountedDay } from './batches/terms.ts';
import { systemClock } from './clock.ts';
import { type Config, ConfigError, UNBOUNDED_EXPOSURE } from './config.ts';
import { type Connections, openDatabase } from './database.ts';
import { createBatchHandlers } from './http/batches/batch-handlers.ts';
import { createConsoleHandlers } from './http/console/console-handlers.ts';
import type { Locate } from './http/directory.ts';
import { type MonitorDeps, type ReadinessCheck, serveMonitor } from './http/monitor.ts';
import { createAddressLimits } from './http/operations/address-limits.ts';
import { createStreamLimit } from './http/operations/events.ts';
import { createWorkLimits } from './http/operations/work-limits.ts';
import { createServer } from './http/server.ts';
import { readSite } from './http/site.ts';
import { createParts, type Parts } from './parts.ts';
import { createSchemaPool } from './payload-schemas/pool.ts';
import { createBatchCounts } from './projects/batch-counts.ts';
import { createEnvironment, isLocalCluster } from './projects/environment.ts';
import { findOpenSession } from './projects/sign-in.ts';
import { createFiguresReader } from './proofs/vault-figures.ts';
import { openSigners, type Signers } from './signers.ts';
import { createBundleSender } from './solana/bundles.ts';
import { createChain } from './solana/chain.ts';
import { isNodeUnavailable } from './solana/node-unavailable.ts';
import { createTokenNames } from './solana/token-names.ts';
import { cannotListen, createDataDirectory } from './start-errors.ts';
import { startEventFeed } from './store/batches/events.ts';
import { deleteOldUses } from './store/company/policy-uses.ts';
import { isDatabaseUnavailable } from './store/database-unavailable.ts';
import { countWaiting, oldestQuerySeconds, ping } from './store/db.ts';
import { type Jobs, startJobs } from './store/jobs/jobs.ts';
import { createKeyHolderFinder } from './store/key-holders.ts';
import { isOperatorInUse } from './store/nonces.ts';
import type { LostDatabase } from './store/postgres.ts';
import { touchApiKey } from './store/projects/api-keys.ts';
import { createRateLimits } from './store/rate-limits.ts';
import type { DatabaseRole } from './store/rights.ts';
import { deleteExpired, readServiceState } from './store/service-state.ts';
import { hasDeparted, locate } from './store/shards/directory.ts';
import { createMetrics, type OperatorBalance } from './telemetry/metrics.ts';
import { openWebhookKey } from './webhook-key.ts';
import type { EndpointDeps } from './webhooks/endpoints.ts';
import { createWebhookSecrets } from './webhooks/secrets.ts';
import { reportUnsent, startWebhooks } from './webhooks/start-webhooks.ts';
import { startWorker, type WorkerOptions } from './worker.ts';

export type Role = 'localnet' | 'http' | 'worker';

export interface App extends Pick<Parts, 'stop' | 'running'> {
  /** The service's URL; null without the role `http`. */
  readonly url: string | null;
  readonly rpcUrl: string;
  /** The URL of /metrics; null if METRICS_PORT is not set. */
  readonly metricsUrl: string | null;
  /** The Squads program that the local cluster runs; null on any other cluster. */
  readonly program: Localnet['program'] | null;
  /** Resolves if the service cannot continue, because its embedded database has ended; never otherwise. */
  readonly lost: Promise<LostDatabase>;
}

/**
 * Starts the parts of the service that the roles name. If a part cannot start, the parts that were started before it are
 * stopped in reverse order.
 * @param signal ends what the start waits for.
 */
export async function startApp(
  config: Config,
  roles: ReadonlySet<Role>,
  log: Logger,
  signal: AbortSignal = new AbortController().signal,
): Promise<App> {
  const started = createParts();
  try {
    return await compose({ config, roles, log, started, signal });
  } catch (error) {
    await started.stop();
    throw error;
  }
}

interface StartContext {
  readonly config: Config;
  readonly roles: ReadonlySet<Role>;
  readonly log: Logger;
  /** Parts that have started, to which each next one is added. */
  readonly started: Parts;
  readonly signal: AbortSignal;
}

async function compose(context: StartContext): Promise<App> {
  const { config, roles, log, started } = context;
  await createDataDirectory(config.dataDirectory);
  const localnet = roles.has('localnet') && config.solanaRpcUrls === null ? await openLocalnet(config, log) : null;
  if (localnet) started.add('local cluster', () => localnet.stop());
  const rpcUrls = config.solanaRpcUrls ?? (localnet ? [localnet.url] : []);
  const [rpcUrl] = rpcUrls;
  if (rpcUrl === undefined) {
    throw new ConfigError(['SOLANA_RPC_URL is not set; only `flywheel start` runs a local cluster.']);
  }

  const clock = systemClock;
  const chain = createChain({ rpcUrls, clock, log });
  if (localnet === null) await requireBoundedExposure(config, { chain, log });
  // The parts of a service that runs in several processes would each begin with an empty one.
  const isWhole = roles.has('http') && roles.has('worker');
  const database = await openDatabase(config, log, isWhole);
  started.add('database', database.close);
  const isWorker = roles.has('worker');
  const signers = await openSigners(config, { localnet, holdsKeys: isWorker });
  const metrics = createMetrics();
  const { fairUse, caps, batchExpirySeconds, companyOperators, registration, maxTipLamports, maxComputeUnitPrice } =
    config;
  const blockEngineUrl = config.blockEngineUrl ?? localnet?.blockEngineUrl ?? null;
  const prices = { maxTipLamports: blockEngineUrl === null ? 0n : maxTipLamports, maxComputeUnitPrice };
  const rules = { fairUse, caps, prices, batchExpirySeconds, companyOperators, registration };
  /** Each role of a process has its own connections, with the rights of that role only. */
  const openDeps = async (role: DatabaseRole): Promise<RoleDeps> => {
    const { db, poolConfig, sessionConfig } = await database.as(role);
    const jobs = await startJobs({ poolConfig, sessionConfig, log, metrics });
    started.add(`queue of ${role}`, () => jobs.stop());
    const nonceQueue = createNonceQueue({ db, sessionConfig, jobs, clock, log });
    return { db, sessionConfig, jobs, chain, clock, log, metrics, nonceQueue, ...rules };
  };

  const requestIntervalMs = config.blockEngineRequestsPerSecond && 1_000 / config.blockEngineRequestsPerSecond;
  const sending = {
    ...{ blockEngineUrl, maxTipLamports, maxComputeUnitPrice },
    ...(requestIntervalMs !== null && { requestIntervalMs }),
  };
  const workDeps = isWorker ? await openDeps('work') : null;
  if (workDeps !== null && signers.keys !== null) {
    await addWorker(context, workDeps, { signers: signers.keys, sending });
  }
  const webhookKey = await openWebhookKey(config, { isLocal: localnet !== null });
  const secrets = webhookKey === null ? null : createWebhookSecrets(webhookKey);
  const receiverRules = { allowPrivate: config.webhooksMayBePrivate };
  if (workDeps !== null && secrets !== null) {
    const delivering = startWebhooks({ ...workDeps, secrets, rules: receiverRules });
    started.add('webhooks', () => delivering.stop());
  } else if (workDeps !== null) await reportUnsent(workDeps);
  const serveDeps = roles.has('http') ? await openDeps('serve') : null;
  if (serveDeps !== null) metrics.observeWaitingInits(() => serveDeps.nonceQueue.count());
  const monitored = workDeps ?? serveDeps ?? database;
  const pools = new Set([workDeps, serveDeps, database].flatMap((connections) => connections?.db ?? []));
  metrics.observeOldestQuery(() => Math.max(...[...pools].map(oldestQuerySeconds)));
  metrics.observeWaitingQueries(() => [...pools].reduce((sum, pool) => sum + countWaiting(pool), 0));
  const monitorDeps = {
    metrics,
    log,
    readiness: readinessOf({ db: monitored.db, chain }),
    readServiceState: () => readServiceState(monitored.db, { operator: signers.operator, now: clock.now() }),
    locate: serveDeps && createDirectory(serveDeps),
    readOperatorBalances: () => readOperatorBalances({ db: monitored.db, chain }, signers),
  };
  const metricsUrl = await openMonitor(config, monitorDeps, started);
  // This process sends no bundles; it only estimates their costs.
  const bundles = createBundleSender({ ...sending, chain, clock, log });
  const serving = serveDeps && { ...serveDeps, bundles, rpcUrl, webhooks: { secrets, rules: receiverRules } };
  const url = serving && (await listen(config, serving, log, signers, started));
  const { lost } = database;
  const { stop, running } = started;
  return { url, rpcUrl, metricsUrl, program: localnet?.program ?? null, lost, stop, running };
}

/** The dependencies of both kinds of process, with the rights of one role in the database. */
type RoleDeps = Deps & Omit<Connections, 'poolConfig'> & { readonly jobs: Jobs };

/** The local cluster listens here only. */
const LOOPBACK = '127.0.0.1';

/** Imports the local cluster lazily, because no other process needs an SVM. */
async function openLocalnet({ dataDirectory, localnet }: Config, log: Logger): Promise<Localnet> {
  const { LedgerError, SquadsProgramError, startLocalnet } = await import('@flywheel/localnet');
  const cluster = await startLocalnet({
    port: localnet.port,
    stateDirectory: join(dataDirectory, 'localnet'),
    squadsProgram: localnet.squadsProgram ?? undefined,
    slotMs: localnet.slotMs,
    fetchMissingProgram: !localnet.isOffline,
    onError: (error) => log.error({ err: error }, 'the local cluster failed'),
  }).catch((cause: unknown) => {
    if (cause instanceof LedgerError) {
      const remedy = 'Stop the other flywheel start of this directory, or set FLYWHEEL_DATA_DIR to another one.';
      throw new ConfigError([`${cause.message} ${remedy}`], { cause });
    }
    if (cause instanceof SquadsProgramError) {
      const remedy = 'Set FLYWHEEL_SQUADS_PROGRAM to the deployed program, or to emulation.';
      throw new ConfigError([`${cause.message} ${remedy}`], { cause });
    }
    return cannotListen({ name: 'LOCALNET_PORT', host: LOOPBACK, port: localnet.port })(cause);
  });
  log.info({ rpcUrl: cluster.url, program: cluster.program }, cluster.programNote);
  return cluster;
}

/**
 * Requires on a cluster whose SOL has a value that the company has chosen how much strangers may lock.
 * @throws ConfigError
 */
async function requireBoundedExposure(
  { registration, isUnadmittedCapChosen, isClusterLocal }: Config,
  { chain, log }: { readonly chain: Pick<Deps['chain'], 'genesisHash'>; readonly log: Logger },
): Promise<void> {
  if (registration !== 'open' || isUnadmittedCapChosen) return;
  if (isClusterLocal) {
    try {
      if (isLocalCluster(isClusterLocal, await chain.genesisHash())) return;
    } catch (error) {
      // The service also starts while its cluster is down, and flywheel doctor makes the same check.
      return log.warn({ err: error }, 'the cluster does not say which one it is; it is taken for a local one');
    }
  }
  throw new ConfigError([UNBOUNDED_EXPOSURE]);
}

/** Starts the worker, and the deletion that only its role may make. */
async function addWorker(
  { config, log, started, signal }: StartContext,
  deps: RoleDeps,
  options: Pick<WorkerOptions, 'signers' | 'sending'>,
): Promise<void> {
  const worker = await startWorker(deps, {
    ...options,
    noncePool: { size: config.noncePoolSize, max: config.noncePoolMax, perAdmitted: config.noncesPerAdmitted },
    maxBatches: config.workerMaxBatches,
    rotationGraceSeconds: config.rotationGraceSeconds,
    retention: config.retention,
    signal,
  });
  started.add('worker', () => worker.stop());
  const { db, clock } = deps;
  const stopping = new AbortController();
  started.add('deletion of uses of past days', () => stopping.abort());
  void deleteRegularly({ clock, log, signal: stopping.signal }, (now) =>
    deleteOldUses(db, oldestCountedDay(config, now)),
  );
}

/** An operator of the company is known to every shard: the company's pages of each are its own. */
function createDirectory({ db, companyOperators }: Pick<Deps, 'db' | 'companyOperators'>): Locate {
  return async (question) =>
    question.kind === 'wallet' && companyOperators.has(question.wallet) ? 'here' : locate(db, question);
}

/** Starts the metrics server; null if METRICS_PORT is not set. */
async function openMonitor(
  { host, metricsPort: port }: Config,
  deps: MonitorDeps,
  started: Parts,
): Promise<string | null> {
  if (port === null) return null;
  const monitor = await serveMonitor(deps, { host, port }).catch(cannotListen({ name: 'METRICS_PORT', host, port }));
  started.add('metrics', () => monitor.close());
  return `${monitor.url}/metrics`;
}

/** Reads the balances of this process's keys that pay: the operator's, and the previous one's while projects have it. */
async function readOperatorBalances(
  { db, chain }: Pick<Deps, 'db' | 'chain'>,
  { operator, keys }: Signers,
): Promise<OperatorBalance[]> {
  const previous = keys?.previousOperator?.address;
  const isPaying = previous !== undefined && (await isOperatorInUse(db, previous));
  const addresses = isPaying ? [operator, previous] : [operator];
  const accounts = await chain.accounts(addresses);
  return addresses.map((address, index) => ({ address, lamports: accounts[index]?.lamports ?? 0n }));
}

function readinessOf({ db, chain }: Pick<Deps, 'db' | 'chain'>): Readonly<Record<string, ReadinessCheck>> {
  return { database: () => ping(db), cluster: async () => void (await chain.blockHeight()) };
}

const DELETE_EXPIRED_MS = 5 * 60_000;

/** Deletes what has no meaning any more, from time to time: strangers may open sign-in challenges, and count against limits. */
async function deleteRegularly(
  { clock, log, signal }: Pick<Deps, 'clock' | 'log'> & { readonly signal: AbortSignal },
  remove: (now: Date) => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await remove(clock.now()).catch((err: unknown) => {
      if (!signal.aborted) log.warn({ err }, 'what has no meaning any more could not be deleted');
    });
    await clock.sleep(DELETE_EXPIRED_MS, signal).catch(() => undefined);
  }
}

/** The output of `npm run build --workspace apps/console`. */
const CONSOLE_DIRECTORY = fileURLToPath(new URL('../../console/dist/', import.meta.url));

type ServingDeps = Omit<PreviewDeps, 'schemas'> &
  RoleDeps &
  Pick<EndpointDeps, 'webhooks'> & { readonly rpcUrl: string };

async function listen(
  config: Config,
  { sessionConfig, ...given }: ServingDeps,
  log: Logger,
  { operator, company, recovery }: Signers,
  started: Parts,
): Promise<string> {
  const { db, clock, companyOperators } = given;
  const feed = startEventFeed({ sessionConfig, clock, log });
  started.add('events', () => feed.stop());
  const schemas = createSchemaPool({ log, clock });
  started.add('schemas', () => schemas.close());
  const limits = createRateLimits(db, config.rateLimits, clock);
  const work = createWorkLimits(limits, clock, { maxWaiting: config.fairUse.maxOpenBatches });
  const deps = { ...given, feed, schemas, streams: createStreamLimit(), work };
  const stopping = new AbortController();
  started.add('deletion of what has expired', () => stopping.abort());
  void deleteRegularly({ clock, log, signal: stopping.signal }, (now) => deleteExpired(db, now));
  const { host, port, publicUrl, trustedProxies, rateLimits } = config;
  const { publicSolanaRpcUrl: publicRpcUrl, isClusterLocal, explorerUrl } = config;
  const tokenNames = createTokenNames(deps);
  const readEnvironment = createEnvironment({ ...deps, publicRpcUrl, isClusterLocal, explorerUrl });
  const server = createServer({
    handlers: createBatchHandlers(deps),
    consoleHandlers: createConsoleHandlers({
      ...deps,
      operator,
      company,
      recovery,
      publicUrl,
      readEnvironment,
      tokenNames,
      countBatches: createBatchCounts(),
    }),
    readVaultFigures: createFiguresReader({ db, clock, tokenNames }),
    findKeyHolder: createKeyHolderFinder({ db, clock, limits: rateLimits }),
    hasDeparted: (by) => hasDeparted(db, by),
    touchApiKey: (keyId, now) => touchApiKey(db, keyId, now),
    findOpenSession: (token) => findOpenSession(deps, token),
    companyOperators,
    rateLimits: limits,
    addressLimits: createAddressLimits({ ...config.addressLimits, heavy: rateLimits.heavy }, clock),
    readiness: readinessOf(deps),
    isUnavailable: isDatabaseUnavailable,
    isNodeUnavailable,
    site: await readSite(CONSOLE_DIRECTORY),
    readConnectUrls: async () => {
      const { rpcUrl, webSocketUrl } = await readEnvironment();
      return [rpcUrl, webSocketUrl];
    },
    log,
    metrics: given.metrics,
    publicUrl,
    trustedProxies,
  });
  // A server that closes waits for its answers.
  started.add('http', () => Promise.all([given.nonceQueue.stop(), server.close()]));
  return server.listen({ host, port }).catch(cannotListen({ name: 'PORT', host, port }));
}
