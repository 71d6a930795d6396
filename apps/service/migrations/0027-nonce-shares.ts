import { type Kysely, sql } from 'kysely';

/**
 * Gives each admitted project nonces of its own. It also stores when a nonce was leased and which inits wait for one, so
 * that workers make the pool larger ahead of demand, and smaller after it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table nonces
      -- The multisig of the admitted project that alone may lease it; null for all projects.
      add column share text,
      add column leased_at timestamptz,
      drop constraint nonces_state_check,
      add constraint nonces_state_check
        check (state in ('creating', 'available', 'leased', 'refreshing', 'closing'));
    create index nonces_share on nonces (share, state);

    create table nonce_waiters (
      process uuid not null,
      multisig text not null,
      waiting integer not null check (waiting > 0),
      updated_at timestamptz not null default now(),
      primary key (process, multisig)
    );
  `.execute(db);
}
