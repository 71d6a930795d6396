import { type Kysely, sql } from 'kysely';

/** Marks nonces that are leased before their account is finalized. Earlier releases made them available after that. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    -- False until the creation of the account is finalized.
    alter table nonces add column is_finalized boolean not null default true;
    alter table nonces alter column is_finalized set default false;
    update nonces set is_finalized = false where state = 'creating';
    create index nonces_unfinalized on nonces (authority) where not is_finalized;
  `.execute(db);
}
