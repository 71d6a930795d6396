import type { Address } from '@solana/kit';
import papaparse from 'papaparse';
import { findWalletIssue, isAddress, NOT_A_TYPED_ADDRESS } from './addresses.ts';
import { findDigitsIssue, groupDigits, isPlainDecimal, toBaseUnits, toDecimal } from './amounts.ts';
import { describeReservedAddress } from './reserved-addresses.ts';

/** One recipient. */
export interface AirdropRow {
  /** Line numbers in the file, counted from 1; several if rows of one address were merged. */
  readonly lines: readonly number[];
  readonly address: Address;
  /** Whole tokens, plain decimal text. */
  readonly amount: string;
  readonly baseUnits: bigint;
}

/** An issue of one row. The message is a sentence, which stands after “Line 3: ”. */
export interface RowIssue {
  readonly line: number;
  readonly message: string;
}

/** Treatment of an address that occurs more than once: an issue, one row of the sum, or separate rows. */
export const DUPLICATES = ['refuse', 'merge', 'keep'] as const;
export type Duplicates = (typeof DUPLICATES)[number];

export interface ReadAirdropOptions {
  /** Decimals of the mint. */
  readonly decimals: number;
  readonly duplicates: Duplicates;
  /** A file with more rows is not checked for addresses that belong to a program; 0.2 ms each. No bound by default. */
  readonly maxCurveChecks?: number;
}

/** Result of `readAirdropCsv`. */
export interface AirdropCsv {
  readonly rows: readonly AirdropRow[];
  readonly issues: readonly RowIssue[];
  /** Addresses that occur more than once, with their line numbers. */
  readonly repeated: readonly { readonly address: Address; readonly lines: readonly number[] }[];
  /** Sum of `rows`. */
  readonly totalBaseUnits: bigint;
}

/**
 * Reads rows of address and amount (RFC 4180). An amount is digits with an optional decimal point. A heading in the
 * first row is skipped, and so are empty rows; every other deviation is an issue of its row. The delimiter is a comma,
 * or a semicolon or tab if the heading is separated by it.
 */
export function readAirdropCsv(csv: string, options: ReadAirdropOptions): AirdropCsv {
  const { decimals, duplicates, maxCurveChecks = Number.POSITIVE_INFINITY } = options;
  const records = parseCsv(csv);
  const checksCurve = records.length <= maxCurveChecks;
  const issues: RowIssue[] = [];
  const recipients: Recipient[] = [];
  const byAddress = new Map<Address, { readonly first: Recipient; readonly lines: number[] }>();
  for (const [index, { line, cells, quoteError }] of records.entries()) {
    if (cells.every((cell) => cell === '')) continue;
    if (index === 0 && isHeading(cells[0])) continue;
    const row = quoteError
      ? { issue: `The row is not valid CSV: ${quoteError}` }
      : readRow(cells, { decimals, checksCurve });
    if ('issue' in row) {
      issues.push({ line, message: row.issue });
      continue;
    }
    const recipient = { lines: [line], ...row };
    const known = byAddress.get(row.address);
    known?.lines.push(line);
    if (!known) byAddress.set(row.address, { first: recipient, lines: [line] });
    if (!known || duplicates === 'keep') {
      recipients.push(recipient);
    } else if (duplicates === 'merge') {
      known.first.lines.push(line);
      known.first.baseUnits += row.baseUnits;
    } else {
      issues.push({ line, message: `The address is already in line ${known.lines[0]}.` });
    }
  }
  const rows = recipients.map((recipient) => ({ ...recipient, amount: toDecimal(recipient.baseUnits, decimals) }));
  return {
    rows,
    issues: [...issues, ...rows.flatMap(sumIssues)],
    repeated: [...byAddress]
      .filter(([, { lines }]) => lines.length > 1)
      .map(([address, { lines }]) => ({ address, lines })),
    totalBaseUnits: rows.reduce((sum, { baseUnits }) => sum + baseUnits, 0n),
  };
}

/** Reads the cells of CSV text (RFC 4180), trimmed, without its empty last line. */
export function readCsvCells(csv: string): string[][] {
  return parseCsv(csv).map(({ cells }) => cells);
}

