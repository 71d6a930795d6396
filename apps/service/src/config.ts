import { resolve } from 'node:path';
import type { Address } from '@solana/kit';
import * as z from 'zod';
import type { Caps } from './batches/caps.ts';
import { LIMIT_SETTINGS } from './limit-settings.ts';
import { flatten, readTree, type Setting, setting, settingWithDefault } from './setting-tree.ts';
import {
  base58Address,
  base58Addresses,
  decimal,
  flag,
  logLevel,
  networks,
  port,
  roleName,
  url,
  urls,
  webhookKey,
  whole,
} from './setting-types.ts';

const SECONDS_PER_DAY = 86_400;

/**
 * Every setting, once: its environment variable, its type and bounds, its sentence in docs/operating.md, and its default.
 * A setting without a default is null when it is not set. `Config` has the shape of this tree, and the table in
 * docs/operating.md is compared with `settingRows`.
 */
const SETTINGS = {
  host: settingWithDefault('HOST', z.string(), 'IP address on which `PORT` and `METRICS_PORT` listen', '127.0.0.1'),
  port: settingWithDefault('PORT', port(), 'TCP port; 0 picks a free one', '4000'),
  metricsPort: setting(
    'METRICS_PORT',
    port(),
    'separate port for `/metrics` and `/health/*`, also of a worker, and of `serve` for [`/shard/*`](how-to/scale.md); keep it inside your network',
  ),
  trustedProxies: settingWithDefault(
    'TRUST_PROXY',
    networks(),
    'addresses and networks of your reverse proxies, e.g. `10.0.0.5,127.0.0.1`. Only their `X-Forwarded-For` (whose requests are counted) and `X-Forwarded-Proto` (secure cookies) are used',
    '',
  ),
  publicUrl: setting(
    'PUBLIC_URL',
    url('http:', 'https:'),
    'URL at which people reach the service, e.g. `https://flywheel.example`; without it, sign-in works on loopback only',
  ),
  dataDirectory: settingWithDefault(
    'FLYWHEEL_DATA_DIR',
    z.string().transform((path) => resolve(path)),
    'directory of the embedded database, the local cluster and generated keys',
    '.flywheel',
  ),
  databaseUrl: setting(
    'DATABASE_URL',
    url('postgres:', 'postgresql:'),
    '`postgres://…`, PostgreSQL 18, also through [a pooler](#behind-a-pooler); default: an embedded server in the data directory',
  ),
  databaseDirectUrl: setting(
    'DATABASE_DIRECT_URL',
    url('postgres:', 'postgresql:'),
    'the same database without a pooler, for what needs a session: migrations, notifications and the lock of a worker; default: `DATABASE_URL`',
  ),
  databaseRoles: {
    serve: setting(
      'DATABASE_SERVE_ROLE',
      roleName(),
      "role with the rights of `serve`: `migrate` [grants them](#roles-in-the-database), and `serve` takes the role on; default: `flywheel_serve` in the embedded database, otherwise none: `serve` has its login's rights",
    ),
    work: setting('DATABASE_WORK_ROLE', roleName(), 'the same for `work`; default: `flywheel_work`, or none'),
  },
  solanaRpcUrls: setting(
    'SOLANA_RPC_URL',
    urls('http:', 'https:'),
    'JSON-RPC URL of the cluster, or several for its nodes, separated by commas: reads go to the first that answers, sends to all; default: `start` runs a local cluster',
  ),
  publicSolanaRpcUrl: setting(
    'PUBLIC_SOLANA_RPC_URL',
    url('http:', 'https:'),
    'URL of the same cluster for browsers; default: the first `SOLANA_RPC_URL` if it has no user, path or query (where providers put keys), otherwise the public endpoint of the cluster',
  ),
  isClusterLocal: setting(
    'SOLANA_CLUSTER_IS_LOCAL',
    flag(),
    '`1`: the cluster of `SOLANA_RPC_URL` is a local one that you have started, and its SOL has no value; the console then offers a test wallet, a faucet and new tokens, and `MAX_LOCKED_LAMPORTS_UNADMITTED` need not be set. Default: `1` on the cluster that `start` runs itself, otherwise `0`, at whatever address',
  ),
  explorerUrl: settingWithDefault(
    'EXPLORER_URL',
    url('http:', 'https:'),
    'explorer for links to transactions and accounts',
    'https://explorer.solana.com',
  ),
  blockEngineUrl: setting(
    'JITO_BLOCK_ENGINE_URL',
    url('http:', 'https:'),
    "URL of the block engine; default: the local cluster's own. On another cluster without it, transactions are sent in order over RPC",
  ),
  operatorSigner: setting(
    'OPERATOR_SIGNER',
    z.string(),
    'keypair file of the operator, or a `kms://` URI; required with `SOLANA_RPC_URL`, except in `serve` with `OPERATOR_ADDRESS`',
  ),
  operatorSignerPrevious: setting(
    'OPERATOR_SIGNER_PREVIOUS',
    z.string(),
    'previous operator, in the same format: works for projects that still have it as a member, until they are moved',
  ),
  companySigner: setting(
    'COMPANY_SIGNER',
    z.string(),
    "keypair file of the company approver, or a `kms://` URI; required like the operator's, except in `serve` with `COMPANY_ADDRESS`",
  ),
  companySignerPrevious: setting(
    'COMPANY_SIGNER_PREVIOUS',
    z.string(),
    'previous company approver, in the same format: votes for projects that still have it as a member',
  ),
  operatorAddress: setting('OPERATOR_ADDRESS', base58Address(), "the operator's address, for `serve`"),
  recoveryAddress: setting(
    'RECOVERY_ADDRESS',
    base58Address(),
    'the recovery key of new projects, for `serve`: a member that proposes and executes if the operator is lost; default: none',
  ),
  companyAddress: setting('COMPANY_ADDRESS', base58Address(), "the company approver's address, for `serve`"),
  companyOperators: settingWithDefault(
    'COMPANY_OPERATORS',
    base58Addresses().transform((addresses): ReadonlySet<Address> => new Set(addresses)),
    'comma-separated wallets that may act for the company in the console; the same for `serve` and `work`',
    '',
  ),
  webhookKeyFile: setting(
    'WEBHOOK_KEY_FILE',
    z.string(),
    'file with the key from which [webhook](webhooks.md) secrets are derived: base64 of at least 32 bytes (`openssl rand -base64 32`), the same in every `serve` and `work`; without it webhooks are not available. On the local cluster one is generated',
  ),
  webhookKey: setting('WEBHOOK_KEY', webhookKey(), 'the key itself, if a file is not possible'),
  webhooksMayBePrivate: setting(
    'WEBHOOK_ALLOW_PRIVATE',
    flag(),
    '`1` allows webhooks to private addresses and over http, `0` does not; default: `1` on the local cluster, otherwise `0`',
  ),
  localnet: {
    port: settingWithDefault(
      'LOCALNET_PORT',
      port(),
      "port of the local cluster's JSON-RPC; 0 picks a free one",
      '8899',
    ),
    slotMs: settingWithDefault(
      'LOCALNET_SLOT_MS',
      whole('milliseconds', 10, 10_000),
      'slot time of the local cluster, 10 to 10000',
      '400',
    ),
    squadsProgram: setting(
      'FLYWHEEL_SQUADS_PROGRAM',
      z.string(),
      'for the local cluster: path of the deployed Squads v4 program, or `emulation`; default: `~/.cache/flywheel/squads_v4.so` if it exists, otherwise a copy that the start fetches within 1.5 s, otherwise the emulation',
    ),
    isOffline: settingWithDefault(
      'FLYWHEEL_OFFLINE',
      flag(),
      '`1`: the local cluster makes no requests to other hosts',
      '0',
    ),
  },
  ...LIMIT_SETTINGS,
  batchExpirySeconds: settingWithDefault(
    'BATCH_EXPIRY_SECONDS',
    whole('seconds', 1, 365 * SECONDS_PER_DAY),
    'seconds until a batch that is not executed ends `FAILED`; change it while none is open, because open ones keep their end and show the new one',
    '604800',
  ),
  rotationGraceSeconds: settingWithDefault(
    'ROTATION_GRACE_SECONDS',
    whole('seconds', 0, 7 * SECONDS_PER_DAY),
    'seconds that an approved rotation waits for open batches; those that are not approved on chain by then end `FAILED`',
    '600',
  ),
  retention: {
    eventDays: settingWithDefault(
      'EVENT_RETENTION_DAYS',
      whole('days', 30, 3_650),
      'days for which `work` keeps the events of batches, and up to a month more ([Retention](#retention))',
      '400',
    ),
    deliveryDays: settingWithDefault(
      'WEBHOOK_RETENTION_DAYS',
      whole('days', 30, 3_650),
      'the same for finished deliveries of webhooks',
      '30',
    ),
    archiveDays: setting(
      'ARCHIVE_AFTER_DAYS',
      whole('days', 30, 3_650),
      'days after its final end at which `work` [packs](#archive) a batch, e.g. `90`; default: none is packed. Set it only when no process of 0.2 runs any more',
    ),
  },
  noncePoolSize: settingWithDefault(
    'NONCE_POOL_SIZE',
    whole('nonce accounts', 1, 10_000),
    'free durable nonces for new batches, at rest; the pool grows with demand. Each locks 0.0014 SOL of the operator',
    '32',
  ),
  noncePoolMax: settingWithDefault(
    'NONCE_POOL_MAX',
    whole('nonce accounts', 1, 100_000),
    'nonces that all projects share, those of open batches included; at the limit only admitted projects, which have nonces of their own, can init',
    '4096',
  ),
  noncesPerAdmitted: settingWithDefault(
    'NONCES_PER_ADMITTED_PROJECT',
    whole('nonce accounts', 0, 1_000),
    'free durable nonces for each admitted project alone, at rest',
    '4',
  ),
  blockEngineRequestsPerSecond: setting(
    'BLOCK_ENGINE_REQUESTS_PER_SECOND',
    decimal('requests', 0.1, 1_000),
    'requests that this worker may send to the block engine, e.g. `0.5`; divide what your agreement allows by the number of workers. Projects share them in turn. Default: 1; no limit on this machine',
  ),
  workerMaxBatches: settingWithDefault(
    'WORKER_MAX_BATCHES',
    whole('batches', 4, 10_000),
    'batches that one worker has in flight; most of them wait for the cluster. Setups can always have a quarter, and executions a quarter',
    '1024',
  ),
  // The default is twenty transaction fees. A higher floor means a competition from which the service gains nothing.
  maxTipLamports: settingWithDefault(
    'MAX_TIP_LAMPORTS',
    whole('lamports', 1_000, 1_000_000_000).transform(BigInt),
    "maximum tip per bundle; the tip starts at the engine's floor and doubles with each attempt that did not land",
    '100000',
  ),
  // The default is 140,000 lamports for all units that a transaction may use.
  maxComputeUnitPrice: settingWithDefault(
    'MAX_COMPUTE_UNIT_PRICE',
    whole('micro-lamports', 1_000, 1_000_000_000).transform(BigInt),
    'maximum price in micro-lamports per compute unit; the price follows recent fees for the same accounts',
    '100000',
  ),
  logLevel: settingWithDefault(
    'LOG_LEVEL',
    logLevel(),
    '`fatal`, `error`, `warn`, `info`, `debug`, `trace`, `silent`',
    'info',
  ),
};

