import { type Kysely, sql } from 'kysely';

/**
 * Partitions events of batches and deliveries of webhooks by the month in which the database stored them, so that a worker
 * drops old ones as a whole. The tables that exist become the first partitions as they are: no row is copied.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // In the order in which the transactions of running processes take them.
  await sql`lock table batches, batch_events, webhook_endpoints, webhook_deliveries in access exclusive mode`.execute(
    db,
  );
  await partitionEvents(db);
  await partitionDeliveries(db);
  await moveGrants(db);
  await createFunctions(db);
  await sql`select add_partitions()`.execute(db);
}

/**
 * Rows that exist count as stored now, so none of them is dropped before its time. An event has no foreign key any more, which
 * would lock all batches while a partition is added or dropped: the statements that store events read the batch. Events
 * are read by batch, so an index of their ids alone has no use.
 */
async function partitionEvents(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table batch_events
      drop constraint batch_events_batch_id_fkey,
      drop constraint batch_events_pkey,
      add column recorded_at timestamptz not null default now();
    alter table batch_events rename to batch_events_first;
    alter index batch_events_of_batch rename to batch_events_first_of_batch;
    alter sequence batch_events_id_seq rename to batch_events_first_id_seq;
    create table batch_events (
      like batch_events_first including defaults including constraints including identity
    ) partition by range (recorded_at);
    create index batch_events_of_batch on batch_events (batch_id, id);
    select setval(pg_get_serial_sequence('batch_events', 'id'), last_value, is_called) from batch_events_first_id_seq;
    alter table batch_events_first alter column id drop identity;
    alter table batch_events attach partition batch_events_first for values from (minvalue) to (${startOfNextMonth});
  `.execute(db);
}

/** All that looks up a delivery knows its endpoint, which therefore leads the primary key. Ids of events are random. */
async function partitionDeliveries(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table webhook_deliveries
      drop constraint webhook_deliveries_pkey,
      drop constraint webhook_deliveries_endpoint_id_event_id_key,
      add column recorded_at timestamptz not null default now();
    alter table webhook_deliveries rename to webhook_deliveries_first;
    drop index webhook_deliveries_listed, webhook_deliveries_over;
    alter index webhook_deliveries_due rename to webhook_deliveries_first_due;
    alter index webhook_deliveries_leased rename to webhook_deliveries_first_leased;
    alter sequence webhook_deliveries_id_seq rename to webhook_deliveries_first_id_seq;
    create table webhook_deliveries (
      like webhook_deliveries_first including defaults including constraints including identity,
      primary key (endpoint_id, id, recorded_at),
      foreign key (endpoint_id) references webhook_endpoints on delete cascade
    ) partition by range (recorded_at);
    create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at) where state = 'waiting';
    create index webhook_deliveries_leased on webhook_deliveries (endpoint_id) where lease is not null;
    select setval(pg_get_serial_sequence('webhook_deliveries', 'id'), last_value, is_called)
      from webhook_deliveries_first_id_seq;
    alter table webhook_deliveries_first alter column id drop identity;
    alter table webhook_deliveries
      attach partition webhook_deliveries_first for values from (minvalue) to (${startOfNextMonth});
  `.execute(db);
}

const startOfNextMonth = sql`(date_trunc('month', now() at time zone 'UTC') + interval '1 month') at time zone 'UTC'`;

/** Rights belong to the table that a statement names. Processes that run meanwhile need them before the grants follow. */
async function moveGrants(db: Kysely<unknown>): Promise<void> {
  await sql`
    do $$
    declare
      granted record;
    begin
      for granted in
        with old as (
          select oid, relowner, relacl, replace(relname, '_first', '') as name from pg_class
          where oid in ('batch_events_first'::regclass, 'webhook_deliveries_first'::regclass)
        )
        select name, '' as columns, acl.* from old cross join aclexplode(relacl) acl where grantee <> relowner
        union all
        select name, format(' (%I)', attname), acl.* from old
          join pg_attribute on attrelid = old.oid cross join aclexplode(attacl) acl where grantee <> relowner
      loop
        execute format('grant %s%s on %I to %s', granted.privilege_type, granted.columns, granted.name, (
          case granted.grantee when 0 then 'public' else granted.grantee::regrole::text end
        ));
        execute format('revoke all on %I from %s', granted.name || '_first', (
          case granted.grantee when 0 then 'public' else granted.grantee::regrole::text end
        ));
      end loop;
    end $$
  `.execute(db);
}

