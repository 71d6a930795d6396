import { setTimeout as sleep } from 'node:timers/promises';
import { createRpcBank, type Localnet, type LocalnetOptions, localnetBank, startLocalnet } from '@flywheel/localnet';
import { isFeatureActive, TRANSACTION_V1_FEATURE } from '@flywheel/protocol';
import { callRpc, createRpcTransport } from '@flywheel/solana-rpc';
import { createSolanaRpcFromTransport, fetchEncodedAccount } from '@solana/kit';
import { startBundleRelay } from './bundle-relay.ts';

/** The RPC URL of a cluster that all tests share, such as a validator's; null: each world starts a local cluster. */
const SHARED_RPC_URL = process.env.FLYWHEEL_TEST_RPC_URL || null;
/** True if the tests share a cluster that this project may not have written. */
export const isClusterShared = SHARED_RPC_URL !== null;

/** Skips a test on a shared cluster, which lacks something: `it('…', onlyLocal('…'), …)`. */
export function onlyLocal(reason: string): { readonly skip: string | false } {
  return { skip: isClusterShared && `only the local cluster can: ${reason}` };
}

/**
 * Skips a test on a shared cluster that has transactions of version 1 and the test needs one without, or the other way round:
 * `it('…', await onlyWithV1(true), …)`.
 */
export async function onlyWithV1(v1: boolean): Promise<{ readonly skip: string | false }> {
  if (SHARED_RPC_URL === null) return { skip: false };
  const rpc = createSolanaRpcFromTransport(createRpcTransport({ url: SHARED_RPC_URL }));
  const feature = await fetchEncodedAccount(rpc, TRANSACTION_V1_FEATURE);
  const hasV1 = isFeatureActive(feature.exists ? feature : null);
  return { skip: hasV1 !== v1 && `the shared cluster has ${hasV1 ? '' : 'no '}transactions of version 1` };
}

/** Set: services send bundles there through a relay. Otherwise they send transactions to the RPC node, in order. */
const HAS_BUNDLES = Boolean(process.env.FLYWHEEL_TEST_BUNDLES);

/** Options of a test that acts on bundles: it is skipped on a shared cluster whose services send transactions over RPC. */
export const WITH_BUNDLES: { readonly skip: string | false } = {
  skip: isClusterShared && !HAS_BUNDLES && 'acts on bundles: set FLYWHEEL_TEST_BUNDLES=1',
};

/** Enough for a blockhash to expire. */
const MAX_AWAITED_SLOTS = 400n;
const POLL_INTERVAL_MS = 20;

/**
 * Opens the cluster of a world: a new local one, or with FLYWHEEL_TEST_RPC_URL the one there. The key that owns the SOL of a
 * local cluster must own SOL there, as it does in a validator that `npm run agave` has started. There, `warp` waits for real
 * slots, and what only the local cluster can do (faults, forks) throws.
 */
export async function openCluster(options: LocalnetOptions): Promise<Localnet> {
  return SHARED_RPC_URL === null ? startLocalnet(options) : connectCluster(SHARED_RPC_URL);
}

/** Connects to a cluster that runs already, as far as it can do what the local one does. */
export async function connectCluster(url: string): Promise<Localnet> {
  const relay = HAS_BUNDLES ? await startBundleRelay(url) : null;
  const shared: Pick<Localnet, (typeof SHARED_MEMBERS)[number]> = {
    url,
    websocketUrl: webSocketUrlOf(url),
    blockEngineUrl: relay?.url ?? '',
    bank: createRpcBank(url, await localnetBank()),
    program: 'squads-v4',
    warp: ({ slots = 1n, seconds = 0n } = {}) => {
      if (seconds > 0n || slots > MAX_AWAITED_SLOTS) throw new Error('Only the local cluster can advance its clock.');
      return awaitSlots(url, slots);
    },
    // Others use it too.
    stop: async () => relay?.stop(),
  };
  return new Proxy(shared, {
    get: (target, name) => {
      if (name in target || typeof name === 'symbol' || name === 'then') return Reflect.get(target, name);
      throw new Error(`Only the local cluster has \`${name}\`: run this test without FLYWHEEL_TEST_RPC_URL.`);
    },
  }) as Localnet;
}

const SHARED_MEMBERS = ['url', 'websocketUrl', 'blockEngineUrl', 'bank', 'program', 'warp', 'stop'] as const;

/** A validator's WebSocket port is the one above its RPC port. */
function webSocketUrlOf(rpcUrl: string): string {
  const url = new URL(rpcUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.port = String(Number(url.port) + 1);
  return url.href;
}

async function awaitSlots(url: string, slots: bigint): Promise<void> {
  const transport = createRpcTransport({ url });
  const confirmed = async () => BigInt(Number(await callRpc(transport, 'getSlot', [{ commitment: 'confirmed' }])));
  for (const target = (await confirmed()) + slots; (await confirmed()) < target; ) await sleep(POLL_INTERVAL_MS);
}
