import { BUNDLES_PATH, bundleIdOf, isLoopbackHost, LAMPORTS_PER_SOL, MIN_TIP_LAMPORTS } from '@flywheel/protocol';
import { createPacer, createRpcTransport, type Warn } from '@flywheel/solana-rpc';
import {
  type Address,
  type Base64EncodedWireTransaction,
  createJsonRpcApi,
  createNoopSigner,
  createRpc,
  type Instruction,
  type Rpc,
  type RpcTransport,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import * as z from 'zod';
import type { Clock } from '../model/clock.ts';
import { createFairGate, newShare, type Share } from '../model/fair-gate.ts';
import { plainInstruction } from '../model/plain-instruction.ts';
import { postByHttp } from './post-by-http.ts';
import { ask, shapes } from './rpc.ts';
import { signatureOf } from './transactions.ts';

/** Delivers bundles to the chain. */
export interface BundleCarrier {
  /**
   * Builds the tip that a bundle's last transaction must contain; null if the carrier needs none.
   * @param attempt counts earlier bundles of the same content that did not land: each doubles the tip, up to its
   * maximum.
   */
  tip(payer: Address, attempt?: number): Promise<Instruction | null>;
  /**
   * Waits until a bundle may be sent, because requests to the carrier are limited: projects take turns. Wait before the
   * blockhash of the bundle is read. If requests are limited, the share is expected afterwards.
   */
  awaitTurn(share: Share, signal: AbortSignal): Promise<void>;
  /**
   * Resolves when the transactions are accepted; only the chain shows if they land.
   * @param lastValidBlockHeight the height up to which they can land: nothing is waited for after that
   */
  send(transactions: readonly Base64EncodedWireTransaction[], lastValidBlockHeight: bigint): Promise<void>;
  /** Reads a hint that the chain has to confirm: blocks that are dropped can unbundle a bundle. */
  status(bundleId: string): Promise<BundleStatus>;
}

/**
 * `unknown`: the engine does not know the bundle, or has forgotten it. `unasked`: bundles wait for the requests that the
 * question would take.
 */
export type BundleStatus = 'pending' | 'landed' | 'failed' | 'unknown' | 'unasked';

export interface BlockEngineOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly log?: Warn;
  readonly maxTipLamports: bigint;
  readonly requestIntervalMs?: number;
  readonly random?: () => number;
}

/** Sends bundles to Jito’s block engine over its JSON-RPC (docs.jito.wtf, low latency transaction send). */
export function createBlockEngine(options: BlockEngineOptions): BundleCarrier {
  const { clock, log, maxTipLamports, random = Math.random } = options;
  const url = endpointOf(options.url);
  // An engine on this machine belongs to a local cluster, which has no rate limit.
  const intervalMs = options.requestIntervalMs ?? (isLoopbackHost(url.hostname) ? 0 : REQUEST_INTERVAL_MS);
  const pacer = intervalMs === 0 ? null : createPacer(intervalMs, clock);
  const rpc = openRpc(
    createRpcTransport({ url: url.href, clock, post: postByHttp, ...(pacer && { pacer }), ...(log && { log }) }),
  );
  const gate = pacer && createFairGate({ capacity: 1, clock });
  const awaitTurn: BundleCarrier['awaitTurn'] = async (share, signal) => {
    if (gate === null) return;
    const leave = await gate.enter(share, signal);
    // Without the second wait, bundles that were late once would queue up behind each other from then on, and wait
    // there with their blockhashes: turns come as fast as requests are sent.
    const next = clock.sleep(intervalMs).then(() => pacer?.awaitIdle());
    void next.then(leave, leave);
    share.isExpected = true;
  };
  let tipAccounts: readonly Address[] | null = null;
  let floorLamports = MIN_TIP_LAMPORTS;
  return {
    tip: async (payer, attempt = 0) => {
      // The accounts have never changed, and requests are limited.
      tipAccounts ??= await ask('getTipAccounts', rpc.getTipAccounts(), TipAccountsAnswer);
      const account = tipAccounts[Math.floor(random() * tipAccounts.length)];
      if (account === undefined) throw new Error('getTipAccounts: no account to pick.');
      try {
        floorLamports = await readTipFloorLamports(url);
      } catch (error) {
        log?.warn({ floorLamports, err: error }, 'cannot read the tip floor; using the last one');
      }
      const lamports = floorLamports * 2n ** BigInt(Math.min(attempt, MAX_DOUBLINGS));
      return tipOf(payer, account, clamp(lamports, MIN_TIP_LAMPORTS, maxTipLamports));
    },

    awaitTurn,

    send: async (transactions) => {
      const request = rpc.sendBundle(transactions, { encoding: 'base64' });
      const answered = await ask('sendBundle', request, z.string()).catch((error: unknown) => {
        // The bundle, or a part of it, is already on chain.
        if (error instanceof Error && error.message.includes(ALREADY_PROCESSED)) return null;
        throw error;
      });
      const bundleId = bundleIdOf(transactions.map(signatureOf));
      if (answered !== null && answered !== bundleId) {
        log?.warn(
          { bundleId, answered },
          'the block engine computes bundle ids by another formula: no status will be found',
        );
      }
    },

    status: async (bundleId) => {
      // No bundle waits for a status, which is only a hint.
      if (gate?.isBusy()) return 'unasked';
      // Behind the bundles that wait by then, also for the second request.
      const awaitLastTurn = () => {
        const nowMs = clock.now().getTime();
        return awaitTurn({ ...newShare(nowMs), servedUntilMs: nowMs }, NEVER);
      };
      await awaitLastTurn();
      const inflight = await ask('getInflightBundleStatuses', rpc.getInflightBundleStatuses([bundleId]), Inflight);
      const status = inflight?.value.find((entry) => entry?.bundle_id === bundleId)?.status ?? 'Invalid';
      if (status === 'Landed') return 'landed';
      if (status === 'Failed') return 'failed';
      if (status === 'Pending') return 'pending';
      // The status is invalid for a bundle that is older than five minutes, or so new that the engine does not list it
      // yet.
      await awaitLastTurn();
      const landed = await ask('getBundleStatuses', rpc.getBundleStatuses([bundleId]), Landed);
      const entry = landed?.value.find((found) => found?.bundle_id === bundleId);
      if (entry === undefined || entry === null) return 'unknown';
      const confirmation = entry.confirmation_status ?? entry.confirmationStatus ?? 'processed';
      return confirmation === 'processed' ? 'pending' : 'landed';
    },
  };
}

