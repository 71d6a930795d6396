import { type Kysely, sql } from 'kysely';

/** Adds webhook endpoints, their events, and the state of each delivery. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table webhook_endpoints (
      id uuid primary key,
      project_id uuid not null references projects,
      url text not null,
      events text[] not null,
      -- Secrets are derived, not stored: of the endpoint's id and this. The one of before signs too until its time is over.
      secret_version integer not null default 1,
      previous_secret_until timestamptz,
      state text not null default 'active' check (state in ('active', 'disabled')),
      disabled_reason text,
      created_at timestamptz not null,
      -- Endpoints take turns by it.
      last_attempt_at timestamptz
    );
    create index webhook_endpoints_of_project on webhook_endpoints (project_id, created_at);

    create table webhook_deliveries (
      id bigint generated always as identity primary key,
      endpoint_id uuid not null references webhook_endpoints on delete cascade,
      event_id text not null,
      type text not null,
      -- The very text that is signed.
      payload text not null,
      state text not null default 'waiting' check (state in ('waiting', 'delivered', 'failed')),
      attempts integer not null default 0,
      -- Of the attempts, those since it was last asked for: what the pause before the next one follows from.
      tries integer not null default 0,
      next_attempt_at timestamptz not null,
      -- Whose attempt is under way, and until when that is believed.
      lease uuid,
      leased_until timestamptz,
      last_attempt_at timestamptz,
      last_status integer,
      last_error text,
      last_response text,
      created_at timestamptz not null,
      delivered_at timestamptz,
      unique (endpoint_id, event_id),
      check ((lease is null) = (leased_until is null))
    );
    create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_attempt_at) where state = 'waiting';
    create index webhook_deliveries_leased on webhook_deliveries (endpoint_id) where lease is not null;
    create index webhook_deliveries_listed on webhook_deliveries (endpoint_id, id desc);
    create index webhook_deliveries_over on webhook_deliveries (created_at) where state <> 'waiting';

    -- Vaults that somebody has to look at, and when it was last told that one is low; cleared once it is not.
    create table vault_watch (
      project_id uuid primary key references projects,
      look_at timestamptz,
      told_at timestamptz
    );
    create index vault_watch_due on vault_watch (look_at) where look_at is not null;
  `.execute(db);
}
