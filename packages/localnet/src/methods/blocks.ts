import { BLOCK_CLEANED_UP, BLOCK_NOT_AVAILABLE, INVALID_PARAMS } from '@flywheel/solana-rpc';
import { z } from 'zod';
import { encodeAccounts, encodeTransaction } from '../encoding/transaction-encoding.ts';
import type { Node } from '../ledger/node.ts';
import type { Method } from '../rpc/answer-call.ts';
import { CallError } from '../rpc/call-error.ts';
import {
  configCommitment,
  contextParam,
  encodingOrConfig,
  integerParam,
  optionalConfig,
  parseParams,
  transactionEncoding,
  versionParam,
} from '../rpc/params.ts';
import { checkContextSlot, requireConfirmed, requireHistory } from './context.ts';

/** Maximum of slots in one getBlocks (rpc-client-api, MAX_GET_CONFIRMED_BLOCKS_RANGE). */
const MAX_BLOCKS = 500_000n;

const blockConfig = encodingOrConfig(
  optionalConfig({
    commitment: configCommitment,
    encoding: transactionEncoding.default('json'),
    transactionDetails: z.enum(['full', 'accounts', 'signatures', 'none']).default('full'),
    rewards: z.boolean().default(true),
    maxSupportedTransactionVersion: versionParam.nullish(),
  }),
);
const config = optionalConfig(contextParam);

/** Methods that read blocks. Every slot has one; those without transactions are empty. */
export function blockMethods(node: Node): Record<string, Method> {
  const { slots, history } = node;
  const list = (start: bigint, end: bigint) => {
    const from = start > history.firstAvailableSlot() ? start : history.firstAvailableSlot();
    const length = end < from ? 0 : Number(end - from) + 1;
    return Array.from({ length }, (_, index) => from + BigInt(index));
  };
  return {
    getBlock: (params) => {
      const [slot, options] = parseParams([integerParam, blockConfig], params);
      requireHistory(node);
      requireConfirmed(options);
      if (slot > slots.at(options.commitment)) {
        throw new CallError(BLOCK_NOT_AVAILABLE, `Block not available for slot ${slot}`);
      }
      const first = history.firstAvailableSlot();
      if (slot < first) {
        throw new CallError(
          BLOCK_CLEANED_UP,
          `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`,
        );
      }
      const parentSlot = slot > 0n ? slot - 1n : 0n;
      const records = options.transactionDetails === 'none' ? [] : history.transactionsIn(slot);
      return {
        blockHeight: slot,
        blockTime: history.blockTime(slot),
        blockhash: slots.blockhashOf(slot),
        parentSlot,
        previousBlockhash: slots.blockhashOf(parentSlot),
        ...(options.rewards && { rewards: [] }),
        ...(options.transactionDetails === 'signatures' && { signatures: records.map(({ signature }) => signature) }),
        ...(options.transactionDetails === 'accounts' && {
          transactions: records.map((record) => encodeAccounts(record, options.maxSupportedTransactionVersion ?? null)),
        }),
        ...(options.transactionDetails === 'full' && {
          transactions: records.map((record) => {
            const maxVersion = options.maxSupportedTransactionVersion ?? null;
            const { slot: _slot, blockTime: _time, ...shown } = encodeTransaction(record, options.encoding, maxVersion);
            return { ...shown, meta: { ...shown.meta, rewards: options.rewards ? [] : null } };
          }),
        }),
      };
    },
    getBlocks: (params) => {
      // The second parameter may be missing; then the configuration is in its place.
      const [start, second, third] = parseParams([integerParam, z.union([integerParam, config]), config], params);
      const context = typeof second === 'bigint' || params.length > 2 ? third : second;
      requireConfirmed(context);
      checkContextSlot(node, context);
      const end = typeof second === 'bigint' ? second : start + MAX_BLOCKS;
      const newest = slots.at(context.commitment);
      const last = end < newest ? end : newest;
      if (last > start + MAX_BLOCKS) throw new CallError(INVALID_PARAMS, `Slot range too large; max ${MAX_BLOCKS}`);
      return list(start, last);
    },
    getBlocksWithLimit: (params) => {
      const [start, limit, context] = parseParams([integerParam, integerParam, config], params);
      requireConfirmed(context);
      if (limit > MAX_BLOCKS) throw new CallError(INVALID_PARAMS, `Limit too large; max ${MAX_BLOCKS}`);
      checkContextSlot(node, context);
      const newest = slots.at(context.commitment);
      const last = start + limit - 1n;
      return limit === 0n ? [] : list(start, last < newest ? last : newest);
    },
  };
}
