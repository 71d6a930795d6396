import type { BatchKind } from '@flywheel/api';
import { type CompanyPolicy, fromPolicyJson, type PolicyJson } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { type RawBuilder, sql } from 'kysely';
import type { DailyTotals } from '../../model/project.ts';
import type { Db } from '../db.ts';
import { prepare, type Slots } from '../prepare.ts';
import type { OpenRotation } from './rotations.ts';

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

/** What batches hold of every cap. */
export interface HeldUse extends LamportsUse {
  /** Open batches of the asked kind, without those that are being cancelled because their key was revoked. */
  readonly batches: number;
  readonly pipelines: number;
  /** Amounts of open batches that count for the day. */
  readonly openTotals: DailyTotals;
}

/** Other batches of the asked kind that the project has. */
export interface KindUse {
  /** True if something of one of them is, or will be, on chain. */
  readonly hasExposedOfKind: boolean;
  /** True if none of them was created on the day. */
  readonly isFirstOfDay: boolean;
}

/** The use of all caps that a new batch is measured against. */
export interface CapUse extends KindUse {
  readonly project: HeldUse;
  /** The part of one API key; null if no key asks. */
  readonly key: KeyUse | null;
  /** The use of all projects that are not admitted, together; null for an admitted project. */
  readonly unadmitted: LamportsUse | null;
  readonly dailyLimits: DailyTotals;
  /** Amounts of the day that come back when the batches of revoked keys are cancelled. */
  readonly returningTotals: DailyTotals;
  /** The company's rules for the project; null if it has set none. */
  readonly policy: CompanyPolicy | null;
  readonly openRotation: OpenRotation | null;
}

export interface KeyUse extends HeldUse {
  readonly isRevoked: boolean;
  /** True if the project has another key that works and that neither replaces this one nor is replaced. */
  readonly hasOthers: boolean;
}

export interface CapQuestion {
  readonly projectId: string;
  readonly multisig: Address;
  readonly kind: BatchKind;
  /** The key that asks; null for the console. */
  readonly keyId: string | null;
  readonly isAdmitted: boolean;
  /** The UTC day, `2026-11-21`. */
  readonly day: string;
  readonly now: Date;
}

/**
 * Reads the use of all caps in one statement. An executed batch is open until its end is finalized, because a fork can make
 * the operator pay its rent again. The project's sums are exact while the caller holds the lock of its flywheel.
 */
export async function readCapUse(db: Db, question: CapQuestion): Promise<CapUse> {
  const { projectId, keyId, kind, isAdmitted } = question;
  const { ofPipelines, ofOthers } = isAdmitted ? CAP_USE.admitted : CAP_USE.unadmitted;
  const [row] = await (kind === 'pipelines' ? ofPipelines : ofOthers)(db, question);
  if (!row) throw new Error(`Project ${projectId} does not exist.`);
  return {
    project: {
      batches: row.batches,
      pipelines: row.pipelines,
      lockedLamports: row.locked,
      spentLamports: row.spent,
      openTotals: { burnBaseUnits: row.burned, airdropBaseUnits: row.airdropped },
    },
    key: keyId === null ? null : toKeyUse(row),
    unadmitted:
      row.pool_locked === null || row.pool_spent === null
        ? null
        : { lockedLamports: row.pool_locked, spentLamports: row.pool_spent },
    hasExposedOfKind: row.has_exposed_of_kind,
    isFirstOfDay: row.is_first_of_day,
    dailyLimits: { burnBaseUnits: row.burn_limit, airdropBaseUnits: row.airdrop_limit },
    returningTotals: { burnBaseUnits: row.returning_burned, airdropBaseUnits: row.returning_airdropped },
    policy: row.policy && fromPolicyJson(row.policy),
    openRotation: row.rotation_id === null ? null : { batchId: row.rotation_id, isReady: row.is_rotation_ready },
  };
}

/** Lock under which the use of the projects that are not admitted is read and added to. */
const UNADMITTED_LOCK = 0x63617073; // 'caps'

