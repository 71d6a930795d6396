import { type Kysely, sql } from 'kysely';

/**
 * Stores what operators of the company signed. A decision of an earlier release has no signature: if the company's key has
 * yet to sign, the worker asks for the decision again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table company_decisions (
      id bigint generated always as identity primary key,
      batch_id uuid not null references batches,
      decision text not null check (decision in ('approve', 'reject')),
      reason text,
      operator text not null,
      nonce text not null unique,
      expires_at timestamptz not null,
      -- The bytes as the wallet signed them: the text, an off-chain message, or a memo transaction.
      signed_message bytea not null,
      signature bytea not null unique,
      decided_at timestamptz not null,
      check ((decision = 'reject') = (reason is not null))
    );
    create index company_decisions_of_batch on company_decisions (batch_id, id desc);
  `.execute(db);
}
