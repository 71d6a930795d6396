import { type Kysely, sql } from 'kysely';

/** Remembers how new the value of a nonce is, so that a node which is behind cannot replace it with an older one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table nonces add column read_slot bigint not null default 0 check (read_slot >= 0);
  `.execute(db);
}
