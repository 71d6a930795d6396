import { ApiError, type LimitsRequest } from '@flywheel/api';
import { parseAmount, toDecimal } from '@flywheel/protocol';
import type { DailyTotals } from '../../model/project.ts';

/**
 * Limits as a person typed them, exactly.
 * @throws ApiError ERR_INVALID_REQUEST for more fraction digits than the mint has, or more than an account can hold.
 */
export function parseLimits({ burnLimit, airdropLimit }: LimitsRequest, decimals: number): DailyTotals {
  return {
    burnBaseUnits: parseLimit('burnLimit', burnLimit, decimals),
    airdropBaseUnits: parseLimit('airdropLimit', airdropLimit, decimals),
  };
}

/** Daily limits as whole tokens. */
export function presentLimits({ burnBaseUnits, airdropBaseUnits }: DailyTotals, decimals: number): LimitsRequest {
  return { burnLimit: toDecimal(burnBaseUnits, decimals), airdropLimit: toDecimal(airdropBaseUnits, decimals) };
}

function parseLimit(field: keyof LimitsRequest, limitTokens: string, decimals: number): bigint {
  try {
    return parseAmount(limitTokens, decimals);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new ApiError('ERR_INVALID_REQUEST', { place: `body.${field}`, problem: cause.message }, { cause });
  }
}
