import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { Db } from '../db.ts';
import { isOf } from '../jobs/lanes.ts';
import { BELONGINGS, type Belonging, type NamedProject, type Rest, readColumns } from './belongings.ts';
import { storeRows } from './stored-rows.ts';

export interface Shards {
  readonly from: Db;
  readonly to: Db;
}

/**
 * The source has settled batches that the destination does not have any more: its database was restored, or somebody
 * removed them.
 */
export class CopiesMissing extends Error {
  override readonly name = 'CopiesMissing';
  constructor() {
    super('The destination has not all batches that were copied.');
  }
}

/** Rows of settled batches, those first that others refer to. */
const PAST = BELONGINGS.filter(({ isPast }) => isPast);

/** Later passes copy what was settled during the one before. What the last one finds unsettled moves with the project. */
const MAX_PASSES = 5;
const FEW_BATCHES = 50;

/**
 * Copies the settled batches of a project into the destination while both shards work. A settled batch does not change.
 * Its rows and those that belong to it are copied by one transaction, and compared by their numbers and by the row of
 * the batch: a copy that is there stays, one that differs is replaced. So an interrupted copy is continued, and a
 * transaction is short however long the past.
 * @param onCopied is called after each transaction that has copied something.
 * @returns the batches that are not copied.
 */
export async function copyPast(shards: Shards, project: NamedProject, onCopied: () => Promise<void>): Promise<Rest> {
  await copyOwner(shards, project);
  for (let pass = 1; ; pass += 1) {
    const indices: bigint[] = [];
    let copied = 0;
    let above = -1n;
    for (;;) {
      const page = await copyPage(shards, project, above, onCopied);
      if (page === null) break;
      indices.push(...page.unsettled);
      copied += page.copied;
      above = page.last;
    }
    if (copied > FEW_BATCHES && pass < MAX_PASSES) continue;
    return { indices: [...indices, ...(await findTotalsWithoutBatch(shards.from, project, above))], above };
  }
}

/** Finds the batches that `copyPast` would leave out now. */
export async function findUnsettled(db: Db, project: NamedProject): Promise<Rest> {
  const { rows } = await sql<{ index: bigint; isSettled: boolean }>`
    select batch_index as index, ${isSettled(project)} as "isSettled" from batches page
    where project_id = ${project.projectId} order by batch_index
  `.execute(db);
  return {
    indices: indicesOf(rows.filter(({ isSettled: settled }) => !settled)),
    above: rows.at(-1)?.index ?? -1n,
  };
}

/** Returns true if the destination has as many batches of a project as the source, where only settled ones are left. */
export async function hasWholePast({ from, to }: Shards, projectId: string): Promise<boolean> {
  const [left, there] = [await countBatches(from, projectId), await countBatches(to, projectId)];
  return left === there;
}

/**
 * Takes a lock, until the transaction ends, so that only one process at a time copies, removes or takes over a project’s past.
 */
