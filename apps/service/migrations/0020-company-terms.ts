import { type Kysely, sql } from 'kysely';

/**
 * Stores what the company's key approves without a person. HTTP processes write the changes that operators signed; only
 * workers write the other tables, and their rows name multisigs, because other processes write the ids of flywheels.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table company_changes (
      id bigint generated always as identity primary key,
      -- Null for a resumption of all projects.
      project_id uuid references projects,
      -- The start of the pause that a resumption ends; null for a change of terms, which has all other values instead.
      paused_at timestamptz,
      from_approval_mode text check (from_approval_mode in ('automatic', 'manual')),
      from_burn_limit numeric(20),
      from_airdrop_limit numeric(20),
      to_approval_mode text check (to_approval_mode in ('automatic', 'manual')),
      to_burn_limit numeric(20) check (to_burn_limit >= 0),
      to_airdrop_limit numeric(20) check (to_airdrop_limit >= 0),
      operator text not null,
      nonce text not null unique,
      expires_at timestamptz not null,
      signed_message bytea not null,
      signature bytea not null unique,
      requested_at timestamptz not null,
      check (
        num_nonnulls(
          from_approval_mode, from_burn_limit, from_airdrop_limit, to_approval_mode, to_burn_limit, to_airdrop_limit
        ) = case when paused_at is null then 6 else 0 end
      ),
      check (paused_at is not null or project_id is not null)
    );
    create table company_reviews (
      change_id bigint primary key references company_changes,
      -- The nonce of an applied change, which is used once; null for a refused one.
      nonce text unique,
      issue text,
      reviewed_at timestamptz not null,
      check ((nonce is null) = (issue is not null))
    );
    create table company_terms (
      multisig text primary key,
      mint text not null,
      approval_mode text not null check (approval_mode in ('automatic', 'manual')),
      burn_limit numeric(20) not null check (burn_limit >= 0),
      airdrop_limit numeric(20) not null check (airdrop_limit >= 0)
    );
    create table company_pauses (
      -- Null for the pause of all projects.
      multisig text unique nulls not distinct,
      paused_at timestamptz not null
    );
    create table company_totals (
      multisig text not null,
      batch_index bigint not null,
      -- The UTC day on which the batch was set up.
      day date not null,
      -- 0 until the company approves the batch, and again if nothing of it was executed.
      burned numeric(20) not null default 0 check (burned >= 0),
      airdropped numeric(20) not null default 0 check (airdropped >= 0),
      primary key (multisig, batch_index)
    );
    create index company_totals_of_day on company_totals (multisig, day);
  `.execute(db);
}
