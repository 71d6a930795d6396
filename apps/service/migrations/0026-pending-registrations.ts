import { type Kysely, sql } from 'kysely';

/** Records from which network a registration was begun, so that pending ones can be counted; null for earlier ones. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table registrations add column network text;
    create index registrations_wallet on registrations (wallet);
    create index registrations_network on registrations (network);
  `.execute(db);
}
