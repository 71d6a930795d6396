import { sql } from 'kysely';
import pg from 'pg';
import type { Db } from '../db.ts';
import { planOnce, prepare } from '../prepare.ts';

// The sums are read from the batches themselves, so that no counter can differ from them.

/** Upper bounds of what a batch puts at risk of the operator's lamports. */
export interface Exposure {
  /** Rent of its accounts and its nonce, which comes back when they are closed. */
  readonly lockedLamports: bigint;
  /** Fees and tips, which do not come back. */
  readonly spendLamports: bigint;
}

/** Lamports of the operator that batches have taken. */
export interface LamportsUse {
  /** Rent of batches of which something is, or will be, on chain. */
  readonly lockedLamports: bigint;
  /** Fees and tips of the day, and what unclosed batches may still spend. */
  readonly spentLamports: bigint;
}

/** Reads the use of all projects that are not admitted. */
export async function readUnadmittedUse(db: Db, day: string): Promise<LamportsUse> {
  const { rows } = await sql<{ locked: bigint; spent: bigint }>`select * from unadmitted_use(${day}::date)`.execute(db);
  return toLamportsUse(rows);
}

/**
 * Makes the commit of this transaction fail if all projects that are not admitted would then exceed the caps (migration 0048).
 * Their commits wait for each other; admitted projects never wait for them.
 */
export async function capUnadmittedUse(trx: Db, day: string, caps: LamportsUse): Promise<void> {
  const { lockedLamports, spentLamports } = caps;
  const texts = { day, locked: String(lockedLamports), spent: String(spentLamports) };
  await setUnadmittedCaps(trx, { caps: JSON.stringify(texts) });
}

const setUnadmittedCaps = prepare<{ readonly caps: string }, never>(
  (_db, slot) => sql`select set_config('flywheel.unadmitted_caps', ${slot('caps')}, true)`,
);

/** Use that a commit would have led to, and the caps that it exceeds. */
export interface CommitRefusal {
  readonly use: LamportsUse;
  readonly caps: LamportsUse;
}

/** Reads why a commit was refused; null if the error is another one. */
export function refusalOfCommit(error: unknown): CommitRefusal | null {
  if (!(error instanceof pg.DatabaseError) || error.code !== CAP_REACHED) return null;
  const { use, caps } = JSON.parse(error.detail ?? '');
  return { use: toUse(use), caps: toUse(caps) };
}

function toUse({ locked, spent }: { readonly locked: string; readonly spent: string }): LamportsUse {
  return { lockedLamports: BigInt(locked), spentLamports: BigInt(spent) };
}

/** SQLSTATE of migration 0048. */
const CAP_REACHED = 'FWCAP';

/** Reads the use of a project, or of all of them. */
export async function readLamportsUse(db: Db, day: string, projectId?: string): Promise<LamportsUse> {
  const { rows } = await sql<{ locked: bigint; spent: bigint }>`
    select coalesce(sum(locked_lamports), 0) as locked,
      coalesce(sum(reserved_lamports), 0) + (
        select coalesce(sum(lamports), 0) from daily_spending
        where day = ${day} ${projectId === undefined ? sql`` : sql`and project_id = ${projectId}`}
      ) as spent
    from batches
    where (locked_lamports > 0 or reserved_lamports > 0)
      ${projectId === undefined ? sql`` : sql`and project_id = ${projectId}`}
  `.execute(db);
  return toLamportsUse(rows);
}

/** What the setup of a batch is measured against, and what the batch itself still holds. */
export interface SetupUse {
  readonly begun: LamportsUse;
  readonly own: Exposure;
}

/** Lock under which the setup of a batch of a project that is not admitted is measured, and recorded as begun. */
const UNADMITTED_SETUP_LOCK = 0x73657475; // 'setu'

/**
 * Locks the setups of all projects that are not admitted until the transaction ends, so that they begin one after another.
 * Setups of one project follow each other anyway.
 */
export async function lockUnadmittedSetups(trx: Db): Promise<void> {
  await sql`select pg_advisory_xact_lock(${UNADMITTED_SETUP_LOCK}), ${planOnce}`.execute(trx);
}

/**
 * Reads the use of the other batches whose setup has begun, as workers have recorded it, with what was spent on the day: of
 * the batch's project, or for null of all projects that are not admitted.
 */