export async function lockPast(trx: Db, projectId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${PAST_LOCK}, hashtext(${projectId}))`.execute(trx);
}

const PAST_LOCK = 0x70617374; // 'past'

/** Removes the batches of a project that is not in this database, with short transactions. It can be interrupted and repeated. */
export async function forgetPast(db: Db, project: NamedProject): Promise<void> {
  while (await db.transaction().execute((trx) => forgetPart(trx, project)));
}

async function forgetPart(trx: Db, project: NamedProject): Promise<boolean> {
  const { projectId, multisig } = project;
  await lockPast(trx, projectId);
  if (await trx.selectFrom('projects').select('id').where('id', '=', projectId).executeTakeFirst()) return false;
  const batches = await trx
    .selectFrom('batches')
    .select(['batch_index as index', 'pipeline_count as pipelines'])
    .where('project_id', '=', projectId)
    .orderBy('batch_index')
    .limit(BATCHES_OF_PAGE)
    .execute();
  const [part] = inParts(batches);
  if (part) await removeBatches(trx, project, indicesOf(part));
  if (batches.length > 0) return true;
  await trx
    .deleteFrom('company_totals')
    .where('multisig', '=', multisig as Address)
    .execute();
  await trx.deleteFrom('flywheel_owners').where('project_id', '=', projectId).execute();
  return false;
}

/** Batches refer to the pair of their flywheel and their project, which the destination gets before both. */
async function copyOwner({ from, to }: Shards, { projectId }: NamedProject): Promise<void> {
  const owners = await from
    .selectFrom('flywheel_owners')
    .select(['flywheel_id', 'project_id'])
    .where('project_id', '=', projectId)
    .execute();
  if (owners.length === 0) return;
  await to
    .insertInto('flywheel_owners')
    .values(owners)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** A batch as both shards compare it. */
interface ComparedBatch {
  readonly index: bigint;
  readonly pipelines: number;
  readonly isSettled: boolean;
  /** Equal if the batches have the same values, and as many rows that belong to them. */
  readonly print: string;
}

const BATCHES_OF_PAGE = 200;
/** Some megabytes. One batch may have more. */
const PIPELINES_OF_PART = 1_000;

async function copyPage(
  { from, to }: Shards,
  project: NamedProject,
  above: bigint,
  onCopied: () => Promise<void>,
): Promise<{ readonly last: bigint; readonly copied: number; readonly unsettled: readonly bigint[] } | null> {
  // The rows that are copied are those that were compared.
  const snapshot = from.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
  return snapshot.execute(async (source) => {
    const page = await readBatches(source, project, sql`batch_index > ${above}`);
    const last = page.at(-1);
    if (last === undefined) return null;
    let copied = 0;
    for (const part of inParts(page)) {
      const count = await to.transaction().execute((trx) => copyPart(source, trx, project, part));
      copied += count;
      if (count > 0) await onCopied();
    }
    return { last: last.index, copied, unsettled: indicesOf(page.filter(({ isSettled }) => !isSettled)) };
  });
}

/** @returns the number of batches that were copied. */
async function copyPart(source: Db, trx: Db, project: NamedProject, part: readonly ComparedBatch[]): Promise<number> {
  await lockPast(trx, project.projectId);
  const there = new Map(
    (await readBatches(trx, project, isOneOf(indicesOf(part)))).map(({ index, print }) => [index, print]),
  );
  const stale = part.filter(
    ({ index, isSettled, print }) => there.has(index) && !(isSettled && there.get(index) === print),
  );
  const missing = part.filter(({ index, isSettled, print }) => isSettled && there.get(index) !== print);
  if (stale.length > 0) await removeBatches(trx, project, indicesOf(stale));
  if (missing.length === 0) return 0;
  const meant = { ...project, isMeant: isOneOf(indicesOf(missing)) };
  for (const belonging of PAST) await copyRows(source, trx, belonging, belonging.where(meant));
  return missing.length;
}

async function copyRows(
  source: Db,
  trx: Db,
  belonging: Belonging,
  where: ReturnType<Belonging['where']>,
): Promise<void> {
  const { table, order } = belonging;
  const columns = sql.join((await readColumns(source, table)).map(({ name }) => sql.ref(name)));
  const { rows } = await sql<{ count: bigint; rows: string }>`
    select count(*) as count, json_agg(row_to_json(each))::text as rows
    from (select ${columns} from ${sql.table(table)} where ${where} order by ${order}) each
  `.execute(source);
  const [found] = rows;
  if (!found || found.count === 0n) return;
  const stored = await storeRows(trx, belonging, found.rows);
  if (stored !== found.count) throw new Error(`${stored} of ${found.count} rows of ${table} were copied.`);
}

/** Reads batches in their order, at most a page. */
async function readBatches(
  trx: Db,
  project: NamedProject,
  isMeant: ReturnType<typeof isOneOf>,
): Promise<ComparedBatch[]> {
  // Times are compared as texts.
  await sql`select set_config('timezone', 'UTC', true)`.execute(trx);
  const columns = (await readColumns(trx, 'batches')).map(({ name }) => name);
  const values = sql.join(columns.map((name) => sql.ref(`page.${name}`)));
  const counts = PAST.map(({ table, where }) => {
    const rows = where({ ...project, isMeant: sql`batch_index = page.batch_index` });
    return sql`(select count(*) from ${sql.table(table)} where ${rows})`;
  });
  const { rows } = await sql<ComparedBatch>`
    select batch_index as index, pipeline_count as pipelines, ${isSettled(project)} as "isSettled",
      md5(row(${values})::text) || ' ' || concat_ws(' ', ${sql.join(counts)}) as print
    from (
      select ${sql.join(columns.map((name) => sql.ref(name)))} from batches
      where project_id = ${project.projectId} and ${isMeant}
      order by batch_index limit ${BATCHES_OF_PAGE}
    ) page
    order by batch_index
  `.execute(trx);
  return rows;
}

/**
 * True for a batch `page` of which nothing is on chain, and that no job or nonce names, so that nothing writes it any
 * more. An expiry waits for its day although the batch has ended, and then does nothing.
 */
function isSettled({ multisig }: NamedProject) {
  return sql`(
    closed_at is not null and end_finalized_at is not null and locked_lamports = 0 and reserved_lamports = 0
    and not id = any(array(
      select (data->>'batchId')::uuid from jobs.job
      where name = 'batch' and ${isOf(multisig)} and state in ('created', 'retry', 'active', 'failed')
        and data->>'type' <> 'expire'
    ))
    and not exists (select from nonces where batch_id = page.id)
  )`;
}

async function removeBatches(trx: Db, project: NamedProject, indices: readonly bigint[]): Promise<void> {
  const meant = { ...project, isMeant: isOneOf(indices) };
  for (const { table, where } of PAST.toReversed()) {
    await sql`delete from ${sql.table(table)} where ${where(meant)}`.execute(trx);
  }
}

/** Finds the totals of batches that the source does not have. They move with the project. */
async function findTotalsWithoutBatch(
  db: Db,
  { projectId, multisig }: NamedProject,
  upTo: bigint,
): Promise<readonly bigint[]> {
  const { rows } = await sql<{ index: bigint }>`
    select batch_index as index from company_totals
    where multisig = ${multisig} and batch_index <= ${upTo} and not exists (
      select from batches where project_id = ${projectId} and batches.batch_index = company_totals.batch_index
    )
  `.execute(db);
  return indicesOf(rows);
}

async function countBatches(db: Db, projectId: string): Promise<bigint> {
  const { count } = await db
    .selectFrom('batches')
    .select(({ fn }) => fn.countAll<bigint>().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return count;
}

/** Divides batches into parts that one transaction copies or removes. */
function inParts<T extends { readonly pipelines: number }>(batches: readonly T[]): T[][] {
  const parts: T[][] = [];
  let room = 0;
  for (const batch of batches) {
    const part = parts.at(-1);
    room -= batch.pipelines;
    if (part !== undefined && room >= 0) part.push(batch);
    else {
      parts.push([batch]);
      room = PIPELINES_OF_PART - batch.pipelines;
    }
  }
  return parts;
}

function indicesOf(batches: readonly { readonly index: bigint }[]): bigint[] {
  return batches.map(({ index }) => index);
}

function isOneOf(indices: readonly bigint[]) {
  return sql`batch_index = any(${indices.map(String)}::bigint[])`;
}