type Settings = typeof SETTINGS;

type Values<Tree> = {
  readonly [Key in keyof Tree]: Tree[Key] extends Setting<infer Value> ? Value : Values<Tree[Key]>;
};

/** The checked configuration of a process. */
export interface Config extends Omit<Values<Settings>, 'webhooksMayBePrivate' | 'isClusterLocal' | 'caps'> {
  readonly webhooksMayBePrivate: boolean;
  readonly isClusterLocal: boolean;
  readonly caps: Caps;
  /** True if MAX_LOCKED_LAMPORTS_UNADMITTED is set; false if its default applies. */
  readonly isUnadmittedCapChosen: boolean;
}

/** One sentence per invalid setting. */
export class ConfigError extends Error {
  constructor(sentences: readonly string[], options: ErrorOptions = {}) {
    super(sentences.join('\n'), options);
    this.name = 'ConfigError';
  }
}

/**
 * Reads the environment.
 * @throws ConfigError naming every invalid variable, its value and the values it may have.
 */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const sentences: string[] = [];
  const values = readTree(SETTINGS, environment, sentences) as Values<Settings>; // readTree keeps the shape of its tree
  if (sentences.length === 0) sentences.push(...findConflicts(values));
  if (sentences.length > 0) throw new ConfigError(sentences);
  return Object.freeze({
    ...values,
    databaseRoles: rolesOf(values),
    caps: withDefaults(values),
    isUnadmittedCapChosen: values.caps.lockedUnadmittedLamports !== null,
    // Receivers of a local cluster run on the same machine.
    webhooksMayBePrivate: values.webhooksMayBePrivate ?? values.solanaRpcUrls === null,
    isClusterLocal: values.isClusterLocal ?? values.solanaRpcUrls === null,
  });
}

