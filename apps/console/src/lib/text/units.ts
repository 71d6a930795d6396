import { toBaseUnits, toDecimal } from '@flywheel/sdk';

/** Finer than any amount of the wire, so that amounts of whatever token are added and compared exactly. */
const FINEST_DECIMALS = 20;

/**
 * A decimal text as a whole number of its finest units: to be added to others, compared and shared, never shown.
 * @throws Error when the text is no decimal number.
 */
export function unitsOf(decimal: string): bigint {
  const units = toBaseUnits(decimal, FINEST_DECIMALS);
  if (units === null)
    throw new Error(`“${decimal}” is no decimal number of at most ${FINEST_DECIMALS} fraction digits.`);
  return units;
}

/** What such units come to, as decimal text. */
export function textOfUnits(units: bigint): string {
  return toDecimal(units, FINEST_DECIMALS);
}
