import { readFile } from 'node:fs/promises';
import { messageOf } from '@flywheel/protocol';
import { type AirdropRow, readCsvCells, writeCsv } from '@flywheel/protocol/airdrop-csv';
import { CliError } from '../../errors.ts';
import { writeWhole } from '../../files.ts';
import { describeKept, type RunState } from '../../run-state.ts';

/** The outcome of a row. */
export interface RowOutcome {
  /** The receipt’s word `waiting`: not sent, or not known yet. */
  readonly status: 'waiting' | 'executed' | 'failed';
  /** Signature of the transaction that paid the row; empty if none did. */
  readonly signature: string;
  readonly batchId: string;
}

export const PENDING: RowOutcome = { status: 'waiting', signature: '', batchId: '' };

const HEADINGS = ['line', 'address', 'amount', 'status', 'signature', 'batch'];

/**
 * Writes the outcome of every row; a crash leaves the old receipt or the new one, never a part.
 * @throws CliError `ERR_FILE`
 */
export function writeReceipt(path: string, rows: readonly AirdropRow[], outcomes: readonly RowOutcome[]): void {
  const records = rows.map((row, i) => {
    const { status, signature, batchId } = outcomes[i] ?? PENDING;
    return [row.lines.join(' '), row.address, row.amount, status, signature, batchId];
  });
  try {
    writeWhole(path, writeCsv([HEADINGS, ...records]));
  } catch (cause) {
    const message = `Cannot write the receipt ${path}: ${messageOf(cause)}. What is paid stays paid. Run the same command again: it pays nothing twice, and writes the receipt.`;
    throw new CliError('ERR_FILE', message, { cause, exitCode: 1 });
  }
}

/** The rows as a file that the command reads: it makes the same airdrop. */
export function rowsText(rows: readonly AirdropRow[]): string {
  return writeCsv([['address', 'amount'], ...rows.map(({ address, amount }) => [address, amount])]);
}

/** The record of an airdrop on this machine. */
export interface KnownAirdrop {
  readonly receiptFile: string;
  readonly state: RunState;
  /** Hash of the rows. */
  readonly content: string;
}

/**
 * Prevents a changed file from being sent as a whole new airdrop by accident: the receipt must list the same rows, or, if
 * it is lost, the state of the last command.
 * @throws CliError `ERR_FILE`.
 */
export async function requireSameRows(
  { receiptFile: path, state, content }: KnownAirdrop,
  rows: readonly AirdropRow[],
): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new CliError('ERR_FILE', `Cannot read the receipt ${path}: ${error.message}.`, { cause: error });
  });
  const record = state.read();
  if (text === null && (record === null || record.batchId === null || record.content === content)) return;
  const [, ...records] = readCsvCells(text ?? '');
  const isSame = ([, address, amount]: readonly string[], i: number) =>
    rows[i]?.address === address && rows[i]?.amount === amount;
  if (text !== null && records.length === rows.length && records.every(isSame)) return;
  throw new CliError(
    'ERR_FILE',
    `${path} is the receipt of other rows: the file has changed since it was sent. Sending it now would be a new airdrop that pays all of its rows. To do that, pass another --receipt; otherwise restore the file.${record === null ? '' : ` ${describeKept(state)}`}`,
  );
}
