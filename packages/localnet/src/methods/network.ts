import { BLOCK_NOT_AVAILABLE, INVALID_PARAMS, NO_SNAPSHOT } from '@flywheel/solana-rpc';
import type { Address } from '@solana/kit';
import { z } from 'zod';
import { voteAccountOf } from '../genesis.ts';
import type { Node } from '../ledger/node.ts';
import { SLOTS_PER_EPOCH } from '../ledger/slots.ts';
import type { Method } from '../rpc/answer-call.ts';
import { CallError } from '../rpc/call-error.ts';
import {
  addressParam,
  configCommitment,
  contextParam,
  integerParam,
  limitParam,
  optionalConfig,
  parseParams,
  withoutParams,
} from '../rpc/params.ts';
import { FEATURE_SET } from './cluster.ts';
import { checkContextSlot, SOLANA_CORE_VERSION, withContext } from './context.ts';

/** Maximum of leaders in getSlotLeaders (rpc, MAX_GET_SLOT_LEADERS). */
const MAX_SLOT_LEADERS = 5_000;
/** Samples that getRecentPerformanceSamples lists (rpc, PERFORMANCE_SAMPLES_LIMIT), each of about a minute. */
const MAX_SAMPLES = 720;
const SAMPLE_SLOTS = 150n;
const MAX_REWARD_ADDRESSES = 2_000;
/** Minimum of a stake beside its rent (stake program, since its minimum was raised). */
const MIN_DELEGATION_LAMPORTS = 1_000_000_000n;

const config = optionalConfig(contextParam);
const rewardConfig = optionalConfig({ ...contextParam, epoch: integerParam.nullish() });
const scheduleConfig = optionalConfig({ ...contextParam, identity: addressParam.nullish() });
const productionConfig = optionalConfig({
  commitment: configCommitment,
  identity: addressParam.nullish(),
  range: z.object({ firstSlot: integerParam, lastSlot: integerParam.nullish() }).nullish(),
});

const voteAccountsConfig = optionalConfig({
  commitment: configCommitment,
  votePubkey: addressParam.nullish(),
  keepUnstakedDelinquents: z.boolean().nullish(),
  delinquentSlotDistance: integerParam.nullish(),
});

