import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { headersFor } from '@flywheel/api';
import { createKeyPairSignerFromBytes, type KeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';
import { waitUntil } from './batches.ts';
import { type GatedWorld, openGate } from './gate.ts';
import { createPairedServer } from './postgres-pair.ts';
import { createProject, type ProjectOptions, signIn, type TestProject } from './project.ts';
import { type ShardAddress, type ShardProxy, startShardProxy } from './shard-proxy.ts';
import { createSignerFile, openWorld, type World } from './world.ts';

/** Two deployments with the same keys, on one cluster and two servers of PostgreSQL, behind one URL. */
export interface TwoShards {
  readonly first: World;
  readonly second: World;
  readonly proxy: ShardProxy;
  /** A wallet that acts for the company in both. */
  readonly operator: KeyPairSigner;
  /** Its keypair file. */
  readonly operatorFile: string;
  stop(): Promise<void>;
}

/** @param more variables of both deployments. */
export async function openTwoShards(more: Readonly<Record<string, string>> = {}): Promise<TwoShards> {
  await using opened = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'flywheel-shards-'));
  opened.defer(() => rm(folder, { recursive: true }));
  const operatorFile = join(folder, 'operator.json');
  await createSignerFile(operatorFile);
  const operator = await createKeyPairSignerFromBytes(
    Uint8Array.from(JSON.parse(await readFile(operatorFile, 'utf8'))),
  );
  const environment = {
    METRICS_PORT: '0',
    COMPANY_OPERATORS: operator.address,
    WEBHOOK_KEY: Buffer.alloc(32, 1).toString('base64'),
    WEBHOOK_ALLOW_PRIVATE: '1',
    NONCE_POOL_SIZE: '8',
    MAX_OPEN_BATCHES: '1000',
    ...more,
  };
  const first = await openWorld(environment);
  opened.defer(() => first.stop());
  const server = await createPairedServer('second');
  opened.defer(() => server.remove());
  await server.start();
  const { OPERATOR_SIGNER = '', COMPANY_SIGNER = '' } = first.environment;
  const second = await openWorld(
    { ...environment, OPERATOR_SIGNER, COMPANY_SIGNER },
    {
      openDatabase: async () => ({ url: server.url, close: async () => undefined }),
      // The first world stops it.
      cluster: Object.create(first.localnet, { stop: { value: async () => undefined } }),
    },
  );
  opened.defer(() => second.stop());
  const proxy = await startShardProxy([addressOf(first), addressOf(second)]);
  opened.defer(() => proxy.stop());
  const stack = opened.move();
  return { first, second, proxy, operator, operatorFile, stop: () => stack.disposeAsync() };
}

/** Two shards, the first of which reaches the cluster only through a gate. */
export interface GatedShards extends TwoShards {
  readonly first: GatedWorld;
}

/** @param more variables of both deployments. */
export async function openGatedShards(more: Readonly<Record<string, string>> = {}): Promise<GatedShards> {
  const shards = await openTwoShards(more);
  const gate = await openGate(shards.first.localnet);
  const stop = async () => {
    gate.clear();
    await shards.stop();
    await gate.stop();
  };
  try {
    await restartShard(shards, shards.first, { ...gate.environment, ...more });
  } catch (error) {
    await stop();
    throw error;
  }
  const first: GatedWorld = Object.create(shards.first, { gate: { value: gate } });
  return { ...shards, first, stop };
}

/** Addresses of a shard for the proxy, and for its directory. */
export function addressOf({ url, app: { metricsUrl } }: World): ShardAddress {
  if (metricsUrl === null) throw new Error('A shard has a directory.');
  return { url, metricsUrl };
}

/** Starts a shard again, with changed variables if any are given, where the proxy looks for it. Waits until the proxy uses it. */
export async function restartShard(
  { first, proxy }: Pick<TwoShards, 'first' | 'proxy'>,
  shard: World,
  changes: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { url, metricsUrl } = addressOf(shard);
  await shard.restart({ PORT: new URL(url).port, METRICS_PORT: new URL(metricsUrl).port, ...changes });
  const headers = headersFor(shard === first ? 1 : 2);
  await waitUntil(
    'the proxy to see that the shard is up',
    async () => (await fetch(new URL('/console/api/session', proxy.url), { headers })).status,
    (status) => status !== SERVICE_UNAVAILABLE,
  );
}

const SERVICE_UNAVAILABLE = 503;

/** Registers a project in a shard, and signs its wallet in at the proxy. */
export async function createProjectIn(
  shard: World,
  { url }: ShardProxy,
  options: ProjectOptions = {},
): Promise<TestProject> {
  const project = await createProject(shard, { vaultBaseUnits: 10n ** 12n, ...options });
  return { ...project, cookie: await signIn(url, project.wallet) };
}

/** Fills the audit log of a shard with entries of the last hour: more than a page of it. Times have milliseconds, as the service's. */
export async function fillAuditLog({ db }: World, { address }: KeyPairSigner): Promise<void> {
  await sql`
    insert into audit_log (at, actor, action)
    select date_trunc('milliseconds', now() - n * random() * interval '1 minute'), ${address}, 'job.retried'
    from generate_series(1, ${AUDIT_ENTRIES}) n
  `.execute(db);
}

const AUDIT_ENTRIES = 70;

/** Adds cookies to those that a browser has; a later one replaces an earlier one of its name. */
export function mergeCookies(jar: string, cookies: readonly string[]): string {
  const pairs = [...jar.split('; '), ...cookies.map((cookie) => cookie.split(';', 1)[0] ?? '')].filter(Boolean);
  return [...new Map(pairs.map((pair) => [pair.split('=', 1)[0], pair])).values()].join('; ');
}
