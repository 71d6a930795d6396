import type { BatchKind } from '@flywheel/api';
import { type CompanyPolicy, fromPolicyJson, type PolicyJson } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import { type RawBuilder, sql } from 'kysely';
import type { DailyTotals } from '../../model/project.ts';
import {
  columnsOf,
  type DayUses,
  type DayUsesJson,
  fromDayUsesJson,
  type PolicyUse,
  selectDayUses,
  type UseColumns,
} from '../company/policy-uses.ts';
import type { Db } from '../db.ts';
import { prepare, type Slots } from '../prepare.ts';
import type { LamportsUse } from './exposure.ts';
import type { OpenRotation } from './rotations.ts';

/** The part of every cap that batches hold. */
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
  /** Rules that concern the batch; null if the company has set none. */
  readonly rules: RulesInForce | null;
  readonly openRotation: OpenRotation | null;
  /** The asked proofs that the project has used before, in lowercase hex. */
  readonly seenProofs: ReadonlySet<string>;
}

export interface RulesInForce {
  readonly policy: CompanyPolicy;
  /** The part of their caps that batches of the day have used. */
  readonly used: DayUses;
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
  /** Hashes of the batch's proofs in hex; none for withdrawals and rotations. */
  readonly proofHashes: readonly string[];
  /** The uses whose sums are read if the project has rules. */
  readonly uses: readonly PolicyUse[];
  /** The UTC day, `2026-11-21`. */
  readonly day: string;
  readonly now: Date;
}

/**
 * Reads the use of all caps, the rules of the company, and which proofs are not new, in one statement. An executed batch is open
 * until its end is finalized, because a fork can make the operator pay its rent again. The sums are exact while the caller holds
 * the lock of the project's flywheel.
 */
export async function readCapUse(db: Db, question: CapQuestion): Promise<CapUse> {
  const { projectId, keyId, kind, isAdmitted } = question;
  const proofs = question.proofHashes.map((hash) => Buffer.from(hash, 'hex'));
  const { ofPipelines, ofOthers } = isAdmitted ? CAP_USE.admitted : CAP_USE.unadmitted;
  const [row] = await (kind === 'pipelines' ? ofPipelines : ofOthers)(db, {
    ...question,
    ...columnsOf(question.uses),
    proofs,
  });
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
    rules: row.policy && row.day_uses && { policy: fromPolicyJson(row.policy), used: fromDayUsesJson(row.day_uses) },
    openRotation: row.rotation_id === null ? null : { batchId: row.rotation_id, isReady: row.is_rotation_ready },
    seenProofs: new Set(row.seen_proofs.map((hash) => Buffer.from(hash).toString('hex'))),
  };
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
    /** Null without a policy. */
    readonly day_uses: DayUsesJson | null;
    readonly rotation_id: string | null;
    /** Null without a rotation. */
    readonly is_rotation_ready: boolean;
    readonly seen_proofs: readonly Uint8Array[];
  };

interface CapValues extends Omit<CapQuestion, 'uses'>, UseColumns {
  readonly proofs: readonly Uint8Array[];
}

function prepareCapUse({ isAdmitted, isPipelines }: { readonly isAdmitted: boolean; readonly isPipelines: boolean }) {
  return prepare<CapValues, CapRow>(
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
        ${isPipelines ? rulesOf(slot) : sql`null as policy, null as day_uses`},
        rotation.id as rotation_id, rotation.is_ready as is_rotation_ready,
        array(
          select distinct proof_hash from pipelines
          where project_id = ${slot('projectId')} and proof_hash = any(${slot('proofs')}::bytea[])
        ) as seen_proofs
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
      left join (${isAdmitted ? sql`select null::bigint as locked, null::bigint as spent` : sql`select * from unadmitted_use(${slot('day')}::date)`}) as pool on true
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

/** Rules concern pipelines only. The sums are not looked up without rules. */
function rulesOf(slot: Slots<CapValues>): RawBuilder<unknown> {
  const columns = { kinds: slot('kinds'), subjects: slot('subjects') };
  const uses = selectDayUses({ projectId: slot('projectId'), day: slot('day'), exceptId: null, ...columns });
  const ofProject = sql`company_policies where multisig = ${slot('multisig')}`;
  return sql`
    (select policy from ${ofProject} order by version desc limit 1) as policy,
    case when exists (select from ${ofProject}) then ${uses} end as day_uses
  `;
}

/** It matters for withdrawals and rotations only, of which there are few. */
function isFirstOfDay(slot: Slots<CapValues>): RawBuilder<unknown> {
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
