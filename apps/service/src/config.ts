import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { RateLimitName } from '@flywheel/api';
import { type Address, isAddress } from '@solana/kit';
import * as z from 'zod';

/** Everything the process is told from outside, checked. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** Of `/metrics`, for the operator's network alone; null: not served. */
  readonly metricsPort: number | null;
  /** Where people reach the service; decides the domain of Sign-In With Solana. null: the address it listens on. */
  readonly publicUrl: string | null;
  /** Addresses and networks of our own proxies, whose X-Forwarded-* headers are believed. */
  readonly trustedProxies: readonly string[];
  readonly dataDirectory: string;
  /** null: an embedded PostgreSQL in the data directory. */
  readonly databaseUrl: string | null;
  /** null: the local cluster, started by us. */
  readonly solanaRpcUrl: string | null;
  /** Where browsers reach the cluster; null: `solanaRpcUrl` if it holds no secret, else the cluster’s public endpoint. */
  readonly publicSolanaRpcUrl: string | null;
  /** Where links to transactions and accounts lead. */
  readonly explorerUrl: string;
  /** null: the local cluster’s own engine, or transactions in order over RPC on any other cluster. */
  readonly blockEngineUrl: string | null;
  /** Keypair files. null: generated in the data directory, on the local cluster only. */
  readonly operatorSigner: string | null;
  readonly companySigner: string | null;
  /** The approver of before, for projects that have not been moved to the present one. */
  readonly companySignerPrevious: string | null;
  /** For processes that hold no keys (`flywheel serve`): the signers’ addresses instead of their files. */
  readonly operatorAddress: Address | null;
  readonly companyAddress: Address | null;
  /** The wallets that may act for the company in the console. */
  readonly companyOperators: ReadonlySet<Address>;
  /** From which webhooks' secrets are derived; in a variable or in a file. Both null: made on the local cluster, else none. */
  readonly webhookKey: Uint8Array | null;
  readonly webhookKeyFile: string | null;
  /** Whether webhooks may go to private addresses, and over http. */
  readonly webhooksMayBePrivate: boolean;
  readonly localnet: {
    readonly port: number;
    readonly squadsProgram: string | null;
    readonly slotMs: number;
    /** Whether the real Squads program, where it is missing, is left alone rather than fetched. */
    readonly isOffline: boolean;
  };
  readonly rateLimits: Readonly<Record<RateLimitName, RateLimit>>;
  readonly fairUse: { readonly maxOpenBatches: number; readonly maxOpenPipelines: number };
  readonly batchExpirySeconds: number;
  readonly noncePoolSize: number;
  /** What the last transaction of a bundle may pay the block engine at most, however often it is sent again. */
  readonly maxTipLamports: bigint;
  /** Micro-lamports that a compute unit is offered at most, whatever others pay of late. */
  readonly maxComputeUnitPrice: bigint;
  readonly logLevel: LogLevel;
}

export interface RateLimit {
  readonly requests: number;
  readonly seconds: number;
}

type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/** One sentence per fault. */
export class ConfigError extends Error {
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'ConfigError';
  }
}