/**
 * Reads the use of all projects that are not admitted, under a lock until the transaction ends. Admitted projects never wait
 * for it.
 */
export async function lockUnadmittedUse(trx: Db, day: string): Promise<LamportsUse> {
  await sql`select pg_advisory_xact_lock(${UNADMITTED_LOCK})`.execute(trx);
  return readUnadmittedUse(trx, day);
}

export async function readUnadmittedUse(db: Db, day: string): Promise<LamportsUse> {
  const { rows } = await sql<{ locked: bigint; spent: bigint }>`${unadmittedUse(day)}`.execute(db);
  return toLamportsUse(rows);
}

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
  await sql`select pg_advisory_xact_lock(${UNADMITTED_SETUP_LOCK})`.execute(trx);
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
  if (!sums) throw new Error('Four sums are always one row.');
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

interface Sums<Prefix extends string> {
  readonly row: { readonly [Name in `${Prefix}${'batches' | 'pipelines'}`]: number } & {
    readonly [Name in `${Prefix}${'locked' | 'spent' | 'burned' | 'airdropped'}`]: bigint;
  };
}

type CapRow = Sums<''>['row'] &
  Sums<'key_'>['row'] & {
    readonly burn_limit: bigint;
    readonly airdrop_limit: bigint;
    readonly returning_burned: bigint;
    readonly returning_airdropped: bigint;
    readonly has_exposed_of_kind: boolean;
    readonly is_first_of_day: boolean;
    readonly is_revoked: boolean;
    readonly has_others: boolean;
    readonly pool_locked: bigint | null;
    readonly pool_spent: bigint | null;
    readonly policy: PolicyJson | null;
    readonly rotation_id: string | null;
    /** Null without a rotation. */
    readonly is_rotation_ready: boolean;
  };

function prepareCapUse({ isAdmitted, isPipelines }: { readonly isAdmitted: boolean; readonly isPipelines: boolean }) {
  return prepare<CapQuestion, CapRow>(
    (_db, slot) => sql`
      with held as (
        select kind = ${slot('kind')} as is_kind, key_id = ${slot('keyId')}::uuid as is_own,
          end_finalized_at is null and not ${isBeingCancelled} as is_open, ${isBeingCancelled} as is_being_cancelled,
          reserved_day = ${slot('day')}::date as is_today, pipeline_count, burn_amount, airdrop_amount, locked_lamports,
          reserved_lamports
        from batches
        where project_id = ${slot('projectId')} and (end_finalized_at is null or locked_lamports > 0 or reserved_lamports > 0)
      ), spending as (
        select key_id = ${slot('keyId')}::uuid as is_own, lamports
        from daily_spending where project_id = ${slot('projectId')} and day = ${slot('day')}
      )
      select projects.burn_limit, projects.airdrop_limit, whole.*, part.*, ${isPipelines ? sql`false` : isFirstOfDay(slot)} as is_first_of_day,
        keys.revoked_at is not null as is_revoked, coalesce(keys.has_others, false) as has_others,
        pool.locked as pool_locked, pool.spent as pool_spent,
        (select policy from company_policies where multisig = ${slot('multisig')} order by version desc limit 1) as policy,
        rotation.id as rotation_id, rotation.is_ready as is_rotation_ready
      from projects
      cross join (
        select coalesce(bool_or(is_kind and locked_lamports > 0), false) as has_exposed_of_kind, ${sumsOf('')},
          coalesce(sum(burn_amount) filter (where is_being_cancelled and is_today), 0) as returning_burned,
          coalesce(sum(airdrop_amount) filter (where is_being_cancelled and is_today), 0) as returning_airdropped
        from held
      ) as whole
      cross join (select ${sumsOf('key_')} from held where is_own) as part
      left join (
        select revoked_at, exists (
          select from api_keys as others
          where others.project_id = ${slot('projectId')} and others.id <> api_keys.id
            and others.id is distinct from api_keys.replaced_by and others.replaced_by is null
            and others.revoked_at is null and (others.expires_at is null or others.expires_at > ${slot('now')})
        ) as has_others
        from api_keys where id = ${slot('keyId')}::uuid
      ) as keys on true
      left join (${isAdmitted ? sql`select null::bigint as locked, null::bigint as spent` : unadmittedUse(slot('day'))}) as pool on true
      left join (
        select id, signed_tx is not null and company_decided_at is not null as is_ready from batches
        where project_id = ${slot('projectId')} and kind = 'rotation' and ended_at is null
      ) as rotation on true
      where projects.id = ${slot('projectId')}
    `,
  );
}

