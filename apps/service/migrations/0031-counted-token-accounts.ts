import { type Kysely, sql } from 'kysely';

/** Counts new token accounts at init. The day comes first in both indices, so that old rows are found for deletion. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table policy_uses
      drop constraint policy_uses_kind_check,
      -- The subject of a token account is its address, and its amount 1, or 0 when it was given back.
      add constraint policy_uses_kind_check check (kind in ('recipient', 'type', 'token-account'));
    drop index policy_uses_of_day;
    create index policy_uses_of_day on policy_uses (day, project_id, kind, subject);
    drop index company_uses_of_day;
    create index company_uses_of_day on company_uses (day, multisig, kind, subject);
  `.execute(db);
}
