import type { Usage } from '@flywheel/api';
import { toDecimal } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Clock } from '../../model/clock.ts';
import { utcDay } from '../../model/clock.ts';
import type { Db } from '../../store/db.ts';
import { findDailyAmountsSince } from '../../store/projects/daily-limits.ts';
import { requireVisibleProject } from '../access.ts';

const MS_PER_DAY = 86_400_000;

/**
 * What was burned and airdropped on each of the last so many UTC days, today included, oldest first.
 * @throws ApiError ERR_PROJECT_NOT_FOUND
 */
export async function readUsage(
  deps: { readonly db: Db; readonly clock: Pick<Clock, 'now'>; readonly companyOperators: ReadonlySet<Address> },
  wallet: Address,
  projectId: string,
  dayCount: number,
): Promise<Usage> {
  const { token } = await requireVisibleProject(deps, wallet, projectId);
  const nowMs = deps.clock.now().getTime();
  const days = Array.from({ length: dayCount }, (_, i) => utcDay(new Date(nowMs - (dayCount - 1 - i) * MS_PER_DAY)));
  const amounts = await findDailyAmountsSince(deps.db, projectId, days[0] ?? utcDay(new Date(nowMs)));
  return {
    days: days.map((day) => {
      const { burnBaseUnits = 0n, airdropBaseUnits = 0n } = amounts.get(day) ?? {};
      return {
        day,
        burned: toDecimal(burnBaseUnits, token.decimals),
        airdropped: toDecimal(airdropBaseUnits, token.decimals),
      };
    }),
  };
}