/** A statement for each question, because each is built once. */
const CAP_USE = {
  admitted: {
    ofPipelines: prepareCapUse({ isAdmitted: true, isPipelines: true }),
    ofOthers: prepareCapUse({ isAdmitted: true, isPipelines: false }),
  },
  unadmitted: {
    ofPipelines: prepareCapUse({ isAdmitted: false, isPipelines: true }),
    ofOthers: prepareCapUse({ isAdmitted: false, isPipelines: false }),
  },
};

/** The sums over the rows of `held`, and over all rows of `spending` or those of the key. */
function sumsOf(prefix: '' | 'key_'): RawBuilder<unknown> {
  const name = (column: string) => sql.ref(`${prefix}${column}`);
  return sql`
    count(*) filter (where is_kind and is_open)::int as ${name('batches')},
    coalesce(sum(pipeline_count) filter (where is_kind and is_open), 0)::int as ${name('pipelines')},
    coalesce(sum(burn_amount) filter (where is_open and is_today), 0) as ${name('burned')},
    coalesce(sum(airdrop_amount) filter (where is_open and is_today), 0) as ${name('airdropped')},
    coalesce(sum(locked_lamports), 0) as ${name('locked')},
    coalesce(sum(reserved_lamports), 0) + (
      select coalesce(sum(lamports), 0) from spending ${prefix === '' ? sql`` : sql`where is_own`}
    ) as ${name('spent')}
  `;
}

/** It matters for withdrawals and rotations only, of which there are few. */
function isFirstOfDay(slot: Slots<CapQuestion>): RawBuilder<unknown> {
  return sql`not exists (
    select from batches
    where project_id = ${slot('projectId')} and kind = ${slot('kind')} and reserved_day = ${slot('day')}::date
  )`;
}

/**
 * `batches` of the outer statement. The revocation of a key ends its batches that the wallet has not approved. A job does
 * that later if no node answers, and the project must be able to go on meanwhile.
 */
const isBeingCancelled = sql`(
  ended_at is null and signed_tx is null and execution_began_at is null
  and exists (select from api_keys where api_keys.id = batches.key_id and revoked_at is not null)
)`;

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

function unadmittedUse(day: string | RawBuilder<string>): RawBuilder<unknown> {
  return sql`
    select coalesce(sum(locked_lamports), 0) as locked,
      coalesce(sum(reserved_lamports), 0) + (
        select coalesce(sum(lamports), 0) from daily_spending where day = ${day} and not ${isAdmittedProject}
      ) as spent
    from batches
    where (locked_lamports > 0 or reserved_lamports > 0) and not ${isAdmittedFlywheel}
  `;
}

function toKeyUse(row: CapRow): KeyUse {
  return {
    batches: row.key_batches,
    pipelines: row.key_pipelines,
    lockedLamports: row.key_locked,
    spentLamports: row.key_spent,
    openTotals: { burnBaseUnits: row.key_burned, airdropBaseUnits: row.key_airdropped },
    isRevoked: row.is_revoked,
    hasOthers: row.has_others,
  };
}

function toLamportsUse([sums]: readonly { readonly locked: bigint; readonly spent: bigint }[]): LamportsUse {
  if (!sums) throw new Error('Two sums are always one row.');
  return { lockedLamports: sums.locked, spentLamports: sums.spent };
}
