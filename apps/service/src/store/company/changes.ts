import { ApprovalMode } from '@flywheel/api';
import {
  type CompanyPolicy,
  type CompanyTerms,
  fromPolicyJson,
  type PolicyJson,
  type SignedDecision,
  toPolicyJson,
} from '@flywheel/protocol';
import { type Address, isAddress } from '@solana/kit';
import { type Selectable, sql } from 'kysely';
import * as z from 'zod';
import { DamagedRecord } from '../damaged-record.ts';
import type { Db } from '../db.ts';
import type { Schema } from '../schema.ts';

/** A decision that an operator signed about terms, rules, a pause or an admission. HTTP processes write it; workers verify it. */
export interface SignedChange extends SignedDecision {
  readonly change: Change;
  readonly operator: Address;
  readonly nonce: string;
  readonly expiresAt: Date;
}

export type Change = TermsChange | Resumption | AdmissionChange | PolicyChange;

export interface TermsChange {
  readonly type: 'terms';
  readonly projectId: string;
  readonly from: CompanyTerms;
  readonly to: CompanyTerms;
}

export interface Resumption {
  readonly type: 'resume';
  /** Null for all projects. */
  readonly projectId: string | null;
  /** Start of the pause. */
  readonly pausedAt: Date;
}

export interface AdmissionChange {
  readonly type: 'admission';
  readonly projectId: string;
  /** Terms from the admission on; null withdraws the admission. */
  readonly terms: CompanyTerms | null;
}

export interface PolicyChange {
  readonly type: 'policy';
  readonly projectId: string;
  /** One more than the version that it replaces. */
  readonly version: number;
  readonly policy: CompanyPolicy;
}

/** Stores a change for a worker to review. Returns its id; null if its nonce or its signature was used before. */
export async function insertChange(trx: Db, signed: SignedChange, requestedAt: Date): Promise<bigint | null> {
  const inserted = await trx
    .insertInto('company_changes')
    .values({
      project_id: signed.change.projectId,
      ...toColumns(signed.change),
      operator: signed.operator,
      nonce: signed.nonce,
      expires_at: signed.expiresAt,
      signed_message: Buffer.from(signed.signedMessage),
      signature: Buffer.from(signed.signature),
      requested_at: requestedAt,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return inserted?.id ?? null;
}

/**
 * Finds a stored change that is sent again as it was, for example after a lost answer.
 * @returns its id; null if there is none, or if a later change or a later pause has taken its place.
 */
export async function findSentAgain(
  trx: Db,
  { change: { projectId: id }, operator, nonce, signedMessage, signature }: SignedChange,
): Promise<bigint | null> {
  const { rows } = await sql<{ id: bigint }>`
    select id from company_changes sent
    where project_id is not distinct from ${id}::uuid and operator = ${operator} and nonce = ${nonce}
      and signed_message = ${Buffer.from(signedMessage)} and signature = ${Buffer.from(signature)}
      and not exists (
        select from company_changes later join company_reviews on change_id = later.id
        where later.id > sent.id and later.project_id is not distinct from sent.project_id and issue is null
      )
      and not exists (select from projects where id = sent.project_id and paused_at > sent.paused_at)
      and not exists (select from company where sent.project_id is null and paused_at > sent.paused_at)
  `.execute(trx);
  return rows[0]?.id ?? null;
}

export interface UnreviewedChange extends SignedChange {
  readonly id: bigint;
}

/** A row that no decision of an operator gives: whoever may write for an HTTP process has written it. */
export interface DamagedChange {
  readonly id: bigint;
  readonly projectId: string | null;
  readonly operator: Address;
  readonly damage: DamagedRecord;
}

/** Lists the changes that no worker has reviewed, oldest first. */
export async function findUnreviewedChanges(db: Db): Promise<(UnreviewedChange | DamagedChange)[]> {
  const rows = await db
    .selectFrom('company_changes')
    .select(CHANGE_COLUMNS)
    .select(['id', 'operator', 'nonce', 'expires_at', 'signed_message', 'signature'])
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('company_reviews').select('change_id').whereRef('change_id', '=', 'company_changes.id'))),
    )
    .orderBy('id')
    .execute();
  return rows.map((row) => {
    const { id, operator, project_id: projectId } = row;
    const change = fromColumns(row);
    if (change instanceof DamagedRecord) return { id, projectId, operator, damage: change };
    return {
      id,
      change,
      operator,
      nonce: row.nonce,
      expiresAt: row.expires_at,
      signedMessage: row.signed_message,
      signature: row.signature,
    };
  });
}

