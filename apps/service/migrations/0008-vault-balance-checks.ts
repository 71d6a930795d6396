import { type Kysely, sql } from 'kysely';

/**
 * Names the table and its columns by their content. Processes of the previous release keep running during an upgrade; a
 * view with the old names reads and writes the same rows for them. A later release drops the view.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table vault_watch rename to vault_balance_checks;
    alter table vault_balance_checks rename column look_at to next_check_at;
    alter table vault_balance_checks rename column told_at to notified_at;
    alter index vault_watch_pkey rename to vault_balance_checks_pkey;
    alter index vault_watch_due rename to vault_balance_checks_due;
    create view vault_watch as
      select project_id, next_check_at as look_at, notified_at as told_at from vault_balance_checks;
  `.execute(db);
}