/**
 * Reads the environment.
 * @throws ConfigError naming every variable that is wrong, what it holds and what it may hold.
 */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  // An empty variable is how shells and compose files say "not set".
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = Environment.safeParse(set);
  const faults = parsed.success
    ? crossFaults(parsed.data)
    : parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}.`);
  if (!parsed.success || faults.length > 0) throw new ConfigError(faults);
  const env = parsed.data;
  return Object.freeze({
    host: env.HOST,
    port: env.PORT,
    metricsPort: env.METRICS_PORT ?? null,
    trustedProxies: env.TRUST_PROXY,
    publicUrl: env.PUBLIC_URL ?? null,
    dataDirectory: resolve(env.FLYWHEEL_DATA_DIR),
    databaseUrl: env.DATABASE_URL ?? null,
    solanaRpcUrl: env.SOLANA_RPC_URL ?? null,
    publicSolanaRpcUrl: env.PUBLIC_SOLANA_RPC_URL ?? null,
    explorerUrl: env.EXPLORER_URL,
    blockEngineUrl: env.JITO_BLOCK_ENGINE_URL ?? null,
    operatorSigner: env.OPERATOR_SIGNER ?? null,
    companySigner: env.COMPANY_SIGNER ?? null,
    companySignerPrevious: env.COMPANY_SIGNER_PREVIOUS ?? null,
    operatorAddress: env.OPERATOR_ADDRESS ?? null,
    companyAddress: env.COMPANY_ADDRESS ?? null,
    companyOperators: new Set(env.COMPANY_OPERATORS),
    webhookKey: env.WEBHOOK_KEY ?? null,
    webhookKeyFile: env.WEBHOOK_KEY_FILE ?? null,
    // Whoever runs a cluster of his own has his receivers beside it.
    webhooksMayBePrivate: (env.WEBHOOK_ALLOW_PRIVATE ?? (env.SOLANA_RPC_URL === undefined ? '1' : '0')) === '1',
    localnet: {
      port: env.LOCALNET_PORT,
      squadsProgram: env.FLYWHEEL_SQUADS_PROGRAM ?? null,
      isOffline: env.FLYWHEEL_OFFLINE === '1',
      slotMs: env.LOCALNET_SLOT_MS,
    },
    rateLimits: {
      init: env.RATE_LIMIT_INIT,
      preview: env.RATE_LIMIT_PREVIEW,
      execute: env.RATE_LIMIT_EXECUTE,
      get: env.RATE_LIMIT_GET,
      current: env.RATE_LIMIT_CURRENT,
      console: env.RATE_LIMIT_CONSOLE,
      proof: env.RATE_LIMIT_PROOF,
    },
    fairUse: { maxOpenBatches: env.MAX_OPEN_BATCHES, maxOpenPipelines: env.MAX_OPEN_PIPELINES },
    batchExpirySeconds: env.BATCH_EXPIRY_SECONDS,
    noncePoolSize: env.NONCE_POOL_SIZE,
    maxTipLamports: BigInt(env.MAX_TIP_LAMPORTS),
    maxComputeUnitPrice: BigInt(env.MAX_COMPUTE_UNIT_PRICE),
    logLevel: env.LOG_LEVEL,
  });
}

/** As many as the hash that secrets are derived with has. */
const MIN_WEBHOOK_KEY_BYTES = 32;

/** The bytes of a key in base64; null where it is none, or too short. */
export function parseWebhookKey(text: string): Uint8Array | null {
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
  return bytes === null || bytes.length < MIN_WEBHOOK_KEY_BYTES ? null : new Uint8Array(bytes);
}

/**
 * Reads the environment for what is done to the database alone, which asks for no cluster and no signers, whether or not
 * they are named.
 * @throws ConfigError as `parseConfig`.
 */
export function parseDatabaseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  return parseConfig({ ...environment, SOLANA_RPC_URL: undefined });
}

const SECONDS_PER_DAY = 86_400;

const Environment = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: port().default(4000),
  METRICS_PORT: port().optional(),
  PUBLIC_URL: url(['http:', 'https:']).optional(),
  TRUST_PROXY: networks().default([]),
  FLYWHEEL_DATA_DIR: z.string().default('.flywheel'),
  DATABASE_URL: url(['postgres:', 'postgresql:']).optional(),
  SOLANA_RPC_URL: url(['http:', 'https:']).optional(),
  PUBLIC_SOLANA_RPC_URL: url(['http:', 'https:']).optional(),
  EXPLORER_URL: url(['http:', 'https:']).default('https://explorer.solana.com'),
  JITO_BLOCK_ENGINE_URL: url(['http:', 'https:']).optional(),
  OPERATOR_SIGNER: z.string().optional(),
  COMPANY_SIGNER: z.string().optional(),
  COMPANY_SIGNER_PREVIOUS: z.string().optional(),
  OPERATOR_ADDRESS: base58Address().optional(),
  COMPANY_ADDRESS: base58Address().optional(),
  COMPANY_OPERATORS: base58Addresses().default([]),
  WEBHOOK_KEY: webhookKey().optional(),
  WEBHOOK_KEY_FILE: z.string().optional(),
  WEBHOOK_ALLOW_PRIVATE: flag().optional(),
  LOCALNET_PORT: port().default(8899),
  LOCALNET_SLOT_MS: whole('milliseconds', 10, 10_000).default(400),
  FLYWHEEL_SQUADS_PROGRAM: z.string().optional(),
  FLYWHEEL_OFFLINE: flag().default('0'),
  // The interface's own numbers.
  RATE_LIMIT_INIT: rateLimit().default({ requests: 10, seconds: 60 }),
  // As init's: a preview compiles as much, and asks the cluster besides.
  RATE_LIMIT_PREVIEW: rateLimit().default({ requests: 10, seconds: 60 }),
  RATE_LIMIT_EXECUTE: rateLimit().default({ requests: 10, seconds: 60 }),
  RATE_LIMIT_GET: rateLimit().default({ requests: 10, seconds: 1 }),
  RATE_LIMIT_CURRENT: rateLimit().default({ requests: 10, seconds: 1 }),
  // A person with a few pages open that look again by themselves.
  RATE_LIMIT_CONSOLE: rateLimit().default({ requests: 600, seconds: 60 }),
  // Open to anyone, and each may read up to twenty transactions of the cluster.
  RATE_LIMIT_PROOF: rateLimit().default({ requests: 60, seconds: 60 }),
  MAX_OPEN_BATCHES: whole('batches', 1, 10_000).default(50),
  MAX_OPEN_PIPELINES: whole('pipelines', 1, 1_000_000).default(2_000),
  BATCH_EXPIRY_SECONDS: whole('seconds', 1, 365 * SECONDS_PER_DAY).default(7 * SECONDS_PER_DAY),
  NONCE_POOL_SIZE: whole('nonce accounts', 1, 10_000).default(32),
  MAX_TIP_LAMPORTS: whole('lamports', 1_000, 1_000_000_000).default(100_000),
  MAX_COMPUTE_UNIT_PRICE: whole('micro-lamports', 1_000, 1_000_000_000).default(100_000),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: (issue) => `is ${quote(issue.input)}; it may be fatal, error, warn, info, debug, trace or silent`,
    })
    .default('info'),
});

function crossFaults(env: z.output<typeof Environment>): string[] {
  const faults: string[] = [];
  if (env.WEBHOOK_KEY !== undefined && env.WEBHOOK_KEY_FILE !== undefined) {
    faults.push('WEBHOOK_KEY and WEBHOOK_KEY_FILE are both set; set one of them.');
  }
  if (env.SOLANA_RPC_URL !== undefined) {
    for (const who of ['OPERATOR', 'COMPANY'] as const) {
      if (env[`${who}_SIGNER`] === undefined && env[`${who}_ADDRESS`] === undefined) {
        faults.push(
          `${who}_SIGNER is not set; with SOLANA_RPC_URL it must name a keypair file (or set ${who}_ADDRESS where nothing is signed).`,
        );
      }
    }
  }
  return faults;
}

function flag() {
  return z.enum(['0', '1'], { error: (issue) => `is ${quote(issue.input)}; it may be 0 or 1` });
}

function webhookKey() {
  return z.string().transform((text, context): Uint8Array => {
    const key = parseWebhookKey(text);
    if (key !== null) return key;
    // Not quoted: it may be a key all the same.
    context.addIssue({
      code: 'custom',
      message: `holds no base64 of at least ${MIN_WEBHOOK_KEY_BYTES} bytes; make one with openssl rand -base64 32`,
    });
    return z.NEVER;
  });
}

function port() {
  return whole('ports', 0, 65_535);
}

function whole(unit: string, min: number, max: number) {
  return z.string().transform((text, context) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    context.addIssue({ code: 'custom', message: `is ${quote(text)}; it takes ${unit} from ${min} to ${max}` });
    return z.NEVER;
  });
}

function url(protocols: readonly string[]) {
  return z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), {
    error: () => `is no URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });
}