/**
 * Reads the environment for commands that use only the database. Such a command needs neither a cluster nor signers.
 * @throws ConfigError like `parseConfig`.
 */
export function parseDatabaseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  return parseConfig({ ...environment, SOLANA_RPC_URL: undefined });
}

const DEFAULT_UNADMITTED_LAMPORTS = 100_000_000_000n;
/**
 * The most that projects without admission may spend in a day if the company decides who is served. They only withdraw
 * and rotate then, and each attempt may use up an index at the operator's cost. One SOL is reserved for 294 withdrawals
 * at the default prices.
 */
const DEFAULT_SPENT_UNLESS_OPEN_LAMPORTS = 1_000_000_000n;

/** Says why a process does not start that would serve strangers on a cluster whose SOL has a value. */
export const UNBOUNDED_EXPOSURE =
  'REGISTRATION is open and MAX_LOCKED_LAMPORTS_UNADMITTED is not set, on a cluster that is not local: projects of strangers could lock 100 SOL of the operator. Set REGISTRATION to approval, so that only projects are served that the company has admitted, or set MAX_LOCKED_LAMPORTS_UNADMITTED to the lamports that strangers may lock.';

function withDefaults({ caps, registration }: Pick<Values<Settings>, 'caps' | 'registration'>): Caps {
  const lockedUnadmittedLamports = caps.lockedUnadmittedLamports ?? DEFAULT_UNADMITTED_LAMPORTS;
  const isAsRent = registration === 'open' || lockedUnadmittedLamports < DEFAULT_SPENT_UNLESS_OPEN_LAMPORTS;
  const defaultSpentLamports = isAsRent ? lockedUnadmittedLamports : DEFAULT_SPENT_UNLESS_OPEN_LAMPORTS;
  return {
    ...caps,
    lockedUnadmittedLamports,
    spentUnadmittedLamports: caps.spentUnadmittedLamports ?? defaultSpentLamports,
  };
}

