import { MAX_SIGNATURE_STATUSES, MAX_SIGNATURES_FOR_ADDRESS } from '@flywheel/protocol';
import { FILTER_TRANSACTION_NOT_FOUND } from '@flywheel/solana-rpc';
import { z } from 'zod';
import { encodeTransaction, memosOf } from '../encoding/transaction-encoding.ts';
import type { Node } from '../ledger/node.ts';
import type { TransactionSummary } from '../ledger/store/transaction-record.ts';
import type { Method } from '../rpc/answer-call.ts';
import { CallError } from '../rpc/call-error.ts';
import {
  addressParam,
  configCommitment,
  contextParam,
  encodingOrConfig,
  listParam,
  optionalConfig,
  parseParams,
  signatureParam,
  transactionEncoding,
  versionParam,
  whole,
} from '../rpc/params.ts';
import { checkContextSlot, requireConfirmed, requireHistory, withContext } from './context.ts';

const signaturesConfig = optionalConfig({
  ...contextParam,
  limit: z
    .int()
    .nonnegative()
    .default(MAX_SIGNATURES_FOR_ADDRESS)
    .refine(
      (limit) => limit >= 1 && limit <= MAX_SIGNATURES_FOR_ADDRESS,
      whole(`Invalid limit; max ${MAX_SIGNATURES_FOR_ADDRESS}`),
    ),
  before: signatureParam.nullish(),
  until: signatureParam.nullish(),
});
const transactionConfig = encodingOrConfig(
  optionalConfig({
    commitment: configCommitment,
    encoding: transactionEncoding.default('json'),
    maxSupportedTransactionVersion: versionParam.nullish(),
  }),
);

const statusesConfig = optionalConfig({ searchTransactionHistory: z.boolean().optional() });

/** Methods about past transactions. */
export function historyMethods(node: Node): Record<string, Method> {
  const { slots, history } = node;
  return {
    getSignatureStatuses: (params) => {
      const [signatures, config] = parseParams(
        [listParam(signatureParam, MAX_SIGNATURE_STATUSES), statusesConfig],
        params,
      );
      const searches = config.searchTransactionHistory === true;
      if (searches) requireHistory(node);
      const find = (text: string) => history.recent(text) ?? (searches ? history.summary(text) : null);
      const statuses = signatures.map((text) => toStatus(node, find(text)));
      return withContext(node, { commitment: 'processed' }, statuses);
    },
    getSignaturesForAddress: (params) => {
      const [address, config] = parseParams([addressParam, signaturesConfig], params);
      requireHistory(node);
      checkContextSlot(node, config);
      requireConfirmed(config);
      const newest = slots.at(config.commitment);
      for (const bound of [config.before, config.until]) {
        if (bound && !history.summary(bound)) {
          throw new CallError(FILTER_TRANSACTION_NOT_FOUND, `Transaction ${bound} not found`);
        }
      }
      return history
        .transactionsOf(address, {
          limit: config.limit,
          before: config.before ?? null,
          until: config.until ?? null,
          newestSlot: newest,
        })
        .map((summary) => {
          const record = history.transaction(summary.signature);
          return {
            ...summary,
            memo: record && memosOf(record),
            confirmationStatus: slots.commitmentOf(summary.slot),
            transactionIndex: history.position(summary.signature),
          };
        });
    },
    getTransaction: (params) => {
      const [text, config] = parseParams([signatureParam, transactionConfig], params);
      requireHistory(node);
      requireConfirmed(config);
      const record = history.transaction(text);
      if (!record || record.slot > slots.at(config.commitment)) return null;
      const { encoding, maxSupportedTransactionVersion } = config;
      const shown = encodeTransaction(record, encoding, maxSupportedTransactionVersion ?? null);
      return { ...shown, transactionIndex: history.position(record.signature) };
    },
  };
}

function toStatus({ slots }: Node, summary: TransactionSummary | null) {
  if (!summary) return null;
  const { slot, err } = summary;
  const confirmationStatus = slots.commitmentOf(slot);
  return {
    slot,
    confirmations: confirmationStatus === 'finalized' ? null : slots.at('processed') - slot,
    err,
    status: err === null ? { Ok: null } : { Err: err },
    confirmationStatus,
  };
}
