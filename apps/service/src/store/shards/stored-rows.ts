import { sql } from 'kysely';
import { requireArchives } from '../batches/archive.ts';
import type { Db } from '../db.ts';
import { type Belonging, readColumns } from './belongings.ts';

/**
 * Stores rows that another database has written as JSON, in their order, and returns their number. PostgreSQL reads it: no amount
 * passes through JavaScript.
 */
export async function storeRows(trx: Db, { table, keepsIds }: Belonging, rows: string): Promise<bigint> {
  // The time at which this database stores a row decides its partition, and it may have none for the past.
  const columns = (await readColumns(trx, table))
    .filter(({ name, isIdentity }) => name !== 'recorded_at' && (keepsIds || !isIdentity))
    .map(({ name }) => name);
  const values = columns.map((name) =>
    table === 'company_reviews' && name === 'change_id'
      ? sql`(select id from company_changes where nonce = source->>'change_nonce')`
      : sql.ref(`given.${name}`),
  );
  const { numAffectedRows = 0n } = await sql`
    insert into ${sql.table(table)} (${sql.join(columns.map((name) => sql.ref(name)))}) overriding system value
    select ${sql.join(values)}
    from json_array_elements(${rows}::json) with ordinality as each (source, place)
      cross join lateral json_populate_record(null::${sql.table(table)}, source) as given
    order by place
  `.execute(trx);
  if (table === 'batch_archives' && numAffectedRows > 0n) await requireArchives(trx);
  return numAffectedRows;
}