/** Reads the first cells of CSV text, such as addresses. A heading in the first row is skipped, and so are empty cells. */
export function readAddressColumn(csv: string): string[] {
  const column = readCsvCells(csv).flatMap(([first = '']) => (first === '' ? [] : [first]));
  return isHeading(column[0]) ? column.slice(1) : column;
}

/** Writes CSV rows (RFC 4180), each one ended. */
export function writeCsv(rows: readonly (readonly string[])[], newline: '\n' | '\r\n' = '\n'): string {
  return rows.map((cells) => papaparse.unparse([[...cells]], { newline }) + newline).join('');
}

interface Recipient {
  readonly lines: number[];
  readonly address: Address;
  baseUnits: bigint;
}

interface CsvRecord {
  /** Line on which the record starts, counted from 1. */
  readonly line: number;
  readonly cells: string[];
  /** The parser's message; null if the quotes are balanced. */
  readonly quoteError: string | null;
}

function parseCsv(csv: string): CsvRecord[] {
  const text = csv.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
  const { data, errors } = papaparse.parse<string[]>(text.replace(/\n$/, ''), {
    delimiter: delimiterOf(text),
    newline: '\n',
  });
  const quoteErrors = new Map(
    errors.filter(({ type }) => type === 'Quotes').map((error) => [error.row, error.message]),
  );
  let line = 1;
  return data.map((raw, row) => {
    const record = { line, cells: raw.map(trimCell), quoteError: quoteErrors.get(row) ?? null };
    // A quoted cell may contain line breaks.
    line += 1 + raw.join('').split('\n').length - 1;
    return record;
  });
}

/** Spreadsheets and people put spaces around quotes; then the parser keeps the quotes. */
function trimCell(cell: string): string {
  const [, quoted] = /^"((?:[^"]|"")*)"$/.exec(cell.trim()) ?? [];
  return quoted === undefined ? cell.trim() : quoted.replaceAll('""', '"').trim();
}

function delimiterOf(text: string): string {
  const [heading = ''] = text.split('\n', 1);
  return [';', '\t'].find((delimiter) => heading.includes(delimiter) && isHeading(heading.split(delimiter)[0])) ?? ',';
}

/** No address could look like one of these names. */
function isHeading(cell = ''): boolean {
  return /^\s*"?(address|wallet|recipient|to|to_?address|owner)"?\s*$/i.test(cell);
}

/** Characters of a wrong cell that an issue quotes: enough to find the cell. */
const MAX_QUOTED = 50;

function readRow(
  [address = '', amount = '', ...rest]: readonly string[],
  { decimals, checksCurve }: { readonly decimals: number; readonly checksCurve: boolean },
): { readonly address: Address; readonly baseUnits: bigint } | { readonly issue: string } {
  if (rest.some((cell) => cell !== '')) {
    return { issue: `The row has ${rest.length + 2} cells; it may have an address and an amount only.` };
  }
  if (!isAddress(address)) return { issue: `“${address.slice(0, MAX_QUOTED)}” ${NOT_A_TYPED_ADDRESS}` };
  const reserved = describeReservedAddress(address);
  if (reserved !== null) return { issue: `${address} is ${reserved}, not a wallet.` };
  const problem = checksCurve ? findWalletIssue(address) : null;
  if (problem !== null) return { issue: `${address} ${problem}` };
  if (!isPlainDecimal(amount)) {
    const given = amount === '' ? 'The amount is missing' : `“${amount.slice(0, MAX_QUOTED)}” is not an amount`;
    return { issue: `${given}: write digits with an optional decimal point, like 1500.25.` };
  }
  const baseUnits = toBaseUnits(amount, decimals);
  if (baseUnits === null) return { issue: `${amount} has more fraction digits than the token’s ${decimals}.` };
  if (baseUnits === 0n) return { issue: 'The amount is zero.' };
  const issue = digitsIssue(amount);
  return issue === null ? { address, baseUnits } : { issue };
}

/** Amounts that are exact by themselves may have a sum that a JSON number cannot carry. */
function sumIssues({ lines: [line = 0, ...others], amount }: AirdropRow): RowIssue[] {
  const issue = others.length === 0 ? null : digitsIssue(amount);
  return issue === null ? [] : [{ line, message: `With the amount of line ${others.join(', ')} added, ${issue}` }];
}

function digitsIssue(amount: string): string | null {
  const issue = findDigitsIssue(amount);
  return issue === null ? null : `${groupDigits(amount)} ${issue}`;
}
