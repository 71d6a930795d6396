import { readFile, rename, writeFile } from 'node:fs/promises';
import { CliError } from '../../errors.ts';
import type { AirdropRow } from './rows.ts';
import { joinCells, splitCells } from './split-cells.ts';

/** What became of a row. */
export interface RowOutcome {
  /** `waiting`: not sent, or not known yet. */
  readonly status: 'waiting' | 'executed' | 'failed';
  /** Of the transaction that paid it. */
  readonly signature: string;
  readonly batchId: string;
}

export const WAITING: RowOutcome = { status: 'waiting', signature: '', batchId: '' };

const HEADINGS = ['line', 'address', 'amount', 'status', 'signature', 'batch'];

/** Writes every row and what became of it, whole or not at all. */
export async function writeReceipt(
  path: string,
  rows: readonly AirdropRow[],
  outcomes: readonly RowOutcome[],
): Promise<void> {
  const lines = rows.map((row, i) => {
    const { status, signature, batchId } = outcomes[i] ?? WAITING;
    return joinCells([row.lines.join(' '), row.address, row.amount, status, signature, batchId]);
  });
  const draft = `${path}.part`;
  await writeFile(draft, [joinCells(HEADINGS), ...lines].join(''));
  await rename(draft, path);
}

/**
 * Refuses to go on where the receipt is of other rows: the file was changed since, and every row of it would be sent
 * once more.
 * @throws CliError `ERR_FILE`.
 */
export async function requireSameRows(path: string, rows: readonly AirdropRow[]): Promise<void> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new CliError('ERR_FILE', `The receipt ${path} cannot be read: ${error.message}.`, { cause: error });
  });
  if (text === null) return;
  const [, ...lines] = text.trimEnd().split('\n').map(splitCells);
  const isSame = ([, address, amount]: readonly string[], i: number) =>
    rows[i]?.address === address && rows[i]?.amount === amount;
  if (lines.length === rows.length && lines.every(isSame)) return;
  throw new CliError(
    'ERR_FILE',
    `${path} is the receipt of other rows than these: the file was changed since it was sent. As it is now it is a new airdrop, of all its rows. If that is what you mean, name another --receipt; else put the file back as it was.`,
  );
}