/** The outcome of a review: a nonce that is used now, or the reason of a refusal. */
export type Review = { readonly nonce: string } | { readonly issue: string };

/** Stores the review of a change, once. Returns false if it was reviewed before, or if its nonce was used before. */
export async function insertReview(trx: Db, changeId: bigint, review: Review, now: Date): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto('company_reviews')
    .values({ change_id: changeId, nonce: null, issue: null, ...review, reviewed_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}

/**
 * Reads when the decision expires that a worker has applied last to the terms or the admission of a project; null if it has
 * applied none. Versions of rules have an order of their own.
 */
export async function findLastExpiry(db: Db, projectId: string): Promise<Date | null> {
  const row = await db
    .selectFrom('company_changes')
    .innerJoin('company_reviews', 'company_reviews.change_id', 'company_changes.id')
    .select((eb) => eb.fn.max('expires_at').as('expiresAt'))
    .where('project_id', '=', projectId)
    .where('paused_at', 'is', null)
    .where('policy', 'is', null)
    .where('issue', 'is', null)
    .executeTakeFirst();
  return row?.expiresAt ?? null;
}

/** Reads when a worker has last ended a pause of a project, or of all projects; null if none has. */
export async function findLastResumption(db: Db, projectId: string): Promise<Date | null> {
  const row = await db
    .selectFrom('company_changes')
    .innerJoin('company_reviews', 'company_reviews.change_id', 'company_changes.id')
    .select((eb) => eb.fn.max('reviewed_at').as('reviewedAt'))
    .where((eb) => eb.or([eb('project_id', '=', projectId), eb('project_id', 'is', null)]))
    .where('paused_at', 'is not', null)
    .where('issue', 'is', null)
    .executeTakeFirst();
  return row?.reviewedAt ?? null;
}

/** Reads the review of a change; null if no worker has reviewed it yet. */
export async function findReview(db: Db, changeId: bigint): Promise<{ readonly issue: string | null } | null> {
  const row = await db
    .selectFrom('company_reviews')
    .select('issue')
    .where('change_id', '=', changeId)
    .executeTakeFirst();
  return row ?? null;
}

/** Returns true if the company has admitted a project. A `Project` that was read has it too: `isAdmitted`. */
export async function isAdmitted(db: Db, multisig: Address): Promise<boolean> {
  const row = await db
    .selectFrom('company_admissions')
    .select('multisig')
    .where('multisig', '=', multisig)
    .executeTakeFirst();
  return row !== undefined;
}

/** Admits a project. Does nothing if it is admitted already. */
export async function insertAdmission(trx: Db, multisig: Address, admittedAt: Date): Promise<void> {
  await trx
    .insertInto('company_admissions')
    .values({ multisig, admitted_at: admittedAt })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Withdraws the admission of a project. */
export async function deleteAdmission(trx: Db, multisig: Address): Promise<void> {
  await trx.deleteFrom('company_admissions').where('multisig', '=', multisig).execute();
}

function toColumns(change: Change) {
  if (change.type === 'resume') return { paused_at: change.pausedAt };
  if (change.type === 'policy') {
    return { policy: JSON.stringify(toPolicyJson(change.policy)), policy_version: change.version };
  }
  if (change.type === 'admission') {
    const { terms } = change;
    return terms === null ? { admission: 'withdraw' as const } : { admission: 'admit' as const, ...toNewTerms(terms) };
  }
  const { from, to } = change;
  return {
    from_approval_mode: from.approvalMode,
    from_burn_limit: from.burnBaseUnits,
    from_airdrop_limit: from.airdropBaseUnits,
    ...toNewTerms(to),
  };
}

function toNewTerms({ approvalMode, burnBaseUnits, airdropBaseUnits }: CompanyTerms) {
  return { to_approval_mode: approvalMode, to_burn_limit: burnBaseUnits, to_airdrop_limit: airdropBaseUnits };
}

/** Columns of what was decided. */
const CHANGE_COLUMNS = [
  ...(['project_id', 'paused_at', 'admission', 'policy', 'policy_version'] as const),
  ...(['from_approval_mode', 'from_burn_limit', 'from_airdrop_limit'] as const),
  ...(['to_approval_mode', 'to_burn_limit', 'to_airdrop_limit'] as const),
] as const;

type ChangeRow = Pick<Selectable<Schema['company_changes']>, (typeof CHANGE_COLUMNS)[number]>;

const amount = z.string().regex(/^\d{1,40}$/);
const recipients = z.array(z.custom<Address>((value) => typeof value === 'string' && isAddress(value))).nullable();
const minute = z.int().min(0).max(1_439);

/** The JSON that `toPolicyJson` writes. */
const PolicyColumn: z.ZodType<PolicyJson> = z.strictObject({
  personPerBatch: amount.nullable(),
  personPerRecipient: amount.nullable(),
  personPerDay: amount.nullable(),
  twoOperatorsPerBatch: amount.nullable(),
  capPerRecipient: amount.nullable(),
  capsPerType: z.array(z.strictObject({ type: z.string(), baseUnits: amount })),
  newTokenAccounts: z.int().min(0).nullable(),
  allowed: recipients,
  denied: recipients.unwrap(),
  hours: z.strictObject({ from: minute, to: minute }).nullable(),
});

const projectId = z.string();

const PolicyColumns = z
  .object({ project_id: projectId, policy: PolicyColumn, policy_version: z.int() })
  .transform(({ project_id, policy_version: version, policy }): PolicyChange => {
    return { type: 'policy', projectId: project_id, version, policy: fromPolicyJson(policy) };
  });

const NewTerms = z.object({ to_approval_mode: ApprovalMode, to_burn_limit: z.bigint(), to_airdrop_limit: z.bigint() });

const AdmissionColumns = z
  .union([
    NewTerms.extend({ project_id: projectId, admission: z.literal('admit') }),
    z.object({ project_id: projectId, admission: z.literal('withdraw') }),
  ])
  .transform((row): AdmissionChange => {
    const terms = row.admission === 'admit' ? newTermsOf(row) : null;
    return { type: 'admission', projectId: row.project_id, terms };
  });

const ResumptionColumns = z
  .object({ project_id: projectId.nullable(), paused_at: z.date() })
  .transform((row): Resumption => ({ type: 'resume', projectId: row.project_id, pausedAt: row.paused_at }));

const TermsColumns = NewTerms.extend({
  project_id: projectId,
  from_approval_mode: ApprovalMode,
  from_burn_limit: z.bigint(),
  from_airdrop_limit: z.bigint(),
}).transform((row): TermsChange => {
  const from = {
    approvalMode: row.from_approval_mode,
    burnBaseUnits: row.from_burn_limit,
    airdropBaseUnits: row.from_airdrop_limit,
  };
  return { type: 'terms', projectId: row.project_id, from, to: newTermsOf(row) };
});

/** Parses what was decided. The constraints of the table do not make it whole: JSON may be any, and a project may be absent. */
function fromColumns(row: ChangeRow): Change | DamagedRecord {
  const { success, data, error } = columnsOf(row).safeParse(row);
  if (success) return data;
  const [issue] = error.issues;
  return new DamagedRecord('a change by the company', `${issue?.path.join('.')}: ${issue?.message}`);
}

function columnsOf({ policy, admission, paused_at }: ChangeRow): z.ZodType<Change> {
  if (policy !== null) return PolicyColumns;
  if (admission !== null) return AdmissionColumns;
  return paused_at === null ? TermsColumns : ResumptionColumns;
}

function newTermsOf(row: z.output<typeof NewTerms>): CompanyTerms {
  return {
    approvalMode: row.to_approval_mode,
    burnBaseUnits: row.to_burn_limit,
    airdropBaseUnits: row.to_airdrop_limit,
  };
}
