import { type Kysely, sql } from 'kysely';
import { lockTables } from './shared/lock-tables.ts';

/**
 * Adds what a move of a project to another shard needs: the time until which it refuses new work, the rows that are on their way, and
 * the records by which the old shard refuses the project and the new one takes it once. Deleting a project's batches looks for their
 * audit entries, which had no index by batch.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await lockTables(db, ['projects', 'audit_log']);
  await sql`
    alter table projects add column moving_until timestamptz;
    create table shard_identity (
      only_row boolean primary key default true check (only_row),
      id uuid not null default gen_random_uuid()
    );
    create table project_moves (
      id uuid primary key,
      project_id uuid not null unique,
      destination uuid not null,
      multisig text not null,
      key_prefixes text[] not null,
      departed_at timestamptz not null default now(),
      arrived_at timestamptz
    );
    create table departed_rows (
      move_id uuid not null references project_moves on delete cascade,
      table_name text not null,
      part integer not null,
      rows json not null,
      primary key (move_id, table_name, part)
    );
    create table project_arrivals (
      move_id uuid primary key,
      arrived_at timestamptz not null default now()
    );
    create index audit_log_of_batch on audit_log (batch_id) where batch_id is not null;
  `.execute(db);
}
