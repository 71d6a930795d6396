import { type Kysely, sql } from 'kysely';

/**
 * Creates the first tables. Amounts are numeric(20) because u64 base units exceed bigint; indices are bigint and times
 * timestamptz. JSON is json, not jsonb: it is never queried, and jsonb rejects texts that JSON allows (a zero
 * character, half a surrogate pair).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table projects (
      id uuid primary key,
      wallet text not null,
      scopes text[] not null,
      burn_limit numeric(20) not null check (burn_limit >= 0),
      airdrop_limit numeric(20) not null check (airdrop_limit >= 0),
      created_at timestamptz not null
    );
    create index projects_wallet on projects (wallet);

    create table proof_types (
      project_id uuid not null references projects,
      type text not null,
      description text,
      payload_schema json,
      primary key (project_id, type)
    );

    create table tokens (
      id uuid primary key,
      project_id uuid not null unique references projects,
      mint text not null,
      decimals smallint not null,
      program_address text not null,
      archived_at timestamptz
    );

    create table flywheels (
      id uuid primary key,
      project_id uuid not null unique references projects,
      multisig text not null unique,
      vault text not null unique,
      vault_index smallint not null,
      operator text not null,
      company text not null,
      wallet text not null,
      lookup_table text not null,
      lookup_table_addresses text[] not null,
      last_batch_index bigint not null default 0,
      archived_at timestamptz
    );

    create table api_keys (
      id uuid primary key,
      project_id uuid not null references projects,
      prefix text not null unique,
      hash bytea not null check (length(hash) = 32),
      name text,
      scopes text[] not null check (cardinality(scopes) > 0),
      created_at timestamptz not null,
      expires_at timestamptz,
      revoked_at timestamptz,
      last_used_at timestamptz
    );
    create index api_keys_project on api_keys (project_id);

    create table batches (
      id uuid primary key,
      project_id uuid not null references projects,
      flywheel_id uuid not null references flywheels,
      token_id uuid not null references tokens,
      batch_index bigint not null check (batch_index > 0),
      status text not null check (status in ('AVAILABLE_TO_QUEUE', 'FINALIZED', 'EXECUTED', 'FAILED')),
      idempotency_key uuid not null,
      request_hash bytea not null check (length(request_hash) = 32),
      pipeline_count integer not null check (pipeline_count > 0),
      burn_amount numeric(20) not null,
      airdrop_amount numeric(20) not null,
      reserved_day date not null,
      nonce_address text not null,
      nonce_value text not null,
      signed_tx text,
      -- Set with the first execution bundle, in its statement: from then on the batch only ends by what the chain says.
      execution_began_at timestamptz,
      warnings json not null,
      init_result json,
      execute_result json,
      execution_error json,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      ended_at timestamptz,
      unique (project_id, idempotency_key),
      unique (flywheel_id, batch_index),
      check ((ended_at is null) = (status in ('AVAILABLE_TO_QUEUE', 'FINALIZED')))
    );
    -- A project's open batches, and those that ended lately.
    create index batches_project on batches (project_id, ended_at);

    create table pipelines (
      batch_id uuid not null references batches,
      position integer not null,
      project_id uuid not null references projects,
      type text not null,
      payload text not null,
      actions json not null,
      proof_hash bytea not null check (length(proof_hash) = 32),
      instructions json not null,
      vault_message bytea not null,
      primary key (batch_id, position)
    );
    create index pipelines_proof on pipelines (project_id, proof_hash);

    create table daily_amounts (
      project_id uuid not null references projects,
      day date not null,
      burned numeric(20) not null default 0 check (burned >= 0),
      airdropped numeric(20) not null default 0 check (airdropped >= 0),
      primary key (project_id, day)
    );

    create table bundles (
      id bigint generated always as identity primary key,
      batch_id uuid not null references batches,
      phase text not null check (phase in ('setup', 'execution')),
      bundle_id text not null,
      transactions text[] not null,
      signatures text[] not null,
      last_valid_block_height bigint not null,
      first_pipeline integer not null,
      pipeline_count integer not null,
      is_atomic boolean not null,
      state text not null check (state in ('sent', 'landed', 'failed')),
      landed_signatures text[] not null default '{}',
      created_at timestamptz not null,
      settled_at timestamptz
    );
    create index bundles_batch on bundles (batch_id, id);

    create table nonces (
      address text primary key,
      seed text not null unique,
      value text,
      -- Deferred: a nonce is leased before its batch is inserted, in one transaction.
      batch_id uuid references batches deferrable initially deferred,
      state text not null check (state in ('creating', 'available', 'leased', 'refreshing')),
      check ((state = 'leased') = (batch_id is not null)),
      check (state in ('creating', 'refreshing') or value is not null)
    );
    create index nonces_available on nonces (address) where state = 'available';

    create table registrations (
      id uuid primary key,
      wallet text not null,
      request json not null,
      token json not null,
      multisig json not null,
      create_key text not null,
      message bytea not null,
      last_valid_block_height bigint not null,
      created_at timestamptz not null,
      -- Deferred: of two confirmations at once the first claims the registration, then inserts its project.
      project_id uuid references projects deferrable initially deferred
    );

    create table sign_in_challenges (
      nonce text primary key,
      wallet text not null,
      message text not null,
      expires_at timestamptz not null
    );

    create table sessions (
      hash bytea primary key check (length(hash) = 32),
      wallet text not null,
      expires_at timestamptz not null
    );

    -- Unlogged: a count need not outlive a crash of the server, and without a log no request waits for a disk.
    -- Columns and their order are rate-limiter-flexible's.
    create unlogged table rate_limits (
      key text primary key,
      points integer not null default 0,
      expire bigint
    );
  `.execute(db);
}
