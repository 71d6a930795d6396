import { airdrop, toBaseUnits, toDecimal } from '@flywheel/sdk';
import { isAddress, isOffCurveAddress } from '@solana/kit';
import { splitCells } from './split-cells.ts';

/** One recipient. */
export interface AirdropRow {
  /** In the file, counted from one; several where rows of one address were added up. */
  readonly lines: readonly number[];
  readonly address: string;
  /** Whole tokens, plain decimal text. */
  readonly amount: string;
}

export interface RowFault {
  readonly line: number;
  readonly message: string;
}

/** What becomes of an address that is there more than once. */
export const DUPLICATES = ['refuse', 'merge', 'keep'] as const;
export type Duplicates = (typeof DUPLICATES)[number];

export interface ReadRows {
  readonly rows: readonly AirdropRow[];
  readonly faults: readonly RowFault[];
  readonly totalBaseUnits: bigint;
}

interface ReadOptions {
  readonly decimals: number;
  readonly duplicates: Duplicates;
}

/** Reads rows of address and amount. A first row of names is skipped, empty rows too; all else that is wrong is a fault. */
export function readRows(csv: string, { decimals, duplicates }: ReadOptions): ReadRows {
  const faults: RowFault[] = [];
  const rows: Recipient[] = [];
  const byAddress = new Map<string, Recipient>();
  for (const [index, text] of csv
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const line = index + 1;
    if (text.trim() === '') continue;
    const cells = splitCells(text);
    if (index === 0 && isHeading(cells)) continue;
    const read = readRow(cells, decimals);
    if ('fault' in read) {
      faults.push({ line, message: read.fault });
      continue;
    }
    const known = byAddress.get(read.address);
    if (known && duplicates === 'refuse') {
      const message = `repeats the address of line ${known.lines[0]}. Add them up with --duplicates merge, or --duplicates keep.`;
      faults.push({ line, message });
    } else if (known && duplicates === 'merge') {
      known.lines.push(line);
      known.baseUnits += read.baseUnits;
    } else {
      const recipient = { lines: [line], ...read };
      rows.push(recipient);
      byAddress.set(read.address, recipient);
    }
  }
  const finished = rows.map(({ lines, address, baseUnits }) => ({
    lines,
    address,
    amount: toDecimal(baseUnits, decimals),
  }));
  return {
    rows: finished,
    faults: [...faults, ...finished.flatMap(sumFaults)],
    totalBaseUnits: rows.reduce((sum, { baseUnits }) => sum + baseUnits, 0n),
  };
}

interface Recipient {
  readonly lines: number[];
  readonly address: string;
  baseUnits: bigint;
}

/** A row of names: its first cell could be no address whatever it said. */
function isHeading([first = '']: readonly string[]): boolean {
  return /^(address|wallet|recipient|to|to_?address|owner)$/i.test(first);
}

function readRow(
  [address = '', amount = '', ...rest]: readonly string[],
  decimals: number,
): { readonly address: string; readonly baseUnits: bigint } | { readonly fault: string } {
  if (rest.some((cell) => cell !== '')) return { fault: `has ${rest.length + 2} cells; it takes address,amount.` };
  if (!isAddress(address)) return { fault: `“${shown(address)}” is no base58 address of 32 bytes.` };
  if (isOffCurveAddress(address)) return { fault: `${address} belongs to a program, not to a wallet.` };
  if (!/^\d+(\.\d+)?$/.test(amount)) {
    return { fault: `“${shown(amount)}” is no amount: write whole tokens plainly, like 1500.25.` };
  }
  const baseUnits = toBaseUnits(amount, decimals);
  if (baseUnits === null) return { fault: `${amount} has more fraction digits than the token’s ${decimals}.` };
  const fault = amountFault(address, amount);
  return fault === null ? { address, baseUnits } : { fault };
}

/** Amounts that are fine by themselves may add up to one that no JSON number carries. */
function sumFaults({ lines: [line = 0, ...others], address, amount }: AirdropRow): RowFault[] {
  const fault = others.length === 0 ? null : amountFault(address, amount);
  return fault === null ? [] : [{ line, message: `added to line ${others.join(', ')}: ${fault}` }];
}

/** What the SDK has against it; null when nothing. */
function amountFault(address: string, amount: string): string | null {
  try {
    airdrop(address, amount);
    return null;
  } catch (error) {
    if (error instanceof RangeError) return error.message;
    throw error;
  }
}

/** Enough of a cell to find it by. */
function shown(cell: string): string {
  return cell.slice(0, 50);
}
