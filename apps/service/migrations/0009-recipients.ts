import { type Kysely, sql } from 'kysely';

/** Recipients that stopped a batch, and addresses that were seen to be no wallets. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table held_recipients (
      project_id uuid not null references projects,
      address text not null,
      -- The batch that the recipient stopped last, and how.
      batch_id uuid not null references batches,
      reason text not null,
      held_at timestamptz not null,
      primary key (project_id, address)
    );
    create table non_wallets (
      address text primary key,
      -- What the chain held there: 'mint', 'token account' or 'program'.
      kind text not null,
      seen_at timestamptz not null
    );
  `.execute(db);
}
