import { type Kysely, sql } from 'kysely';

/**
 * Records the recipients' token accounts that a vault paid for, so that one that was closed is not paid again at once.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table created_token_accounts (
      batch_id uuid not null references batches,
      token_account text not null,
      project_id uuid not null references projects,
      -- Null until the pipeline that creates it is known to be executed.
      created_at timestamptz,
      primary key (batch_id, token_account)
    );
    create index created_token_accounts_project on created_token_accounts (project_id, token_account)
      where created_at is not null;
  `.execute(db);
}
