import type { Base64EncodedWireTransaction } from '@solana/kit';
import { type AliasedRawBuilder, type RawBuilder, sql } from 'kysely';
import pg from 'pg';
import { DamagedRecord } from '../damaged-record.ts';
import type { Db } from '../db.ts';
import type { PipelineRow } from './batch-rows.ts';

/** A column of a pipeline that a packed batch has in its archive. The type stands in the pipeline's row as well, for proofs. */
type Content = Exclude<keyof PipelineRow, 'batch_id' | 'position'>;

/** The array of an archive that has a column of the pipelines, and the type of the column where the array has another. */
const ARRAYS: { readonly [C in Content]: { readonly array: string; readonly cast?: RawBuilder<unknown> } } = {
  type: { array: 'types' },
  payload: { array: 'payloads' },
  actions: { array: 'actions', cast: sql`::json` },
  instructions: { array: 'instructions', cast: sql`::json` },
  vault_message: { array: 'vault_messages' },
};

/**
 * The contents of pipelines, as a table to select from: each statement finds them in the row of the pipeline, or in the
 * archive of its batch if that was packed. Nothing else reads these columns. Name the batches in the statement's
 * `where`: PostgreSQL would unpack all of them for a join.
 * @param columns that the statement uses: no other array is decompressed.
 */
export function contentsOf<C extends Content>(
  columns: readonly C[],
): AliasedRawBuilder<Pick<PipelineRow, 'batch_id' | 'position' | C>, 'contents'> {
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const unpacked = sql.join(columns.map((column) => sql`packed.${sql.ref(column)}${ARRAYS[column].cast ?? sql``}`));
  const arrays = sql.join(columns.map((column) => sql.ref(ARRAYS[column].array)));
  return sql<Pick<PipelineRow, 'batch_id' | 'position' | C>>`(
    select batch_id, position, ${names} from pipelines where payload is not null
    union all
    select batch_id, (place - 1)::integer, ${unpacked}
    from batch_archives cross join lateral unnest(${arrays}) with ordinality as packed (${names}, place)
  )`.as('contents');
}

/** The transactions of the row of `bundles` that a statement reads, from the archive of its batch if that was packed. */
export const SENT_TRANSACTIONS: RawBuilder<Base64EncodedWireTransaction[]> = sql`coalesce(bundles.transactions, (
  select array_agg(translate(encode(sent, 'base64'), chr(10), '') order by place)
  from batch_archives cross join lateral (
    select coalesce(sum(cardinality(signatures)), 0)::integer as count from bundles as earlier
    where earlier.batch_id = bundles.batch_id and earlier.id < bundles.id and earlier.transactions is null
  ) as before cross join unnest(
    batch_archives.transactions[before.count + 1 : before.count + cardinality(bundles.signatures)]
  ) with ordinality as each (sent, place)
  where batch_archives.batch_id = bundles.batch_id
), '{}')`;

/** Finds the ids of batches that are not packed and whose end is final for `keepDays`, the oldest first. */
export async function findUnpackedIds(db: Db, keepDays: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('batches')
    .select('id')
    .where('is_packed', '=', false)
    .where(sql<boolean>`end_finalized_at <= now() - make_interval(days => ${keepDays}::integer)`)
    // The others are copies of a move.
    .where('project_id', 'in', (eb) => eb.selectFrom('projects').select('projects.id'))
    .orderBy('end_finalized_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * Packs a batch whose end is final for `keepDays`, at least 30, in one transaction.
 * @returns false if it is not, or if the batch is packed already, is locked, or belongs to a project that is not here.
 * @throws DamagedRecord, and changes nothing, if an archive could not give its rows back as they are.
 */
export async function packBatch(db: Db, batchId: string, keepDays: number): Promise<boolean> {
  const call = sql<{ packed: boolean }>`select pack_batch(${batchId}, ${keepDays}::integer) as packed`;
  const { rows } = await call.execute(db).catch((cause: unknown) => {
    if (!(cause instanceof pg.DatabaseError) || !INEXACT.has(cause.code ?? '')) throw cause;
    throw new DamagedRecord(`batch ${batchId}`, cause.message);
  });
  return rows[0]?.packed ?? false;
}

/**
 * Requires of every release that it can read packed batches, as `pack_batch` does, because one that another shard has
 * packed is stored.
 */
export async function requireArchives(trx: Db): Promise<void> {
  await sql`
    update schema_compatibility set required_migration = '0042-batch-archives'
    where required_migration < '0042-batch-archives' collate "C"
  `.execute(trx);
}

/** PostgreSQL, "Error Codes": `raise_exception`, and `invalid_parameter_value` for what is not base64. */
const INEXACT: ReadonlySet<string> = new Set(['P0001', '22023']);