/** The tip accounts and the floor of tips that a block engine announces. */
export interface Tips {
  readonly accounts: readonly Address[];
  /** Median of recently landed bundles; null if it cannot be read. */
  readonly floorLamports: bigint | null;
}

/**
 * Reads an engine's tips once, for `flywheel doctor`.
 * @throws Error if the engine does not answer within the time.
 */
export async function readTips(blockEngineUrl: string, timeoutMs: number): Promise<Tips> {
  const url = endpointOf(blockEngineUrl);
  const rpc = openRpc(createRpcTransport({ url: url.href, timeoutMs, maxAttempts: 1 }));
  const [accounts, floorLamports] = await Promise.all([
    ask('getTipAccounts', rpc.getTipAccounts(), TipAccountsAnswer),
    // It may be published on another host than the engine's.
    readTipFloorLamports(url).catch(() => null),
  ]);
  return { accounts, floorLamports };
}

/** A request takes milliseconds, so that it may outlast the job that asked. */
const NEVER = new AbortController().signal;

/** One request a second and region without an agreement (docs.jito.wtf, rate limits). */
const REQUEST_INTERVAL_MS = 1_000;
/** After this number of doublings any floor exceeds any maximum. */
const MAX_DOUBLINGS = 32;
/** The engine's error for a bundle with transactions that are on chain (code -32602). */
const ALREADY_PROCESSED = 'already processed transaction';

function openRpc(transport: RpcTransport): Rpc<BlockEngineApi> {
  const api = createJsonRpcApi<BlockEngineApi>({ responseTransformer: (answer) => Answer.parse(answer).result });
  return createRpc({ api, transport });
}

/** The answers are unknown until `ask` has checked them. */
interface BlockEngineApi {
  [method: string]: (...parameters: never[]) => unknown;
  getTipAccounts(): unknown;
  sendBundle(transactions: readonly Base64EncodedWireTransaction[], config: { encoding: 'base64' }): unknown;
  getInflightBundleStatuses(bundleIds: readonly string[]): unknown;
  getBundleStatuses(bundleIds: readonly string[]): unknown;
}

const TipAccountsAnswer = z.array(shapes.address).min(1);

const Inflight = z
  .object({
    value: z.array(
      z.object({ bundle_id: z.string(), status: z.enum(['Invalid', 'Pending', 'Failed', 'Landed']) }).nullable(),
    ),
  })
  .nullable();

const Confirmation = z.enum(['processed', 'confirmed', 'finalized']).nullish();

/** The documentation says confirmationStatus; its example and the engine say confirmation_status. */
const Landed = z
  .object({
    value: z.array(
      z
        .object({ bundle_id: z.string(), confirmation_status: Confirmation, confirmationStatus: Confirmation })
        .nullable(),
    ),
  })
  .nullable();

/** Kit returns the whole answer as the result of an API that it does not know. */
const Answer = z.object({ result: z.unknown() });

function endpointOf(text: string): URL {
  const url = new URL(text);
  if (url.pathname === '/') url.pathname = BUNDLES_PATH;
  return url;
}

function clamp(value: bigint, min: bigint, max: bigint): bigint {
  if (value > max) return max > min ? max : min;
  return value > min ? value : min;
}

/** Builds a tip without a signer object: the message’s signers sign. */
export function tipOf(source: Address, destination: Address, lamports: bigint): Instruction {
  const transfer = { source: createNoopSigner(source), destination, amount: lamports };
  return plainInstruction(getTransferSolInstruction(transfer));
}

/**
 * Reads the median tip of recently landed bundles, in lamports, where the block engine’s operator publishes it: for
 * Jito’s engines on a host of its own, for others below their bundle path.
 * @throws Error when it cannot be read within two seconds.
 */
async function readTipFloorLamports(blockEngineUrl: URL): Promise<bigint> {
  const url = blockEngineUrl.hostname.endsWith('.block-engine.jito.wtf')
    ? JITO_TIP_FLOOR_URL
    : new URL(`${blockEngineUrl.pathname.replace(/\/$/, '')}/tip_floor`, blockEngineUrl.origin);
  const response = await fetch(url, { signal: AbortSignal.timeout(TIP_FLOOR_TIMEOUT_MS) });
  if (!response.ok) throw new Error(`The tip floor request answered HTTP ${response.status}.`);
  const [{ landed_tips_50th_percentile: floorSol }] = TipFloor.parse(await response.json());
  return BigInt(Math.ceil(floorSol * LAMPORTS_PER_SOL));
}

/** docs.jito.wtf, get tip information. */
const JITO_TIP_FLOOR_URL = new URL('https://bundles.jito.wtf/api/v1/bundles/tip_floor');
/** Short, because a bundle waits for it. */
const TIP_FLOOR_TIMEOUT_MS = 2_000;

/** One entry, in SOL. A floor above one SOL must be an error. */
const TipFloor = z.tuple([z.object({ landed_tips_50th_percentile: z.number().min(0).max(1) })], z.unknown());
