import type { Pipeline } from '@flywheel/api';
import { airdrop, packActions, type SizeToken, toBaseUnits, toDecimal } from '@flywheel/sdk';
import { type Address, isAddress, isOffCurveAddress } from '@solana/kit';
import papaparse from 'papaparse';
import { digitsIssue } from './pipeline-draft.ts';

interface AirdropRow {
  /** In the file, counted from one; several where rows of one address were added up. */
  readonly lines: readonly number[];
  readonly address: string;
  readonly baseUnits: bigint;
}

export interface RowIssue {
  readonly line: number;
  readonly text: string;
}

/** What becomes of an address that is there more than once: added up, or each repetition is a fault. */
export type Duplicates = 'merge' | 'flag';

interface ReadOptions {
  readonly decimals: number;
  readonly duplicates: Duplicates;
}

export interface ReadCsv {
  readonly rows: readonly AirdropRow[];
  readonly issues: readonly RowIssue[];
  /** Addresses that were there more than once, and their lines. */
  readonly repeated: readonly { readonly address: string; readonly lines: readonly number[] }[];
  readonly totalBaseUnits: bigint;
}

interface Recipient {
  readonly lines: number[];
  baseUnits: bigint;
}

/** A fifth of a millisecond each: for more rows than this the check by the service, a moment later, must do. */
const MAX_CURVE_CHECKS = 2_000;

/** Reads rows of address and amount. A first row of names is skipped; every other row that is wrong is a fault. */
export function readCsv(text: string, { decimals, duplicates }: ReadOptions): ReadCsv {
  const { data } = papaparse.parse<string[]>(text.replace(/^\uFEFF/, ''), { skipEmptyLines: false });
  const checksCurve = data.length <= MAX_CURVE_CHECKS;
  const issues: RowIssue[] = [];
  const recipients = new Map<string, Recipient>();
  for (const [index, cells] of data.entries()) {
    const line = index + 1;
    const [address = '', amount = '', ...rest] = cells.map((cell) => cell.trim());
    if (address === '' && amount === '' && rest.every((cell) => cell === '')) continue;
    if (index === 0 && isHeader(address)) continue;
    const row = readRow({ address, amount, rest, decimals, checksCurve });
    if ('problem' in row) {
      issues.push({ line, text: row.problem });
      continue;
    }
    const known = recipients.get(address);
    if (known && duplicates === 'flag') issues.push({ line, text: `repeats the address of row ${known.lines[0]}.` });
    recipients.set(address, {
      lines: [...(known?.lines ?? []), line],
      baseUnits: (known?.baseUnits ?? 0n) + row.baseUnits,
    });
  }
  const rows = [...recipients].map(([address, recipient]) => ({ address, ...recipient }));
  const repeated = rows.filter(({ lines }) => lines.length > 1);
  return {
    rows,
    issues: [...issues, ...repeated.flatMap((row) => sumIssue(row, decimals))],
    repeated: repeated.map(({ address, lines }) => ({ address, lines })),
    totalBaseUnits: rows.reduce((sum, { baseUnits }) => sum + baseUnits, 0n),
  };
}

function isHeader(cell: string): boolean {
  return /^(address|wallet|recipient|to|to_?address|owner)$/i.test(cell);
}

interface RowInput {
  readonly address: string;
  readonly amount: string;
  readonly rest: readonly string[];
  readonly decimals: number;
  readonly checksCurve: boolean;
}

function readRow({
  address,
  amount,
  rest,
  decimals,
  checksCurve,
}: RowInput): { readonly baseUnits: bigint } | { readonly problem: string } {
  if (!isAddress(address)) return { problem: `“${address.slice(0, 50)}” is no address.` };
  if (checksCurve && !isWallet(address)) return { problem: 'is the address of a program’s account, not of a wallet.' };
  if (amount === '') return { problem: 'has no amount.' };
  if (rest.some((cell) => cell !== '')) {
    return { problem: `has ${rest.length + 2} cells; it takes address and amount.` };
  }
  const plain = amount.replaceAll(/[,_ ]/g, '');
  if (!/^\d+(\.\d+)?$/.test(plain)) return { problem: `“${amount.slice(0, 50)}” is no amount.` };
  const baseUnits = toBaseUnits(plain, decimals);
  if (baseUnits === null) return { problem: `${amount} has more fraction digits than the token’s ${decimals}.` };
  if (baseUnits === 0n) return { problem: 'airdrops nothing.' };
  const problem = digitsIssue(plain);
  return problem === null ? { baseUnits } : { problem };
}

function isWallet(address: Address): boolean {
  return !isOffCurveAddress(address);
}

/** Amounts that are fine by themselves may add up to one that no JSON number holds. */
function sumIssue({ lines: [line = 0, ...others], baseUnits }: AirdropRow, decimals: number): RowIssue[] {
  const problem = digitsIssue(toDecimal(baseUnits, decimals));
  return problem === null ? [] : [{ line, text: `and rows ${others.join(', ')}, added up: ${problem}` }];
}

interface PackRowsOptions {
  readonly type: string;
  readonly decimals: number;
  /** What each pipeline proves: the file, by its name and hash; the lines are added. */
  readonly source: Readonly<Record<string, string>>;
  readonly token: SizeToken;
}

/** Rows to as few pipelines as hold them, in order. Each one’s payload names the file and its lines. */
export function packRows(rows: readonly AirdropRow[], { type, decimals, source, token }: PackRowsOptions): Pipeline[] {
  return packActions(rows, {
    type,
    token,
    actionsOf: ({ address, baseUnits }) => [airdrop(address, toDecimal(baseUnits, decimals))],
    payloadOf: (packed) => ({ ...source, lines: packed.flatMap(({ lines }) => lines) }),
  });
}
