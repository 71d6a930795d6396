import { decimalFixedPoint, decimalFixedPointToString, rawDecimalFixedPoint } from '@solana/kit';
import { CliError } from './errors.ts';

/** Token amounts on chain are u64. */
const AMOUNT_BITS = 64;
export const SOL_DECIMALS = 9;

/**
 * Whole tokens (or SOL, with 9 decimals) as decimal text to base units (lamports), exactly.
 * @throws CliError `ERR_USAGE` when the text is no such number.
 */
export function parseAmount(text: string, decimals: number): bigint {
  try {
    const { raw } = decimalFixedPoint('unsigned', AMOUNT_BITS, decimals)(text);
    return raw;
  } catch (cause) {
    throw new CliError(
      'ERR_USAGE',
      `${text} is no amount: give a decimal number from 0 to ${formatAmount(2n ** BigInt(AMOUNT_BITS) - 1n, decimals)} with at most ${decimals} fraction digits.`,
      { cause },
    );
  }
}

/** Base units as whole tokens: `1500000n, 6` is `1.5`. */
export function formatAmount(baseUnits: bigint, decimals: number): string {
  return decimalFixedPointToString(rawDecimalFixedPoint('unsigned', AMOUNT_BITS, decimals)(baseUnits));
}
