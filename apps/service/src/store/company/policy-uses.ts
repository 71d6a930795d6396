import type { Address } from '@solana/kit';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../db.ts';
import type { Slots } from '../prepare.ts';

/** The share of a batch in the cap of a recipient or a proof type, or a token account that the vault would pay for. */
export interface PolicyUse {
  readonly kind: 'recipient' | 'type' | 'token-account';
  /** The recipient's address, the type, or the token account's address. */
  readonly subject: string;
  /** Base units; 1 of a token account. */
  readonly amount: bigint;
}

/** The uses of all batches of a day. */
export interface DayUses {
  /** Sums by `useKey`, of the recipients, types and token accounts that were asked for. One that is missing is 0. */
  readonly uses: ReadonlyMap<string, bigint>;
  /** All token accounts of the day, each once, also if several batches count it. */
  readonly tokenAccounts: number;
  /** True if some of these token accounts were not looked up on chain. */
  readonly hasUnread: boolean;
}

const NO_USES: DayUses = { uses: new Map(), tokenAccounts: 0, hasUnread: false };

/** Key of a recipient, a type or a token account in the sums of a day. */
export function useKey({ kind, subject }: Pick<PolicyUse, 'kind' | 'subject'>): string {
  return `${kind} ${subject}`;
}

/** The batches of a project for which one day counts. */
export interface ProjectDay {
  readonly projectId: string;
  /** The UTC day, `2026-11-21`. */
  readonly day: string;
}

/** The uses that a new batch counts for the company's caps. */
export interface CountedUses {
  readonly uses: readonly PolicyUse[];
  /** True if its token accounts were looked up on chain, so that it counts those only that are missing. */
  readonly isRead: boolean;
}

/** Values of `insertUses`, by column. */
export interface CountedColumns extends UseColumns {
  readonly amounts: readonly string[];
  readonly is_read: boolean;
}

/** Returns the values of `insertUses`. */
export function toCountedColumns({ uses, isRead }: CountedUses): CountedColumns {
  return { ...columnsOf(uses), is_read: isRead };
}

/** The statement that counts a new batch. The triggers of `policy_uses` add it to the sums of its day. */
export function insertUses(
  slot: Slots<CountedColumns & Readonly<Record<'id' | 'project_id' | 'reserved_day', string>>>,
): RawBuilder<never> {
  const asked = unnestColumns({ kinds: slot('kinds'), subjects: slot('subjects'), amounts: slot('amounts') });
  return sql`
    insert into policy_uses (batch_id, project_id, day, kind, subject, amount, is_read)
    select ${slot('id')}::uuid, ${slot('project_id')}::uuid, ${slot('reserved_day')}::date, kind, subject, amount,
      ${slot('is_read')}::boolean or kind <> 'token-account'
    from ${asked}
  `;
}

/** Reads what the batches of a day have used, without one of them if `exceptId` names it. */
export async function findPolicyUses(
  db: Db,
  { projectId, day }: ProjectDay,
  uses: readonly PolicyUse[],
  exceptId: string | null = null,
): Promise<DayUses> {
  if (uses.length === 0) return NO_USES;
  const { kinds, subjects } = columnsOf(uses);
  const columns = { kinds: sql.val(kinds), subjects: sql.val(subjects) };
  const question = { projectId: sql.val(projectId), day: sql.val(day), exceptId, ...columns };
  const { rows } = await sql<{ uses: DayUsesJson }>`select ${selectDayUses(question)} as uses`.execute(db);
  const [row] = rows;
  return row === undefined ? NO_USES : fromDayUsesJson(row.uses);
}

/**
 * Lists the token accounts that the batches of a day count and that were not looked up on chain yet. A batch that a worker has
 * checked has none.
 */
export async function findUnreadTokenAccounts(
  db: Db,
  { projectId, day }: ProjectDay,
  limit: number,
): Promise<Address[]> {
  const { rows } = await sql<{ address: Address }>`
    select distinct subject as address from policy_uses
    where project_id = ${projectId} and day = ${day} and kind = 'token-account' and not is_read
    limit ${limit}
  `.execute(db);
  return rows.map(({ address }) => address);
}

/**
 * Records that token accounts were looked up for the batches of a day which count them unread, and no longer counts those that
 * exist. Rows of a batch that ends at this moment are left to it.
 * @returns the number of rows that were unread.
 */
