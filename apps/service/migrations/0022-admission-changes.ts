import { type Kysely, sql } from 'kysely';

/** Lets operators sign that the company admits a project, and with which terms, or that it no longer does. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table company_changes
      add column admission text check (admission in ('admit', 'withdraw')),
      drop constraint company_changes_check,
      add constraint company_changes_check check (
        num_nonnulls(from_approval_mode, from_burn_limit, from_airdrop_limit)
          = case when paused_at is null and admission is null then 3 else 0 end
        and num_nonnulls(to_approval_mode, to_burn_limit, to_airdrop_limit)
          = case when paused_at is null and admission is distinct from 'withdraw' then 3 else 0 end
        and num_nonnulls(paused_at, admission) <= 1
      );
  `.execute(db);
}
