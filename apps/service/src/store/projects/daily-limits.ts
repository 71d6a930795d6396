import { sql } from 'kysely';
import type { DailyTotals, Project } from '../../model/project.ts';
import type { Db } from '../db.ts';
import { prepare } from '../prepare.ts';

export interface ExceededLimit {
  readonly kind: 'burn' | 'airdrop';
  /** Base units used or reserved today before this request. */
  readonly usedBaseUnits: bigint;
}

/**
 * Reserves amounts of a project's day (UTC, `2026-11-21`), all or none. The guard on the row makes it exact for
 * simultaneous requests. A kind that is not requested cannot fail, even if its limit was lowered below its use.
 */
export async function reserveDailyAmounts(
  trx: Db,
  { id: projectId, dailyLimits }: Pick<Project, 'id' | 'dailyLimits'>,
  day: string,
  { burnBaseUnits, airdropBaseUnits }: DailyTotals,
): Promise<ExceededLimit | null> {
  const values = {
    ...{ projectId, day, burn: burnBaseUnits, airdrop: airdropBaseUnits },
    ...{ burnLimit: dailyLimits.burnBaseUnits, airdropLimit: dailyLimits.airdropBaseUnits },
  };
  const reserve = async () => (await addAmounts(trx, values)).length === 1;
  if (await reserve()) return null;

  // The day has no row before its first request.
  await trx
    .insertInto('daily_amounts')
    .values({ project_id: projectId, day })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  if (await reserve()) return null;

  const used = await trx
    .selectFrom('daily_amounts')
    .select(['burned', 'airdropped'])
    .where('project_id', '=', projectId)
    .where('day', '=', day)
    .executeTakeFirstOrThrow();
  const isBurn = burnBaseUnits > 0n && used.burned + burnBaseUnits > dailyLimits.burnBaseUnits;
  return isBurn ? { kind: 'burn', usedBaseUnits: used.burned } : { kind: 'airdrop', usedBaseUnits: used.airdropped };
}

/** Reads the amounts counted against a project's day so far. */
export async function findDailyAmounts(db: Db, projectId: string, day: string): Promise<DailyTotals> {
  const row = await db
    .selectFrom('daily_amounts')
    .select(['burned', 'airdropped'])
    .where('project_id', '=', projectId)
    .where('day', '=', day)
    .executeTakeFirst();
  return { burnBaseUnits: row?.burned ?? 0n, airdropBaseUnits: row?.airdropped ?? 0n };
}

/** Reads the amounts counted against a project's days since a day; days without use are omitted. */
export async function findDailyAmountsSince(
  db: Db,
  projectId: string,
  firstDay: string,
): Promise<ReadonlyMap<string, DailyTotals>> {
  const rows = await db
    .selectFrom('daily_amounts')
    .select(['day', 'burned', 'airdropped'])
    .where('project_id', '=', projectId)
    .where('day', '>=', firstDay)
    .execute();
  return new Map(
    rows.map(({ day, burned, airdropped }) => [day, { burnBaseUnits: burned, airdropBaseUnits: airdropped }]),
  );
}

/**
 * Adds up what a project has burned in batches whose end is final, in base units. Daily amounts hold what open batches have
 * reserved too, and an executed batch counts as open until no fork can undo it.
 */
export async function sumFinalBurns(db: Db, projectId: string): Promise<bigint> {
  const { burned } = await db
    .selectNoFrom((eb) => [
      sql<bigint>`
        coalesce(${eb
          .selectFrom('daily_amounts')
          .select(({ fn }) => fn.sum('burned').as('all'))
          .where('project_id', '=', projectId)}, 0)
        - coalesce(${eb
          .selectFrom('batches')
          .select(({ fn }) => fn.sum('burn_amount').as('open'))
          .where('project_id', '=', projectId)
          .where('end_finalized_at', 'is', null)}, 0)`.as('burned'),
    ])
    .executeTakeFirstOrThrow();
  return burned;
}

/**
 * Releases amounts that were reserved for a day. The row's constraint forbids a value below zero, so nothing is
 * released twice.
 */
export async function releaseDailyAmounts(
  trx: Db,
  projectId: string,
  day: string,
  { burnBaseUnits, airdropBaseUnits }: DailyTotals,
): Promise<void> {
  await trx
    .updateTable('daily_amounts')
    .set({
      burned: sql`burned - ${burnBaseUnits}::numeric`,
      airdropped: sql`airdropped - ${airdropBaseUnits}::numeric`,
    })
    .where('project_id', '=', projectId)
    .where('day', '=', day)
    .execute();
}

interface AskedOfDay {
  readonly projectId: string;
  readonly day: string;
  readonly burn: bigint;
  readonly burnLimit: bigint;
  readonly airdrop: bigint;
  readonly airdropLimit: bigint;
}

const addAmounts = prepare<AskedOfDay, unknown>(
  (_db, slot) => sql`
    update daily_amounts set burned = burned + ${slot('burn')}::numeric, airdropped = airdropped + ${slot('airdrop')}::numeric
    where project_id = ${slot('projectId')} and day = ${slot('day')}
      and (${slot('burn')}::numeric = 0 or burned + ${slot('burn')}::numeric <= ${slot('burnLimit')}::numeric)
      and (${slot('airdrop')}::numeric = 0 or airdropped + ${slot('airdrop')}::numeric <= ${slot('airdropLimit')}::numeric)
    returning project_id
  `,
);
