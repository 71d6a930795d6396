import { type Kysely, sql } from 'kysely';

/**
 * Stores what each batch puts at risk of the operator's lamports, the key that created it, and what was spent per UTC day.
 * Batches that are on chain at this upgrade count with an upper bound of their rent.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table batches
      -- Null for a batch of the console, and for one of an earlier release.
      add column key_id uuid references api_keys,
      -- Rent of its accounts and its nonce, until nothing of it is left on chain.
      add column locked_lamports bigint not null default 0 check (locked_lamports >= 0),
      -- What fees and tips may still take.
      add column reserved_lamports bigint not null default 0 check (reserved_lamports >= 0);
    update batches set locked_lamports = 6400000 + 4400000 * pipeline_count::bigint
    where closed_at is null
      and (ended_at is null or exists (select from bundles where batch_id = batches.id and phase = 'setup'));
    create index batches_exposed on batches (project_id) where locked_lamports > 0 or reserved_lamports > 0;
    create index batches_open_of_key on batches (key_id) where ended_at is null;
    create table daily_spending (
      project_id uuid not null references projects,
      -- Null for batches of the console.
      key_id uuid references api_keys,
      day date not null,
      lamports bigint not null check (lamports >= 0),
      unique nulls not distinct (project_id, day, key_id)
    );
    create index daily_spending_of_day on daily_spending (day);
  `.execute(db);
}
