import { MAX_BLOCKHASH_AGE, MAX_BUNDLE_TRANSACTIONS, MAX_DECIMALS } from '@flywheel/protocol';
import { z } from 'zod';
import type { Bank } from '../bank.ts';
import type { EngineRequests } from '../engine-requests.ts';
import type { Faults } from '../faults.ts';
import type { Inbox } from '../inbox.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Method } from '../rpc/answer-call.ts';
import { invalidParams } from '../rpc/call-error.ts';
import { addressParam, integerParam, MAX_U64, parseParams } from '../rpc/params.ts';
import type { WebsocketGate } from '../subscriptions/websocket.ts';
import { throwCallError } from './context.ts';

/** A bigger jump would exceed the range of dates. */
const MAX_WARP_SECONDS = 10_000_000_000n;
const MAX_WARP_SLOTS = 1_000_000_000_000n;
/** About the number of slots whose earlier states are kept. */
const MAX_BEHIND_SLOTS = 500;
const MAX_NODES = 100;

const odds = {
  times: z.int().positive().optional(),
  probability: z.number().min(0).max(1).optional(),
  seed: z.int().optional(),
};
/** Names an endpoint, which is served at `/nodes/<node>`. */
const node = z.string().optional();
const fault = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('drop'), method: z.enum(['sendTransaction', 'sendBundle']), ...odds }),
  z.strictObject({
    kind: z.literal('partLand'),
    method: z.literal('sendBundle'),
    landed: z.int().min(0).max(MAX_BUNDLE_TRANSACTIONS),
    ...odds,
  }),
  z.strictObject({ kind: z.literal('duplicate'), method: z.string(), ...odds }),
  z.strictObject({
    kind: z.literal('wrongStatus'),
    method: z.enum(['getSignatureStatuses', 'getBundleStatuses', 'getInflightBundleStatuses']),
    lie: z.enum(['unknown', 'failed', 'landed']),
    ...odds,
  }),
  z.strictObject({
    kind: z.literal('error'),
    method: z.string(),
    status: z.union([z.literal(429), z.literal(500)]),
    node,
    ...odds,
  }),
  z.strictObject({ kind: z.literal('delay'), method: z.string(), delayMs: z.int().nonnegative(), node, ...odds }),
  z.strictObject({ kind: z.literal('hang'), method: z.string(), node, ...odds }),
  z.strictObject({
    kind: z.literal('behind'),
    method: z.string(),
    slots: z.array(z.int().min(0).max(MAX_BEHIND_SLOTS)).min(1).max(MAX_NODES),
    node,
    ...odds,
  }),
  z.strictObject({ kind: z.literal('forgetHistory'), method: z.string(), slots: z.int().nonnegative(), node, ...odds }),
]);
const amountText = z
  .string()
  .regex(/^\d{1,20}$/, 'not an amount in base units')
  .transform(BigInt)
  .refine((amount) => amount <= MAX_U64, 'more than a u64 holds');
const mintRequest = z.strictObject({
  decimals: z.int().min(0).max(MAX_DECIMALS),
  token2022: z.boolean().default(false),
});
const fundRequest = z.strictObject({
  address: addressParam,
  lamports: integerParam.optional(),
  mint: addressParam.optional(),
  amount: amountText.optional(),
});
const warpRequest = z.strictObject({
  slots: integerParam.refine((slots) => slots <= MAX_WARP_SLOTS, `at most ${MAX_WARP_SLOTS}`).optional(),
  seconds: integerParam.refine((seconds) => seconds <= MAX_WARP_SECONDS, `at most ${MAX_WARP_SECONDS}`).optional(),
});

const forkRequest = z.strictObject({ slots: integerParam.default(1n) });

/** Controls if slots advance by themselves. */
export interface Pace {
  paused: boolean;
}

export interface ControlDeps {
  readonly ledger: Ledger;
  readonly bank: Bank;
  readonly faults: Faults;
  readonly pace: Pace;
  readonly inbox: Inbox;
  readonly engineRequests: EngineRequests;
  readonly websockets: Pick<WebsocketGate, 'drop'>;
}

/** Methods that a real cluster does not have: free money, time travel, faults. */
export function controlMethods(deps: ControlDeps): Record<string, Method> {
  const { ledger, bank, faults, pace, inbox, engineRequests, websockets } = deps;
  return {
    localnet_createMint: async (params) => {
      const [{ decimals, token2022 }] = parseParams([mintRequest], params);
      return { mint: await bank.createMint(decimals, token2022).catch(throwCallError) };
    },
    localnet_fund: async (params) => {
      const [{ address, lamports, mint, amount }] = parseParams([fundRequest], params);
      if ((mint === undefined) !== (amount === undefined)) throw invalidParams('mint and amount belong together');
      const signature = lamports === undefined ? null : await bank.airdrop(address, lamports).catch(throwCallError);
      const tokenAccount =
        mint === undefined || amount === undefined
          ? null
          : await bank.mintTo(mint, address, amount).catch(throwCallError);
      return { signature, tokenAccount };
    },
    localnet_warp: async (params) => {
      const [{ slots = 1n, seconds = 0n }] = parseParams([warpRequest], params);
      inbox.flush();
      await ledger.advance({ slots: slots > 0n ? slots : 1n, seconds });
      return { slot: ledger.slots.current(), unixTimestamp: ledger.slots.unixTimestamp() };
    },
    localnet_expireBlockhashes: async () => {
      inbox.flush();
      await ledger.advance({ slots: MAX_BLOCKHASH_AGE + 1n });
      return { slot: ledger.slots.current() };
    },
    localnet_fork: (params) => {
      const [{ slots }] = parseParams([forkRequest.prefault({})], params);
      try {
        return { firstAbandonedSlot: abandonNewest(ledger, slots) };
      } catch (error) {
        throw error instanceof RangeError ? invalidParams(error.message) : error;
      }
    },
    localnet_dropWebSockets: () => ({ dropped: websockets.drop() }),
    localnet_pauseSlots: () => {
      pace.paused = true;
      return { slot: ledger.slots.current() };
    },
    localnet_resumeSlots: () => {
      pace.paused = false;
      return { slot: ledger.slots.current() };
    },
    localnet_engineRequests: () => engineRequests.count(),
    localnet_setFault: (params) => {
      const [wanted] = parseParams([fault], params);
      faults.set(wanted);
      return null;
    },
    localnet_clearFaults: () => {
      faults.clear();
      return null;
    },
  };
}

/** Abandons the newest complete blocks and the current one. @throws RangeError if there are fewer blocks */
export function abandonNewest(ledger: Ledger, slots: bigint): bigint {
  const firstAbandoned = ledger.slots.current() - slots;
  ledger.abandon(firstAbandoned);
  return firstAbandoned;
}
