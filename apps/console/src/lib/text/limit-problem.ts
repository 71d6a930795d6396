import { toBaseUnits } from '@flywheel/sdk';

/** Why a text cannot be a daily limit of a token with so many decimals, a sentence; null when it can. */
export function limitProblem(limit: string, decimals: number): string | null {
  if (!/^\d+(\.\d+)?$/.test(limit)) return 'A number of whole tokens, e.g. 1000 or 0.5.';
  return toBaseUnits(limit, decimals) === null ? `The token has ${decimals} decimals; this has more.` : null;
}
