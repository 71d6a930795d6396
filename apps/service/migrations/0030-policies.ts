import { type Kysely, sql } from 'kysely';

/**
 * Stores the rules of the company for projects, and what batches have used of their caps. HTTP processes write the changes that
 * operators signed and what init has counted; only workers write the versions in force and what the company has signed.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table company_changes
      add column policy jsonb,
      add column policy_version integer check (policy_version > 0),
      drop constraint company_changes_check,
      add constraint company_changes_check check (
        num_nonnulls(from_approval_mode, from_burn_limit, from_airdrop_limit)
          = case when num_nonnulls(paused_at, admission, policy) = 0 then 3 else 0 end
        and num_nonnulls(to_approval_mode, to_burn_limit, to_airdrop_limit)
          = case when num_nonnulls(paused_at, policy) = 0 and admission is distinct from 'withdraw' then 3 else 0 end
        and num_nonnulls(paused_at, admission, policy) <= 1
        and (policy is null) = (policy_version is null)
      );
    -- Every version is kept: a batch is bound by all that were in force since it was created.
    create table company_policies (
      multisig text not null,
      version integer not null check (version > 0),
      -- The token whose base units the amounts are.
      mint text not null,
      policy jsonb not null,
      operator text not null,
      applied_at timestamptz not null,
      primary key (multisig, version)
    );
    -- What batches take of the caps of their day, as init counts it; a batch that no cap concerns has none. Foreign
    -- keys would take two look-ups for each recipient.
    create table policy_uses (
      batch_id uuid not null,
      project_id uuid not null,
      day date not null,
      kind text not null check (kind in ('recipient', 'type')),
      subject text not null,
      amount numeric not null check (amount >= 0),
      primary key (batch_id, kind, subject)
    );
    create index policy_uses_of_day on policy_uses (project_id, day, kind, subject);
    -- What the company has signed, as workers count it.
    create table company_uses (
      multisig text not null,
      batch_index bigint not null,
      day date not null,
      kind text not null check (kind in ('recipient', 'type', 'token-accounts')),
      -- Empty for token accounts.
      subject text not null,
      amount numeric not null check (amount >= 0),
      primary key (multisig, batch_index, kind, subject)
    );
    create index company_uses_of_day on company_uses (multisig, day, kind, subject);
  `.execute(db);
}
