import { type Kysely, sql } from 'kysely';

/**
 * Stores which batches the company has rejected, and which terms an operator has signed. Only workers write both. The terms
 * of projects that exist are those of their rows at this upgrade, so that no later change of these rows chooses them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table company_rejections (
      multisig text not null,
      batch_index bigint not null,
      reason text not null,
      primary key (multisig, batch_index)
    );
    alter table company_terms add column is_signed boolean not null default false;
    update company_terms set is_signed = true where multisig in (
      select multisig from company_reviews
      join company_changes on company_changes.id = change_id
      join flywheels on flywheels.project_id = company_changes.project_id
      where issue is null and to_approval_mode is not null
    );
    insert into company_terms (multisig, mint, approval_mode, burn_limit, airdrop_limit)
    select multisig, mint, approval_mode, burn_limit, airdrop_limit from projects
    join flywheels on flywheels.project_id = projects.id
    join tokens on tokens.project_id = projects.id
    where flywheels.archived_at is null and tokens.archived_at is null
    on conflict do nothing;
  `.execute(db);
}
