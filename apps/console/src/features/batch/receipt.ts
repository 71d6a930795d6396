import type { BatchDetail } from '@flywheel/api';
import { decimalOf } from '@flywheel/sdk';

interface ReceiptInput {
  readonly pipelines: BatchDetail['pipelines'];
  /** Where a transaction can be seen. */
  readonly linkOf: (signature: string) => string | null;
}

const HEAD = ['address', 'amount', 'pipeline', 'state', 'transaction', 'explorer'];

/**
 * Every airdrop of a batch, a row each, with the transaction that made it: CSV as in RFC 4180. Amounts are whole tokens,
 * exact; a row that was not executed has no transaction.
 */
export function writeReceipt({ pipelines, linkOf }: ReceiptInput): string {
  const rows = pipelines.flatMap(({ actions, state, signature }, position) =>
    actions.flatMap((action) => {
      if (action.action !== 'AIRDROP') return [];
      const place = signature === undefined ? null : linkOf(signature);
      return [[action.toAddress, decimalOf(action.amount), String(position), state, signature ?? '', place ?? '']];
    }),
  );
  return [HEAD, ...rows].map((cells) => `${cells.map(quoted).join(',')}\r\n`).join('');
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
