import { withSeparators } from '../../lib/text/amount.ts';

/** Amounts travel as JSON numbers; of more digits than this not every one would arrive as it was written. */
const MAX_SIGNIFICANT_DIGITS = 15;

/** Why an amount, plain decimal text, cannot be sent exactly; null when it can. */
export function digitsProblem(amount: string): string | null {
  const digits = amount
    .replace(/(\.\d*?)0+$/, '$1')
    .replace('.', '')
    .replace(/^0+/, '')
    .replace(/0+$/, '').length;
  if (digits <= MAX_SIGNIFICANT_DIGITS) return null;
  return `${withSeparators(amount)} has ${digits} significant digits; an amount takes ${MAX_SIGNIFICANT_DIGITS}.`;
}
