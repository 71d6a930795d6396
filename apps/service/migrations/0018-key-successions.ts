import { type Kysely, sql } from 'kysely';

/** Stores which key follows which, as the earlier key has signed it. Workers write it, and registrations publish it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table key_successions (
      genesis_hash text not null,
      role text not null check (role in ('company', 'operator')),
      from_key text not null,
      to_key text not null,
      signature text not null,
      signed_at timestamptz not null,
      primary key (genesis_hash, role, from_key, to_key)
    );
  `.execute(db);
}
