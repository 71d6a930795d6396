import { toBaseUnits } from '@flywheel/sdk';
import { isAddress } from '@solana/kit';
import papaparse from 'papaparse';

export interface AirdropRow {
  /** In the file, counted from one; of the first one where duplicates were merged. */
  readonly line: number;
  readonly address: string;
  readonly baseUnits: bigint;
}

export interface RowFault {
  readonly line: number;
  readonly text: string;
}

export interface ReadCsv {
  readonly rows: readonly AirdropRow[];
  readonly faults: readonly RowFault[];
  /** Addresses that were there more than once, and the lines; their amounts are added up. */
  readonly merged: readonly { readonly address: string; readonly lines: readonly number[] }[];
  readonly totalBaseUnits: bigint;
}

/** The interface takes amounts of at most so many significant digits: more would not survive a JSON number. */
const MAX_SIGNIFICANT_DIGITS = 15;

/** Reads rows of address and amount. A first row of names is skipped; every other row that is wrong is a fault. */
export function readCsv(text: string, decimals: number): ReadCsv {
  const { data } = papaparse.parse<string[]>(text.replace(/^\uFEFF/, ''), { skipEmptyLines: false });
  const faults: RowFault[] = [];
  const linesByAddress = new Map<string, number[]>();
  const amounts = new Map<string, bigint>();
  for (const [index, cells] of data.entries()) {
    const line = index + 1;
    const [recipient = '', amount = '', ...rest] = cells.map((cell) => cell.trim());
    if (recipient === '' && amount === '') continue;
    if (index === 0 && isHeader(recipient)) continue;
    const problem = rowProblem(recipient, amount, rest, decimals);
    const baseUnits = problem === null ? toBaseUnits(plainAmount(amount), decimals) : null;
    if (problem !== null || baseUnits === null) {
      faults.push({ line, text: problem ?? 'is malformed.' });
      continue;
    }
    linesByAddress.set(recipient, [...(linesByAddress.get(recipient) ?? []), line]);
    amounts.set(recipient, (amounts.get(recipient) ?? 0n) + baseUnits);
  }
  const rows = [...amounts].map(([address, baseUnits]) => ({
    line: linesByAddress.get(address)?.[0] ?? 0,
    address,
    baseUnits,
  }));
  const merged = [...linesByAddress].flatMap(([address, lines]) => (lines.length > 1 ? [{ address, lines }] : []));
  return { rows, faults, merged, totalBaseUnits: rows.reduce((sum, { baseUnits }) => sum + baseUnits, 0n) };
}

function isHeader(cell: string): boolean {
  return /^(address|wallet|recipient|to|to_?address|owner)$/i.test(cell);
}

function plainAmount(amount: string): string {
  return amount.replaceAll(/[,_ ]/g, '');
}

function rowProblem(recipient: string, amount: string, rest: readonly string[], decimals: number): string | null {
  if (!isAddress(recipient)) return `“${recipient.slice(0, 50)}” is no address.`;
  if (amount === '') return 'has no amount.';
  if (rest.some((cell) => cell !== '')) return `has ${rest.length + 2} cells; it takes address and amount.`;
  const plain = plainAmount(amount);
  if (!/^\d+(\.\d+)?$/.test(plain)) return `“${amount.slice(0, 50)}” is no amount.`;
  const baseUnits = toBaseUnits(plain, decimals);
  if (baseUnits === null) return `${amount} has more fraction digits than the token’s ${decimals}.`;
  if (baseUnits === 0n) return 'airdrops nothing.';
  const digits = plain.replace('.', '').replace(/^0+/, '').replace(/0+$/, '');
  return digits.length > MAX_SIGNIFICANT_DIGITS ? `${amount} has more than ${MAX_SIGNIFICANT_DIGITS} digits.` : null;
}