/** The embedded server belongs to the service, which may create roles in it. */
function rolesOf({ databaseUrl, databaseRoles: roles }: Values<Settings>): Config['databaseRoles'] {
  if (databaseUrl !== null) return roles;
  return { serve: roles.serve ?? 'flywheel_serve', work: roles.work ?? 'flywheel_work' };
}

/** The rows of the table of settings in docs/operating.md. */
export function settingRows(): string[] {
  return flatten(SETTINGS).map(
    ({ name, defaultText, sentence }) =>
      `| \`${name}\` | ${defaultText === null || defaultText === '' ? '' : `\`${defaultText}\` `}| ${sentence} |`,
  );
}

function findConflicts(values: Values<Settings>): string[] {
  const sentences: string[] = [];
  if (values.webhookKey !== null && values.webhookKeyFile !== null) {
    sentences.push('WEBHOOK_KEY and WEBHOOK_KEY_FILE are both set; set one of them.');
  }
  if (values.databaseDirectUrl !== null && values.databaseUrl === null) {
    sentences.push('DATABASE_DIRECT_URL is set and DATABASE_URL is not; set both, or DATABASE_URL alone.');
  }
  const { serve, work } = rolesOf(values);
  if (serve !== null && serve === work) {
    sentences.push(
      `DATABASE_SERVE_ROLE and DATABASE_WORK_ROLE are both ${serve}; give each process a role of its own.`,
    );
  }
  if (values.solanaRpcUrls === null) return sentences;
  for (const who of ['operator', 'company'] as const) {
    if (values[`${who}Signer`] !== null || values[`${who}Address`] !== null) continue;
    const name = who.toUpperCase();
    sentences.push(
      `${name}_SIGNER is not set. SOLANA_RPC_URL is set, so the service uses that cluster and starts none of its own: unset SOLANA_RPC_URL for a local cluster, or let ${name}_SIGNER name a keypair file, or set ${name}_ADDRESS for a process that signs nothing.`,
    );
  }
  return sentences;
}
