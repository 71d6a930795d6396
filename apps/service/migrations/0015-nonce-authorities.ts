import { type Kysely, sql } from 'kysely';

/**
 * Stores which operator each nonce belongs to, since a service may have two of them while it replaces one. A worker fills
 * in the rows of earlier releases, whose addresses tell their operator; null stands for one that was not filled in yet.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table nonces add column authority text;
    create index nonces_authority on nonces (authority, state);
  `.execute(db);
}