export async function recordReadTokenAccounts(
  db: Db,
  { projectId, day }: ProjectDay,
  { read, missing }: { readonly read: readonly Address[]; readonly missing: readonly Address[] },
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update policy_uses set is_read = true, amount = case when uses.subject = any(${missing}::text[]) then policy_uses.amount else 0 end
    from (
      select batch_id, subject from policy_uses
      where project_id = ${projectId} and day = ${day} and kind = 'token-account' and not is_read
        and subject = any(${read}::text[])
      order by batch_id, subject for no key update skip locked
    ) as uses
    where policy_uses.batch_id = uses.batch_id and policy_uses.kind = 'token-account' and policy_uses.subject = uses.subject
  `.execute(db);
  return Number(numAffectedRows);
}

/** Records which token accounts of a batch a worker's check has found missing, and no longer counts the others at init's day. */
export async function recordCheckedTokenAccounts(trx: Db, batchId: string, missing: readonly Address[]): Promise<void> {
  await sql`
    update policy_uses set is_read = true, amount = case when subject = any(${missing}::text[]) then amount else 0 end
    where batch_id = ${batchId} and kind = 'token-account' and not is_read
  `.execute(trx);
}

/** Lists the token accounts that a batch would create: those that init has counted, and those that a worker's check found. */
export async function findNewTokenAccounts(db: Db, batchId: string): Promise<Address[]> {
  const { rows } = await sql<{ address: Address }>`
    select subject as address from policy_uses where batch_id = ${batchId} and kind = 'token-account' and amount > 0
    union
    select token_account from created_token_accounts where batch_id = ${batchId} and created_at is null
  `.execute(db);
  return rows.map(({ address }) => address);
}

/** Gives back what a batch has counted and not executed. Does nothing for a batch, or a token account, that was not counted. */
export async function releasePolicyUses(trx: Db, batchId: string, uses: readonly PolicyUse[]): Promise<void> {
  if (uses.length === 0) return;
  await sql`
    update policy_uses set amount = case
      when policy_uses.kind = 'token-account' then 0 else policy_uses.amount - asked.amount
    end, is_read = true
    from ${unnestUses(uses)}
    where policy_uses.batch_id = ${batchId} and policy_uses.kind = asked.kind and policy_uses.subject = asked.subject
  `.execute(trx);
}

/** The share of an earlier batch of a day in caps. */
export interface EarlierUses extends Pick<ProjectDay, 'day'> {
  readonly batchId: string;
  readonly uses: readonly PolicyUse[];
}

/** Counts batches that were created before a cap was. What is counted already stays as it is. */
export async function countEarlierUses(trx: Db, projectId: string, batches: readonly EarlierUses[]): Promise<void> {
  const rows = batches.flatMap(({ batchId, day, uses }) => uses.map((use) => ({ batchId, day, ...use })));
  if (rows.length === 0) return;
  await sql`
    insert into policy_uses (batch_id, project_id, day, kind, subject, amount)
    select batch_id, ${projectId}::uuid, day, kind, subject, amount from unnest(
      ${rows.map(({ batchId }) => batchId)}::uuid[], ${rows.map(({ day }) => day)}::date[],
      ${rows.map(({ kind }) => kind)}::text[], ${rows.map(({ subject }) => subject)}::text[],
      ${rows.map(({ amount }) => String(amount))}::numeric[]
    ) as earlier (batch_id, day, kind, subject, amount)
    on conflict do nothing
  `.execute(trx);
}

/**
 * Counts the token accounts that the vault has paid for since a day began, and those that batches which a worker has checked are
 * about to create. Locks the batches, so that none ends meanwhile without giving back what is counted here.
 */
export async function countEarlierTokenAccounts(trx: Db, { projectId, day }: ProjectDay): Promise<void> {
  const start = new Date(`${day}T00:00:00Z`);
  await sql`
    insert into policy_uses (batch_id, project_id, day, kind, subject, amount)
    select batches.id, ${projectId}::uuid, ${day}::date, 'token-account', created.token_account, 1
    from batches join created_token_accounts as created on created.batch_id = batches.id
    where batches.project_id = ${projectId} and batches.kind = 'pipelines'
      and (batches.ended_at is null or batches.ended_at >= ${start})
      and (created.created_at >= ${start} or (created.created_at is null and batches.ended_at is null))
    order by batches.batch_index
    for no key update of batches
    on conflict do nothing
  `.execute(trx);
}

/** Deletes what batches used of the caps of days before `day`, as init and as workers have counted it. */
export async function deleteOldUses(db: Db, day: string): Promise<void> {
  while ((await deleteSomeUses(db, day)) === DELETED_AT_ONCE);
  // After the rows that they sum up, whose deletion is taken from them.
  await db.deleteFrom('policy_sums').where('day', '<', day).execute();
  await db.deleteFrom('company_uses').where('day', '<', day).execute();
}

/** The sums follow each row. A statement that deletes this many takes a fraction of a second; one for all may take too long. */
const DELETED_AT_ONCE = 10_000;

/** Deletes the uses of days before `day`, at most `DELETED_AT_ONCE`. @returns the number deleted. */
async function deleteSomeUses(db: Db, day: string): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from policy_uses where ctid = any(array(
      select ctid from policy_uses where day < ${day}::date order by day, project_id limit ${DELETED_AT_ONCE}
    ))
  `.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** Rows `asked (kind, subject, amount)`. The arrays keep the statement the same for every number of them. */
export function unnestUses(uses: readonly PolicyUse[]): RawBuilder<unknown> {
  const { kinds, subjects, amounts } = columnsOf(uses);
  return unnestColumns({ kinds: sql.val(kinds), subjects: sql.val(subjects), amounts: sql.val(amounts) });
}

/** Recipients, types and token accounts by column, in one order. */
export interface UseColumns {
  readonly kinds: readonly string[];
  readonly subjects: readonly string[];
}

/** Returns uses by column. */
export function columnsOf(uses: readonly PolicyUse[]): UseColumns & Pick<CountedColumns, 'amounts'> {
  return {
    kinds: uses.map(({ kind }) => kind),
    subjects: uses.map(({ subject }) => subject),
    amounts: uses.map(({ amount }) => String(amount)),
  };
}

type Column = RawBuilder<readonly string[]>;

function unnestColumns({ kinds, subjects, amounts }: Readonly<Record<'kinds' | 'subjects' | 'amounts', Column>>) {
  return sql`unnest(${kinds}::text[], ${subjects}::text[], ${amounts}::numeric[]) as asked (kind, subject, amount)`;
}

/** The recipients, types and token accounts whose sums are read, and those of which project and day. */
interface UseQuestion extends Readonly<Record<'kinds' | 'subjects', Column>> {
  readonly projectId: RawBuilder<string>;
  readonly day: RawBuilder<string>;
  /** A batch that does not count. */
  readonly exceptId: string | null;
}

/** `DayUses` as PostgreSQL writes them; amounts are text. */
export interface DayUsesJson {
  /** Null if all sums are 0. */
  readonly uses: Readonly<Record<string, string>> | null;
  readonly tokenAccounts: number;
  readonly hasUnread: boolean;
}

/**
 * One value, a `DayUsesJson`. Looks each subject up. A batch that does not count is taken from the sums, and with it the token
 * accounts of no other one.
 */
export function selectDayUses({ projectId, day, exceptId, kinds, subjects }: UseQuestion): RawBuilder<DayUsesJson> {
  const ofDay = (rows: string) =>
    sql`${sql.ref(`${rows}.project_id`)} = ${projectId}::uuid and ${sql.ref(`${rows}.day`)} = ${day}::date`;
  const own =
    exceptId === null
      ? sql``
      : sql` - coalesce((
    select amount from policy_uses own
    where own.batch_id = ${exceptId}::uuid and ${ofDay('own')} and own.kind = asked.kind and own.subject = asked.subject
  ), 0)`;
  const ownTokenAccounts =
    exceptId === null
      ? sql``
      : sql` - (
    select count(*) from policy_uses own join policy_sums sums on ${ofDay('sums')}
      and sums.kind = own.kind and sums.subject = own.subject and sums.amount = own.amount
    where own.batch_id = ${exceptId}::uuid and ${ofDay('own')} and own.kind = 'token-account' and own.amount > 0
  )`;
  return sql`(
    select json_build_object(
      'uses', (
        select json_object_agg(key, used::text) from (
          select asked.kind || ' ' || asked.subject as key, coalesce((
            select amount from policy_sums sums
            where ${ofDay('sums')} and sums.kind = asked.kind and sums.subject = asked.subject
          ), 0)${own} as used
          from unnest(${kinds}::text[], ${subjects}::text[]) as asked (kind, subject)
        ) as sums where used <> 0
      ),
      'tokenAccounts', coalesce((
        select amount from policy_sums sums where ${ofDay('sums')} and sums.kind = 'token-accounts' and sums.subject = ''
      ), 0)${ownTokenAccounts},
      'hasUnread', exists (select from policy_uses unread where ${ofDay('unread')} and not unread.is_read)
    )
  )`;
}

/** Reads the value of `selectDayUses`. */
export function fromDayUsesJson({ uses, ...counted }: DayUsesJson): DayUses {
  const sums = Object.entries(uses ?? {}).map(([key, amount]) => [key, BigInt(amount)] as const);
  return { uses: new Map(sums), ...counted };
}