/** Methods about the network: one node, without votes, gossip or stake. */
export function networkMethods(node: Node, identity: Address): Record<string, Method> {
  const { slots, history } = node;
  const current = () => slots.at('processed');
  return {
    getIdentity: withoutParams(() => ({ identity })),
    getClusterNodes: withoutParams(() => [
      {
        pubkey: identity,
        gossip: null,
        tpu: null,
        rpc: null,
        pubsub: null,
        version: SOLANA_CORE_VERSION,
        featureSet: FEATURE_SET,
        shredVersion: 0,
      },
    ]),
    getVoteAccounts: (params) => {
      const [{ commitment, votePubkey }] = parseParams([voteAccountsConfig], params);
      const account = {
        votePubkey: voteAccountOf(identity),
        nodePubkey: identity,
        activatedStake: 0,
        epochVoteAccount: true,
        commission: 0,
        inflationRewardsCommissionBps: 0,
        lastVote: slots.at(commitment),
        epochCredits: [],
        rootSlot: slots.at('finalized'),
      };
      const isAsked = !votePubkey || votePubkey === account.votePubkey;
      return { current: isAsked ? [account] : [], delinquent: [] };
    },
    getSlotLeader: (params) => {
      const [context] = parseParams([config], params);
      checkContextSlot(node, context);
      return identity;
    },
    getSlotLeaders: (params) => {
      const [first, limit] = parseParams([integerParam, limitParam(MAX_SLOT_LEADERS)], params);
      if (limit === 0) return [];
      const epoch = (first + BigInt(limit) - 1n) / SLOTS_PER_EPOCH;
      if (epoch > current() / SLOTS_PER_EPOCH + 1n) {
        throw new CallError(INVALID_PARAMS, `Invalid slot range: leader schedule for epoch ${epoch} is unavailable`);
      }
      return Array.from({ length: limit }, () => identity);
    },
    getLeaderSchedule: (params) => {
      // The slot may be missing; then the configuration is in its place.
      const [first, second] = parseParams([z.union([integerParam.nullable(), scheduleConfig]), scheduleConfig], params);
      const { identity: wanted } = typeof first === 'bigint' || first === null ? second : first;
      const slot = typeof first === 'bigint' ? first : current();
      // Leaders are known up to the next epoch.
      if (slot / SLOTS_PER_EPOCH > current() / SLOTS_PER_EPOCH + 1n) return null;
      if (wanted && wanted !== identity) return {};
      return { [identity]: Array.from({ length: Number(SLOTS_PER_EPOCH) }, (_, index) => index) };
    },
    getBlockProduction: (params) => {
      const [options] = parseParams([productionConfig], params);
      const lastSlot = options.range?.lastSlot ?? slots.at(options.commitment);
      const firstSlot = options.range?.firstSlot ?? (lastSlot / SLOTS_PER_EPOCH) * SLOTS_PER_EPOCH;
      if (lastSlot < firstSlot) {
        throw new CallError(INVALID_PARAMS, `lastSlot, ${lastSlot}, cannot be less than firstSlot, ${firstSlot}`);
      }
      const newest = slots.at(options.commitment);
      if (lastSlot > newest) {
        throw new CallError(INVALID_PARAMS, `lastSlot, ${lastSlot}, is too large; max ${newest}`);
      }
      const count = lastSlot - firstSlot + 1n;
      const byIdentity = options.identity && options.identity !== identity ? {} : { [identity]: [count, count] };
      const context = { commitment: options.commitment };
      return withContext(node, context, { byIdentity, range: { firstSlot, lastSlot } });
    },
    // There are no votes: the commitment is null, as for a block without votes.
    getBlockCommitment: (params) => {
      parseParams([integerParam], params);
      return { commitment: null, totalStake: 0 };
    },
    getInflationGovernor: (params) => {
      parseParams([config], params);
      return { initial: 0, terminal: 0, taper: 0, foundation: 0, foundationTerm: 0 };
    },
    getInflationRate: withoutParams(() => {
      return { epoch: current() / SLOTS_PER_EPOCH, foundation: 0, total: 0, validator: 0 };
    }),
    getInflationReward: (params) => {
      const [addresses, context] = parseParams([z.array(addressParam).max(MAX_REWARD_ADDRESSES), rewardConfig], params);
      checkContextSlot(node, context);
      const newest = slots.at(context.commitment);
      const past = newest / SLOTS_PER_EPOCH;
      // Rewards of an epoch are in the first block of the next one.
      const first = ((context.epoch ?? (past > 0n ? past - 1n : 0n)) + 1n) * SLOTS_PER_EPOCH;
      if (first > newest) throw new CallError(BLOCK_NOT_AVAILABLE, `Block not available for slot ${first}`);
      return addresses.map(() => null);
    },
    getStakeMinimumDelegation: (params) => {
      const [context] = parseParams([config], params);
      return withContext(node, context, MIN_DELEGATION_LAMPORTS);
    },
    getRecentPerformanceSamples: (params) => {
      const [limit] = parseParams([limitParam(MAX_SAMPLES).nullish()], params);
      const newest = slots.at('confirmed');
      const complete = Number(newest / SAMPLE_SLOTS);
      return Array.from({ length: Math.min(limit ?? MAX_SAMPLES, complete) }, (_, index) => {
        const slot = newest - BigInt(index) * SAMPLE_SLOTS;
        const transactions = history.transactionCount(slot) - history.transactionCount(slot - SAMPLE_SLOTS);
        const samplePeriodSecs = history.blockTime(slot) - history.blockTime(slot - SAMPLE_SLOTS);
        return {
          slot,
          numSlots: SAMPLE_SLOTS,
          numTransactions: transactions,
          numNonVoteTransactions: transactions,
          samplePeriodSecs,
        };
      });
    },
    getMaxRetransmitSlot: withoutParams(current),
    getMaxShredInsertSlot: withoutParams(current),
    getHighestSnapshotSlot: withoutParams(() => {
      throw new CallError(NO_SNAPSHOT, 'No snapshot');
    }),
    getFirstAvailableBlock: withoutParams(history.firstAvailableSlot),
    minimumLedgerSlot: withoutParams(history.firstAvailableSlot),
  };
}