/** As `10.0.0.0/8,127.0.0.1`. */
function networks() {
  return z.string().transform((text, context): readonly string[] => {
    const entries = text.split(',').map((entry) => entry.trim());
    const misshapen = entries.find((entry) => !isNetwork(entry));
    if (misshapen === undefined) return entries;
    context.addIssue({
      code: 'custom',
      message: `names ${quote(misshapen)}; it takes addresses and networks like 10.0.0.0/8, separated by commas`,
    });
    return z.NEVER;
  });
}

function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return (
    maxBits > 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits))
  );
}

function base58Address() {
  return z.string().transform((text, context): Address => {
    if (isAddress(text)) return text;
    context.addIssue({ code: 'custom', message: `is ${quote(text)}; it takes a base58 address of 32 bytes` });
    return z.NEVER;
  });
}

/** As `7Fq2…,9dKe…`. */
function base58Addresses() {
  return z.string().transform((text, context): readonly Address[] => {
    const entries = text.split(',').map((entry) => entry.trim());
    const addresses = entries.filter(isAddress);
    if (addresses.length === entries.length) return addresses;
    const misshapen = entries.find((entry) => !isAddress(entry));
    context.addIssue({
      code: 'custom',
      message: `names ${quote(misshapen)}; it takes base58 addresses of 32 bytes, separated by commas`,
    });
    return z.NEVER;
  });
}

function rateLimit() {
  return z.string().transform((text, context): RateLimit => {
    const match = /^([1-9]\d{0,8})\/([1-9]\d{0,5})$/.exec(text);
    if (match) return { requests: Number(match[1]), seconds: Number(match[2]) };
    context.addIssue({ code: 'custom', message: `is ${quote(text)}; it takes requests/seconds, e.g. 10/60` });
    return z.NEVER;
  });
}

function quote(value: unknown): string {
  return JSON.stringify(value) ?? 'not set';
}
