import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { storeProject } from '@flywheel/testing/records';
import { type RawBuilder, sql } from 'kysely';
import type { Project } from '../../src/model/project.ts';
import { batchListQuery, type ListFilter, listBatchRecords } from '../../src/store/batches/batch-records.ts';
import type { Db } from '../../src/store/db.ts';

const BATCHES = 10_000;
const OTHER_PROJECTS = 5;
const PAGE = 51;

const { db } = await openTestDatabase();
const project = await storeProject(db);
await storeMany(db, project, BATCHES);
for (let i = 0; i < OTHER_PROJECTS; i++) await storeMany(db, await storeProject(db), 500);
await sql`analyze`.execute(db);

const NONE: ListFilter = {
  status: undefined,
  waitsFor: undefined,
  batchIndex: undefined,
  batchId: undefined,
  below: null,
  limit: PAGE,
};
const { id: batchId } = await db
  .selectFrom('batches')
  .select('id')
  .where('project_id', '=', project.id)
  .where('batch_index', '=', 7n)
  .executeTakeFirstOrThrow();
const LISTS: readonly { readonly name: string; readonly filter: ListFilter; readonly index: RegExp }[] = [
  { name: 'the first page', filter: NONE, index: /batches_listed\b/ },
  { name: 'a page in the middle', filter: { ...NONE, below: 5_000n }, index: /batches_listed\b/ },
  { name: 'those that failed', filter: { ...NONE, status: 'FAILED' }, index: /batches_listed/ },
  { name: 'those open, of which there are few', filter: { ...NONE, status: 'FINALIZED' }, index: /batches_/ },
  { name: 'those that wait for the wallet', filter: { ...NONE, waitsFor: 'wallet' }, index: /batches_/ },
  { name: 'those that wait for the company', filter: { ...NONE, waitsFor: 'company' }, index: /batches_/ },
  { name: 'the one of an old batch index', filter: { ...NONE, batchIndex: 7n }, index: /batches_listed\b/ },
  { name: 'the one of an id', filter: { ...NONE, batchId }, index: /batches_pkey/ },
];

describe(`a list of ${BATCHES} batches`, () => {
  for (const { name, filter, index } of LISTS) {
    it(`reads ${name} by an index, and only the page’s rows of every table`, async () => {
      const plan = await explain(batchListQuery(db, project.id, filter).compile());
      assert.match(plan, index);
      assert.doesNotMatch(plan, /Seq Scan/, plan);
      const rows = await listBatchRecords(db, project.id, filter);
      assert.ok(rows.length > 0 && rows.length <= PAGE);
    });
  }
});

async function explain({ sql: text, parameters }: { readonly sql: string; readonly parameters: readonly unknown[] }) {
  const parts = text.split(/\$\d+/);
  const statement: RawBuilder<{ 'QUERY PLAN': string }> = sql.join(
    parts.flatMap((part, i) => [sql.raw(part), ...(i < parameters.length ? [sql.val(parameters[i])] : [])]),
    sql``,
  );
  const { rows } = await sql<{ 'QUERY PLAN': string }>`explain ${statement}`.execute(db);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

/**
 * Stores batches in a realistic mix: all but the last few ended long ago, one in ten failed, and each has its bundles
 * and ledger.
 */
async function storeMany(db: Db, { id, flywheel, token }: Project, count: number): Promise<void> {
  await sql`
    insert into batches (
      id, project_id, flywheel_id, token_id, batch_index, status, idempotency_key, request_hash, pipeline_count,
      burn_amount, airdrop_amount, reserved_day, nonce_address, nonce_value, signed_tx, warnings, init_result,
      execute_result, types, burn_count, airdrop_count, created_at, updated_at, ended_at, closed_at, company_asked_at
    )
    select
      gen_random_uuid(), ${id}::uuid, ${flywheel.id}::uuid, ${token.id}::uuid, i,
      case when i > ${count} - 20 then 'FINALIZED' when i % 10 = 0 then 'FAILED' else 'EXECUTED' end,
      gen_random_uuid(), sha256(i::text::bytea), 12, 1000, 2000, '2026-11-21', 'nonce', 'value',
      case when i > ${count} - 10 then 'signed' end, '[]', '{}',
      case when i <= ${count} - 20 then
        json_build_object('totalSuccessful', 12, 'successfulExecutions', (
          select json_agg(json_build_object('bundleId', md5(n::text), 'txHashes', json_build_array(repeat('x', 88))))
          from generate_series(1, 3) n
        ))
      end,
      '{WATCH_AD,PURCHASE}', 6, 6, now(), now(),
      case when i <= ${count} - 20 then now() end, case when i <= ${count} - 20 then now() end,
      case when i > ${count} - 5 then now() end
    from generate_series(1, ${count}) i
  `.execute(db);
  await sql`
    insert into bundles (
      batch_id, phase, bundle_id, transactions, signatures, last_valid_block_height, first_pipeline, pipeline_counts,
      is_atomic, state, landed_signatures, created_at
    )
    select b.id, phase, md5(b.id::text), '{AA==,AA==}', s.signatures, 1, 0, '{0,12}', true, 'landed', s.signatures, now()
    from batches b, unnest(array['setup', 'execution', 'close']) phase,
      lateral (select array[b.id || phase || '1', b.id || phase || '2'] as signatures) s
    where b.project_id = ${id}::uuid
  `.execute(db);
  await sql`
    insert into ledger_entries (
      signature, batch_id, phase, fee_lamports, tip_lamports, rent_out_lamports, rent_back_lamports, vault_rent_lamports
    )
    select signature, batch_id, phase, 5000, 1000, 100, 100, 0
    from bundles, unnest(signatures) signature where batch_id in (select id from batches where project_id = ${id}::uuid)
  `.execute(db);
}
