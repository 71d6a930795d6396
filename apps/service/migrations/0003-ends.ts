import { type Kysely, sql } from 'kysely';

/** Adds how a batch ends on chain: its accounts are closed and its lamports accounted for, by one worker at a time. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table flywheels add column run_number bigint not null default 0;

    alter table batches add column closed_at timestamptz check (closed_at is null or ended_at is not null);
    create index batches_flywheel_failed on batches (flywheel_id, batch_index) where status = 'FAILED';

    alter table bundles drop constraint bundles_phase_check;
    alter table bundles add constraint bundles_phase_check check (phase in ('setup', 'execution', 'close'));
    alter table bundles add column tip_lamports bigint not null default 0 check (tip_lamports >= 0);

    create table ledger_entries (
      id bigint generated always as identity primary key,
      signature text not null unique,
      batch_id uuid not null references batches,
      phase text not null check (phase in ('setup', 'execution', 'close')),
      fee_lamports bigint not null check (fee_lamports >= 0),
      tip_lamports bigint not null check (tip_lamports >= 0),
      rent_out_lamports bigint not null check (rent_out_lamports >= 0),
      rent_back_lamports bigint not null check (rent_back_lamports >= 0),
      vault_rent_lamports bigint not null check (vault_rent_lamports >= 0)
    );
    create index ledger_entries_batch on ledger_entries (batch_id);
  `.execute(db);
}
