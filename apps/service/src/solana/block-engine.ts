import {
  AccountRole,
  type Address,
  type Base64EncodedWireTransaction,
  createJsonRpcApi,
  createRpc,
  type Instruction,
  type Signature,
} from '@solana/kit';
import { getTransferSolInstructionDataEncoder, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import * as z from 'zod';
import type { Clock } from '../model/clock.ts';
import type { BundleSender } from './bundles.ts';
import { ask } from './rpc/ask.ts';
import { shapes } from './rpc/shapes.ts';
import { createRpcTransport, type Warn } from './rpc/transport.ts';
import { readTipFloorLamports } from './tip-floor.ts';
import { signatureOf } from './transactions.ts';

export interface BlockEngineOptions {
  readonly url: string;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly bundleIdOf: (signatures: readonly Signature[]) => string;
  readonly log?: Warn;
  readonly maxTipLamports?: bigint;
  readonly requestIntervalMs?: number;
  readonly random?: () => number;
}

/** Jito’s block engine over its JSON-RPC (docs.jito.wtf, low latency transaction send). */
export function createBlockEngine(options: BlockEngineOptions): Pick<BundleSender, 'tip' | 'send' | 'status'> {
  const { clock, log, bundleIdOf, maxTipLamports = MAX_TIP_LAMPORTS, random = Math.random } = options;
  const url = endpointOf(options.url);
  const intervalMs = options.requestIntervalMs ?? (isLoopback(url) ? 0 : REQUEST_INTERVAL_MS);
  const rpc = createRpc({
    api: createJsonRpcApi<BlockEngineApi>({ responseTransformer: (answer) => Answer.parse(answer).result }),
    transport: createRpcTransport({ url: url.href, clock, intervalMs, ...(log && { log }) }),
  });
  let tipAccounts: readonly Address[] | null = null;
  let floorLamports = MIN_TIP_LAMPORTS;
  return {
    tip: async (payer, attempt = 0) => {
      // The accounts have never changed; asking once spares a request of the few that are allowed.
      tipAccounts ??= await ask('getTipAccounts', rpc.getTipAccounts(), TipAccountsAnswer);
      const account = tipAccounts[Math.floor(random() * tipAccounts.length)];
      if (account === undefined) throw new Error('getTipAccounts: no account to pick.');
      try {
        floorLamports = await readTipFloorLamports(url);
      } catch (error) {
        log?.warn({ floorLamports, err: error }, 'tip floor not readable, the last one known is used');
      }
      const lamports = floorLamports * 2n ** BigInt(Math.min(attempt, MAX_DOUBLINGS));
      return transfer(payer, account, clamp(lamports, MIN_TIP_LAMPORTS, maxTipLamports));
    },

    send: async (transactions) => {
      const request = rpc.sendBundle(transactions, { encoding: 'base64' });
      const answered = await ask('sendBundle', request, z.string()).catch((error: unknown) => {
        // The bundle, or some of it, is on chain already: that is for the chain to tell.
        if (error instanceof Error && error.message.includes(ALREADY_PROCESSED)) return null;
        throw error;
      });
      const bundleId = bundleIdOf(transactions.map(signatureOf));
      if (answered !== null && answered !== bundleId) {
        log?.warn({ bundleId, answered }, 'the block engine names bundles by another formula: no status will be found');
      }
    },

    status: async (bundleId) => {
      const inflight = await ask('getInflightBundleStatuses', rpc.getInflightBundleStatuses([bundleId]), Inflight);
      const status = inflight?.value.find((entry) => entry?.bundle_id === bundleId)?.status ?? 'Invalid';
      if (status === 'Landed') return 'landed';
      if (status === 'Failed') return 'failed';
      if (status === 'Pending') return 'pending';
      // Invalid: older than five minutes, or so new that the engine has not filed it.
      const landed = await ask('getBundleStatuses', rpc.getBundleStatuses([bundleId]), Landed);
      const entry = landed?.value.find((found) => found?.bundle_id === bundleId);
      const confirmation = entry?.confirmation_status ?? entry?.confirmationStatus ?? 'processed';
      return confirmation === 'processed' ? 'pending' : 'landed';
    },
  };
}

/** Of Jito’s JSON-RPC for bundles. */
const PATH = '/api/v1/bundles';
/** One request a second and region without an agreement (docs.jito.wtf, rate limits). */
const REQUEST_INTERVAL_MS = 1_000;
/** The least tip that the engine looks at (docs.jito.wtf, tip amount). */
const MIN_TIP_LAMPORTS = 1_000n;
/** Past it any floor has reached any cap. */
const MAX_DOUBLINGS = 32;
/** Twenty transaction fees: a floor above that is a contest we have no stake in. */
const MAX_TIP_LAMPORTS = 100_000n;
/** How the engine refuses a bundle whose transactions the chain has seen (code -32602). */
const ALREADY_PROCESSED = 'already processed transaction';

/** The answers are unknown until `ask` has looked at them. */
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

/** The documentation writes confirmationStatus, its example and the engine confirmation_status. */
const Landed = z
  .object({
    value: z.array(
      z
        .object({ bundle_id: z.string(), confirmation_status: Confirmation, confirmationStatus: Confirmation })
        .nullable(),
    ),
  })
  .nullable();

/** kit leaves the whole answer as the result of an API that it does not know. */
const Answer = z.object({ result: z.unknown() });

function endpointOf(text: string): URL {
  const url = new URL(text);
  if (url.pathname === '/') url.pathname = PATH;
  return url;
}

/** An engine on this machine is a local cluster's, which counts nothing. */
function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

function clamp(value: bigint, min: bigint, max: bigint): bigint {
  if (value > max) return max > min ? max : min;
  return value > min ? value : min;
}

/** Without a signer object in it: the message’s own signers sign. */
function transfer(source: Address, destination: Address, lamports: bigint): Instruction {
  return {
    programAddress: SYSTEM_PROGRAM_ADDRESS,
    accounts: [
      { address: source, role: AccountRole.WRITABLE_SIGNER },
      { address: destination, role: AccountRole.WRITABLE },
    ],
    data: getTransferSolInstructionDataEncoder().encode({ amount: lamports }),
  };
}