/**
 * Workers own no table, so they add and drop partitions through functions with the rights of the owner. These look up names
 * in this schema only: a caller's temporary table must not take the place of a table.
 */
async function createFunctions(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ schema: string }>`select current_schema() as schema`.execute(db);
  const schema = sql.id(rows[0]?.schema ?? 'public');
  await sql`
    create function partitions_of(of_table text)
    returns table (partition_name text, starts_at timestamptz, ends_at timestamptz)
    language sql stable as $$
      select relname::text, nullif(split_part(split_part(bounds, 'FROM (''', 2), '''', 1), '')::timestamptz,
        split_part(split_part(bounds, 'TO (''', 2), '''', 1)::timestamptz
      from pg_inherits join pg_class on pg_class.oid = inhrelid
      cross join lateral pg_get_expr(relpartbound, pg_class.oid) as bounds
      where inhparent = of_table::regclass
    $$;

    -- Adds the partitions of this month and of the three that follow, and returns the names of those that were missing.
    create function add_partitions(present timestamptz default now()) returns setof text
    language plpgsql security definer set search_path = ${schema}, pg_temp set lock_timeout = '1500ms' as $$
    declare
      this_month timestamp := date_trunc('month', present at time zone 'UTC');
      of_table text;
      month timestamp;
      month_start timestamptz;
      month_end timestamptz;
      added text;
    begin
      perform pg_advisory_xact_lock(${sql.lit(PARTITION_LOCK)});
      foreach of_table in array array['batch_events', 'webhook_deliveries'] loop
        for month in select generate_series(this_month, this_month + interval '3 months', interval '1 month') loop
          month_start := month at time zone 'UTC';
          month_end := (month + interval '1 month') at time zone 'UTC';
          continue when exists (
            select from partitions_of(of_table)
            where ends_at > month_start and (starts_at is null or starts_at < month_end)
          );
          added := of_table || to_char(month, '_YYYY_MM');
          -- Rows are read and written meanwhile; a partition that is created in its place would lock the table.
          execute format('create table %I (like %I including defaults including constraints)', added, of_table);
          execute format(
            'alter table %I attach partition %I for values from (%L) to (%L)', of_table, added, month_start, month_end
          );
          return next added;
        end loop;
      end loop;
    end $$;

    -- Drops the oldest partition whose rows were all stored more than keep_days ago, and returns its name; null if there is
    -- none, or while deliveries in it wait. Nothing is dropped within 30 days, whoever asks.
    create function drop_partition(of_table text, keep_days integer, present timestamptz default now()) returns text
    language plpgsql security definer set search_path = ${schema}, pg_temp set lock_timeout = '1500ms' as $$
    declare
      stored_before timestamptz := least(present, now()) - make_interval(days => greatest(keep_days, 30));
      oldest text;
      has_waiting boolean;
    begin
      if of_table not in ('batch_events', 'webhook_deliveries') then
        raise exception 'The table % is not partitioned by month.', of_table;
      end if;
      perform pg_advisory_xact_lock(${sql.lit(PARTITION_LOCK)});
      select partition_name into oldest from partitions_of(of_table) where ends_at <= stored_before
        order by ends_at limit 1;
      if oldest is null then return null; end if;
      -- The table before its partition, as writers take them.
      execute format('lock table only %I in access exclusive mode', of_table);
      if of_table = 'webhook_deliveries' then
        execute format('select exists (select from %I where state = ''waiting'')', oldest) into has_waiting;
        if has_waiting then return null; end if;
      end if;
      execute format('drop table %I', oldest);
      return oldest;
    end $$;

    revoke all on function add_partitions, drop_partition from public;
  `.execute(db);
}

/** Two workers add or drop one after the other. */
const PARTITION_LOCK = 0x70617274; // 'part'
