import type { Pipeline } from '@flywheel/api';
import { sha256Hex } from '@flywheel/protocol';
import { type ReadAirdropOptions, readAirdropCsv } from '@flywheel/protocol/airdrop-csv';
import { airdrop, packActions } from './pipelines.ts';

// An entry of its own: the parser of CSV is not for those who do not read files.
export {
  type AirdropCsv,
  type AirdropRow,
  type Duplicates,
  type ReadAirdropOptions,
  type RowIssue,
  readAirdropCsv,
} from '@flywheel/protocol/airdrop-csv';

/** Options of `packAirdropCsv`. `duplicates` is `refuse` by default. */
export interface PackAirdropOptions
  extends Omit<ReadAirdropOptions, 'duplicates'>,
    Partial<Pick<ReadAirdropOptions, 'duplicates'>> {
  /** Type of every pipeline. */
  readonly type: string;
}

/**
 * Packs a CSV file of recipients into as few pipelines as possible, in order. Each payload has the SHA-256 of the file, as
 * UTF-8 and in lowercase hex, and the numbers of its lines: an equal file gives equal pipelines, which `runBatches` pays once.
 * @param options as for `readAirdropCsv`; a repeated address is an issue by default.
 * @throws RangeError that lists every row with an issue, a line each.
 *
 * @example
 * const pipelines = await packAirdropCsv('12Zg…,1.25\n', { type: 'SEASON_1', decimals: 6 });
 */
export async function packAirdropCsv(
  csv: string,
  { type, duplicates = 'refuse', ...options }: PackAirdropOptions,
): Promise<Pipeline[]> {
  const { rows, issues } = readAirdropCsv(csv, { ...options, duplicates });
  if (issues.length > 0) throw new RangeError(issues.map(({ line, message }) => `Line ${line}: ${message}`).join('\n'));
  const sha256 = sha256Hex(csv);
  return packActions(rows, {
    type,
    actionsOf: ({ address, amount }) => [airdrop(address, amount)],
    payloadOf: (packed) => ({ sha256, lines: packed.flatMap(({ lines }) => lines) }),
  });
}
