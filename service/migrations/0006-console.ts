import { type Kysely, sql } from 'kysely';

/** What the console needs: approval by a person, pauses, rotation of keys, who did what, and proofs found by anyone. */
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
    create index batches_waiting_for_company on batches (company_asked_at)
      where company_asked_at is not null and company_decided_at is null and ended_at is null;

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

    create index pipelines_by_proof on pipelines (proof_hash);
    create index bundles_by_landed_signature on bundles using gin (landed_signatures);
  `.execute(db);
}
