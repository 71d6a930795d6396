import type { Asset, ProjectOverview } from '@flywheel/api';
import { toBaseUnits, toDecimal } from '@flywheel/sdk';
import { SOL_DECIMALS, toSol } from '../../lib/text/amount.ts';

/** Of one asset in the vault. */
export interface Holding {
  readonly decimals: number;
  /** Decimal; null while the cluster does not answer. */
  readonly available: string | null;
  /** Base units that must stay, unless nothing does. */
  readonly least: bigint;
}

/** What the chain lets a vault hold at least: rent for its 128 bytes of metadata. */
const LEAST_LAMPORTS = 890_880n;

/** What can be taken out of a project’s vault; what is not known yet is null. */
export function holdingsOf({ funds, token }: ProjectOverview): Readonly<Record<Asset, Holding>> {
  const lamports = funds?.lamports.available;
  return {
    SOL: {
      decimals: SOL_DECIMALS,
      available: lamports === undefined ? null : toSol(lamports),
      least: LEAST_LAMPORTS,
    },
    TOKEN: { decimals: token.decimals, available: funds?.tokens.available ?? null, least: 0n },
  };
}

/** Why so much cannot be withdrawn, a sentence; null when it can, as far as this page knows. */
export function withdrawProblem(amount: string, { decimals, available, least }: Holding): string | null {
  if (!/^\d+(\.\d+)?$/.test(amount)) return 'A number, e.g. 10 or 0.5.';
  const asked = toBaseUnits(amount, decimals);
  if (asked === null) return `It has ${decimals} decimals; this has more.`;
  if (asked === 0n) return 'More than nothing.';
  const held = available === null ? null : toBaseUnits(available, decimals);
  if (held === null) return null;
  if (asked > held) return `The vault holds ${available}.`;
  const left = held - asked;
  if (left > 0n && left < least) {
    return `That leaves ${toDecimal(left, decimals)}. Leave ${toDecimal(least, decimals)} at least, or nothing.`;
  }
  return null;
}