export async function readSetupUse(
  db: Db,
  { batchId, projectId, day }: { readonly batchId: string; readonly projectId: string | null; readonly day: string },
): Promise<SetupUse> {
  const counted = projectId === null ? sql`not ${isAdmittedFlywheel}` : sql`project_id = ${projectId}`;
  const spending = projectId === null ? sql`not ${isAdmittedProject}` : sql`project_id = ${projectId}`;
  const { rows } = await sql<{ locked: bigint; spent: bigint; own_locked: bigint; own_reserved: bigint }>`
    select coalesce(sum(locked_lamports) filter (where id <> ${batchId}), 0) as locked,
      coalesce(sum(reserved_lamports) filter (where id <> ${batchId}), 0) + (
        select coalesce(sum(lamports), 0) from daily_spending where day = ${day} and ${spending}
      ) as spent,
      coalesce(sum(locked_lamports) filter (where id = ${batchId}), 0) as own_locked,
      coalesce(sum(reserved_lamports) filter (where id = ${batchId}), 0) as own_reserved
    from batches
    where (locked_lamports > 0 or reserved_lamports > 0) and ${counted}
      and (
        id = ${batchId} or exists (select from bundles where batch_id = batches.id)
        or exists (
          select from flywheels join company_totals on company_totals.multisig = flywheels.multisig
          where flywheels.id = batches.flywheel_id and company_totals.batch_index = batches.batch_index
        )
      )
  `.execute(db);
  const [sums] = rows;
  if (!sums) throw new Error('The query of what other batches have taken answered no row.');
  return {
    begun: toLamportsUse(rows),
    own: { lockedLamports: sums.own_locked, spendLamports: sums.own_reserved },
  };
}

/**
 * Replaces what a batch locks and may spend by what a worker has computed, unless its setup has begun: an HTTP process has
 * written the row.
 */
export async function setExposure(db: Db, batchId: string, { lockedLamports, spendLamports }: Exposure): Promise<void> {
  await sql`
    update batches set locked_lamports = ${lockedLamports}, reserved_lamports = ${spendLamports}
    where id = ${batchId} and ended_at is null and not exists (select from bundles where batch_id = batches.id)
      and (locked_lamports, reserved_lamports) is distinct from (${lockedLamports}::bigint, ${spendLamports}::bigint)
  `.execute(db);
}

/** Charges lamports to the day of a batch's project and key, and takes them from what the batch may still spend. */
export async function chargeBatch(trx: Db, batchId: string, day: string, lamports: bigint): Promise<void> {
  if (lamports === 0n) return;
  await sql`
    with charged as (
      update batches set reserved_lamports = greatest(0, reserved_lamports - ${lamports}::bigint)
      where id = ${batchId}
      returning project_id, key_id
    )
    insert into daily_spending (project_id, key_id, day, lamports)
    select project_id, key_id, ${day}::date, ${lamports}::bigint from charged
    on conflict (project_id, day, key_id) do update set lamports = daily_spending.lamports + excluded.lamports
  `.execute(trx);
}

/** Lowers what an ended batch may still spend to what its closing may take. */
export async function limitReservation(db: Db, batchId: string, maxLamports: bigint): Promise<void> {
  await db
    .updateTable('batches')
    .set({ reserved_lamports: maxLamports })
    .where('id', '=', batchId)
    .where('reserved_lamports', '>', maxLamports)
    .execute();
}

/** Records that a batch locks nothing and spends nothing any more. @returns false if that was recorded before. */
export async function releaseExposure(trx: Db, batchId: string): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('batches')
    .set({ locked_lamports: 0n, reserved_lamports: 0n })
    .where('id', '=', batchId)
    .where((eb) => eb.or([eb('locked_lamports', '>', 0n), eb('reserved_lamports', '>', 0n)]))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** `batches` of the outer statement. */
const isAdmittedFlywheel = sql`exists (
  select from flywheels join company_admissions on company_admissions.multisig = flywheels.multisig
  where flywheels.id = batches.flywheel_id
)`;

/** `daily_spending` of the outer statement. */
const isAdmittedProject = sql`exists (
  select from flywheels join company_admissions on company_admissions.multisig = flywheels.multisig
  where flywheels.project_id = daily_spending.project_id and archived_at is null
)`;

function toLamportsUse([sums]: readonly { readonly locked: bigint; readonly spent: bigint }[]): LamportsUse {
  if (!sums) throw new Error('The query of what batches have taken answered no row.');
  return { lockedLamports: sums.locked, spentLamports: sums.spent };
}
