import { createHash } from 'node:crypto';
import { encodeBase58 } from '@flywheel/protocol';
import { BLOCK_NOT_AVAILABLE, INVALID_REQUEST } from '@flywheel/solana-rpc';
import type { Address } from '@solana/kit';
import { z } from 'zod';
import { GENESIS_LAMPORTS } from '../genesis.ts';
import type { Node } from '../ledger/node.ts';
import { SLOTS_PER_EPOCH } from '../ledger/slots.ts';
import type { Method } from '../rpc/answer-call.ts';
import { CallError } from '../rpc/call-error.ts';
import {
  blockhashParam,
  configCommitment,
  contextParam,
  integerParam,
  optionalConfig,
  parseParams,
  withoutParams,
} from '../rpc/params.ts';
import type { Runtime } from '../runtime.ts';
import { checkContextSlot, SOLANA_CORE_VERSION, withContext } from './context.ts';

/** Identifier of the feature set. A cluster derives it from the features' addresses; clients only compare it. */
export const FEATURE_SET = Number.parseInt(
  createHash('sha256').update(SOLANA_CORE_VERSION).digest('hex').slice(0, 8),
  16,
);
/** Maximum size of an account (solana-system-interface, MAX_PERMITTED_DATA_LENGTH). */
const MAX_ACCOUNT_BYTES = 10n * 1024n * 1024n;
const config = optionalConfig(contextParam);
const supplyConfig = optionalConfig({
  commitment: configCommitment,
  excludeNonCirculatingAccountsList: z.boolean().optional(),
});

/** Methods about the cluster as a whole: version, slots, blockhashes. */
export function clusterMethods(node: Node, program: Runtime['program'], identity: Address): Record<string, Method> {
  const { slots, history } = node;
  const slot = (params: readonly unknown[]) => {
    const [context] = parseParams([config], params);
    checkContextSlot(node, context);
    return slots.at(context.commitment);
  };
  return {
    getHealth: withoutParams(() => 'ok'),
    getVersion: withoutParams(() => ({
      'solana-core': SOLANA_CORE_VERSION,
      'feature-set': FEATURE_SET,
      flywheel: { program },
    })),
    getGenesisHash: withoutParams(() => encodeBase58(createHash('sha256').update(slots.seed).digest())),
    getSlot: slot,
    getBlockHeight: slot,
    getTransactionCount: (params) => history.transactionCount(slot(params)),
    getSupply: (params) => {
      const [options] = parseParams([supplyConfig], params);
      const context = { commitment: options.commitment };
      // Lamports of the bank are non-circulating. The total ignores that fees are burned.
      const account = node.bank(context.commitment).account(identity);
      const nonCirculating = account.exists ? account.lamports : 0n;
      return withContext(node, context, {
        total: GENESIS_LAMPORTS,
        circulating: GENESIS_LAMPORTS - nonCirculating,
        nonCirculating,
        nonCirculatingAccounts: options.excludeNonCirculatingAccountsList === true ? [] : [identity],
      });
    },
    getBlockTime: (params) => {
      const [wanted] = parseParams([integerParam], params);
      if (wanted > slots.at('processed')) {
        throw new CallError(BLOCK_NOT_AVAILABLE, `Block not available for slot ${wanted}`);
      }
      return history.blockTime(wanted);
    },
    getEpochInfo: (params) => {
      const absoluteSlot = slot(params);
      return {
        absoluteSlot,
        blockHeight: absoluteSlot,
        epoch: absoluteSlot / SLOTS_PER_EPOCH,
        slotIndex: absoluteSlot % SLOTS_PER_EPOCH,
        slotsInEpoch: SLOTS_PER_EPOCH,
        transactionCount: history.transactionCount(absoluteSlot),
      };
    },
    getEpochSchedule: withoutParams(() => ({
      slotsPerEpoch: SLOTS_PER_EPOCH,
      leaderScheduleSlotOffset: SLOTS_PER_EPOCH,
      warmup: false,
      firstNormalEpoch: 0,
      firstNormalSlot: 0,
    })),
    getLatestBlockhash: (params) => {
      const [context] = parseParams([config], params);
      return withContext(node, context, slots.latestBlockhash(context.commitment));
    },
    isBlockhashValid: (params) => {
      const [blockhash, context] = parseParams([blockhashParam, config], params);
      return withContext(node, context, slots.isRecent(blockhash, slots.at(context.commitment)));
    },
    getMinimumBalanceForRentExemption: (params) => {
      const [bytes] = parseParams([integerParam, config], params);
      if (bytes > MAX_ACCOUNT_BYTES) throw new CallError(INVALID_REQUEST, 'Invalid request');
      return node.minimumBalanceForRentExemption(bytes);
    },
  };
}
