import { type Kysely, sql } from 'kysely';

/**
 * Adds tables and columns of the console: manual approval, pauses, rotation of keys, the audit log, and the search for
 * proofs.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table projects
      add column approval_mode text not null default 'automatic' check (approval_mode in ('automatic', 'manual')),
      add column paused_at timestamptz,
      add column pause_reason text;

    alter table api_keys add column replaced_by uuid references api_keys (id);

    -- A person's approval for the company: asked for when the wallet's has passed every check, decided once.
    alter table batches
      add column company_asked_at timestamptz,
      add column company_decided_at timestamptz,
      add column company_operator text,
      add column company_reason text,
      add constraint company_decision check ((company_decided_at is null) = (company_operator is null));
    -- What a batch is for. Withdrawals and rotations are the console's alone: the keys of API clients are a space of their own.
    alter table batches
      add column kind text not null default 'pipelines' check (kind in ('pipelines', 'withdrawal', 'rotation')),
      drop constraint batches_project_id_idempotency_key_key,
      add constraint batches_idempotency_key unique (project_id, kind, idempotency_key);

    -- An approver of a flywheel is replaced while nothing else of it is open.
    create unique index batches_open_rotation on batches (flywheel_id) where kind = 'rotation' and ended_at is null;
    create index batches_waiting_for_company on batches (company_asked_at)
      where company_asked_at is not null and company_decided_at is null and ended_at is null;

    -- What lists and timelines show, so that no list reads pipelines. end_cause is null for batches that ended before.
    alter table batches
      add column types text[] not null default '{}',
      add column burn_count integer not null default 0,
      add column airdrop_count integer not null default 0,
      add column memo_count integer not null default 0,
      add column finalized_at timestamptz,
      add column signed_at timestamptz,
      add column end_cause text check (end_cause in ('executed', 'failed', 'expired', 'cancelled', 'rejected'));
    create index batches_listed on batches (project_id, batch_index desc);
    create index batches_listed_by_status on batches (project_id, status, batch_index desc);

    update batches b
    set burn_count = counted.burns, airdrop_count = counted.airdrops, memo_count = counted.memos
    from (
      select p.batch_id,
        count(*) filter (where a.action->>'action' = 'BURN') as burns,
        count(*) filter (where a.action->>'action' = 'AIRDROP') as airdrops,
        count(*) filter (where a.action->>'action' = 'MEMO') as memos
      from pipelines p
      cross join lateral json_array_elements(
        case when json_typeof(p.actions) = 'array' then p.actions else '[]' end
      ) as a (action)
      group by p.batch_id
    ) counted
    where b.id = counted.batch_id;

    update batches b
    set types = (
      select array_agg(type order by first)
      from (
        select type, min(position) as first from pipelines where batch_id = b.id group by type order by first limit 5
      ) seen
    )
    where exists (select from pipelines where batch_id = b.id);

    -- What became of each batch, step by step, written in the transaction of the step. Within a batch ids rise as its
    -- steps do: every writer holds the batch's row.
    create table batch_events (
      id bigint generated always as identity primary key,
      batch_id uuid not null references batches,
      type text not null,
      at timestamptz not null,
      status text not null,
      data json not null
    );
    create index batch_events_of_batch on batch_events (batch_id, id);

    -- One row: whether everything is paused.
    create table company (
      only_row boolean primary key default true check (only_row),
      paused_at timestamptz,
      pause_reason text
    );
    insert into company default values;

    create table audit_log (
      id bigint generated always as identity primary key,
      at timestamptz not null,
      actor text not null,
      action text not null,
      project_id uuid references projects (id),
      batch_id uuid references batches (id),
      subject text,
      before jsonb,
      after jsonb,
      reason text
    );
    create index audit_log_of_project on audit_log (project_id, id desc);

    -- What was spent of late.
    create index bundles_settled on bundles (settled_at);

    create index pipelines_by_proof on pipelines (proof_hash);
    create index bundles_by_landed_signature on bundles using gin (landed_signatures);
  `.execute(db);
}
