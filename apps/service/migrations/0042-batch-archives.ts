import { type Kysely, sql } from 'kysely';
import { lockTables } from './shared/lock-tables.ts';

/**
 * Lets workers pack what a request and its sends hold of an old batch, about two thirds of its bytes, into one compressed row.
 * Ids, types, hashes of proofs, signatures and results stay where they are, with their indexes.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await lockTables(db, ['batches', 'pipelines', 'bundles']);
  await sql`
    -- Arrays with an element for each pipeline, in order, and for each transaction of the bundles, in the order of their sends.
    -- PostgreSQL compresses each array as a whole, which finds what the pipelines have in common.
    create table batch_archives (
      batch_id uuid primary key references batches,
      types text[] not null,
      payloads text[] not null,
      actions text[] not null,
      instructions text[] not null,
      vault_messages bytea[] not null,
      transactions bytea[] not null
    );
    -- Of a packed batch these are null.
    alter table pipelines
      alter column payload drop not null,
      alter column actions drop not null,
      alter column instructions drop not null,
      alter column vault_message drop not null;
    alter table bundles alter column transactions drop not null;
    alter table batches add column is_packed boolean not null default false;
    create index batches_unpacked on batches (end_finalized_at) where not is_packed;
  `.execute(db);
  await createFunction(db);
}

/**
 * Workers may not change a pipeline, so they pack through a function with the rights of the owner, which takes nothing from them
 * but the batch. It looks up names in this schema only: a caller's temporary table must not take the place of a table.
 */
async function createFunction(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? 'public');
  await sql`
    -- Packs a batch whose end is final for keep_days, at least 30, by the clock of the database. Returns false if it is not,
    -- or if the batch is packed already, is locked, or is without its project. Raises an error for rows that it could not give back as they are, and leaves them.
    create function pack_batch(of_batch uuid, keep_days integer) returns boolean
    language plpgsql security definer set search_path = ${schema}, pg_temp as $$
    declare
      expected integer;
      is_exact boolean;
    begin
      -- A worker that records a bundle locks the first row, too. Batches without their project are copies of a move, which
      -- locks the second row when the project leaves.
      select pipeline_count into expected from batches join projects on projects.id = project_id
        where batches.id = of_batch and not is_packed
          and end_finalized_at <= now() - make_interval(days => greatest(keep_days, 30))
        for no key update of batches skip locked
        for key share of projects skip locked;
      if not found then return false; end if;

      select bool_and(cardinality(signatures) = cardinality(transactions) and not exists (
        select from unnest(transactions) sent where sent <> translate(encode(decode(sent, 'base64'), 'base64'), chr(10), '')
      )) into is_exact from bundles where batch_id = of_batch;
      if is_exact is not false then
        select count(*) = expected and count(payload) = expected and min(position) = 0 and max(position) = expected - 1
          into is_exact from pipelines where batch_id = of_batch;
      end if;
      if not is_exact then
        raise exception 'its pipelines or bundles are not as they were stored';
      end if;

      insert into batch_archives
        (batch_id, types, payloads, actions, instructions, vault_messages, transactions)
      select of_batch, array_agg(type order by position), array_agg(payload order by position),
        array_agg(actions::text order by position), array_agg(instructions::text order by position),
        array_agg(vault_message order by position), array(
          select decode(sent, 'base64')
          from bundles cross join unnest(bundles.transactions) with ordinality as each (sent, place)
          where batch_id = of_batch order by bundles.id, place
        )
      from pipelines where batch_id = of_batch;
      update pipelines set payload = null, actions = null, instructions = null, vault_message = null
        where batch_id = of_batch;
      update bundles set transactions = null where batch_id = of_batch;
      update batches set is_packed = true where id = of_batch;

      -- A release without this migration cannot read what is packed, and does not start any more.
      update schema_compatibility set required_migration = '0042-batch-archives'
        where required_migration < '0042-batch-archives' collate "C";
      return true;
    end $$;

    revoke all on function pack_batch from public;
  `.execute(db);
}
