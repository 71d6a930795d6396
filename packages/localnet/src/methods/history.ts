import { z } from 'zod';
import { encodeTransaction, memosOf } from '../encoding/transaction-encoding.ts';
import type { Node } from '../ledger/node.ts';
import type { TransactionSummary } from '../ledger/store/transaction-record.ts';
import type { Method } from '../rpc/answer-call.ts';
import {
  addressParam,
  commitmentParam,
  contextParam,
  integerParam,
  optionalConfig,
  parseParams,
} from '../rpc/params.ts';
import { checkContextSlot, requireHistory, withContext } from './context.ts';

/** Limits of a validator (rpc-client-api, MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS and …_CONFIRMED_SIGNATURES_…). */
const MAX_STATUSES = 256;
const MAX_SIGNATURES = 1_000;

const signature = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/, 'not a signature');
const signaturesConfig = optionalConfig({
  ...contextParam,
  limit: z.int().min(1).max(MAX_SIGNATURES).default(MAX_SIGNATURES),
  before: signature.nullish(),
  until: signature.nullish(),
});
const transactionConfig = optionalConfig({
  commitment: commitmentParam,
  encoding: z.enum(['json', 'jsonParsed', 'base58', 'base64']).default('json'),
  maxSupportedTransactionVersion: integerParam.nullish(),
});

const statusesConfig = optionalConfig({ searchTransactionHistory: z.boolean().nullish() });

/** Methods about past transactions. */
export function historyMethods(node: Node): Record<string, Method> {
  const { slots, history } = node;
  return {
    getSignatureStatuses: (params) => {
      const [signatures, config] = parseParams([z.array(signature).max(MAX_STATUSES), statusesConfig], params);
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
      const newest = slots.at(config.commitment);
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
          };
        });
    },
    getTransaction: (params) => {
      const [text, config] = parseParams([signature, transactionConfig], params);
      requireHistory(node);
      const record = history.transaction(text);
      if (!record || record.slot > slots.at(config.commitment)) return null;
      const { encoding, maxSupportedTransactionVersion } = config;
      return encodeTransaction(record, encoding, maxSupportedTransactionVersion ?? null);
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
