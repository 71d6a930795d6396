import type { BatchDetail } from '@flywheel/api';
import { decimalOf } from '@flywheel/protocol';
import { writeCsv } from '@flywheel/protocol/airdrop-csv';

interface ReceiptInput {
  readonly pipelines: BatchDetail['pipelines'];
  /** URL of a transaction in the explorer, or null. */
  readonly linkOf: (signature: string) => string | null;
}

const HEAD = ['address', 'amount', 'pipeline', 'state', 'transaction', 'explorer'];

/**
 * Writes a CSV (RFC 4180) with a row for each airdrop of a batch and its transaction. Amounts are whole tokens, exact;
 * a row that was not executed has no transaction.
 */
export function writeReceipt({ pipelines, linkOf }: ReceiptInput): string {
  const rows = pipelines.flatMap(({ actions, state, signature }, position) =>
    actions.flatMap((action) => {
      if (action.action !== 'AIRDROP') return [];
      const link = signature === undefined ? null : linkOf(signature);
      return [[action.toAddress, decimalOf(action.amount), String(position), state, signature ?? '', link ?? '']];
    }),
  );
  return writeCsv([HEAD, ...rows], '\r\n');
}
