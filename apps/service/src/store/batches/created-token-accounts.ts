import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import type { Batch } from '../../model/batch.ts';
import type { Db } from '../db.ts';

/** Records which token accounts a batch is about to create, and replaces an earlier record. */
export async function planTokenAccounts(
  trx: Db,
  { id, projectId }: Pick<Batch, 'id' | 'projectId'>,
  tokenAccounts: readonly Address[],
): Promise<void> {
  await trx.deleteFrom('created_token_accounts').where('batch_id', '=', id).where('created_at', 'is', null).execute();
  if (tokenAccounts.length === 0) return;
  await sql`
    insert into created_token_accounts (batch_id, token_account, project_id)
    select ${id}, token_account, ${projectId} from unnest(${tokenAccounts}::text[]) as token_account
    on conflict do nothing
  `.execute(trx);
}

/**
 * Marks those of a batch's planned token accounts that its executed pipelines have created. A mark of an account that is not
 * among them is removed: a fork took its creation away.
 */
export async function markTokenAccountsCreated(
  trx: Db,
  batchId: string,
  tokenAccounts: readonly Address[],
  now: Date,
): Promise<void> {
  await trx
    .updateTable('created_token_accounts')
    .set({
      created_at: sql<Date | null>`case when token_account = any(${tokenAccounts}::text[]) then ${now}::timestamptz end`,
    })
    .where('batch_id', '=', batchId)
    .execute();
}

/** Reads when the project last created each of these token accounts, if after `since`. */
export async function findCreatedTokenAccounts(
  db: Db,
  projectId: string,
  tokenAccounts: readonly Address[],
  since: Date,
): Promise<ReadonlyMap<Address, Date>> {
  const rows = await db
    .selectFrom('created_token_accounts')
    .select((eb) => ['token_account', eb.fn.max('created_at').as('created_at')])
    .where('project_id', '=', projectId)
    .where('created_at', '>', since)
    .where(sql<boolean>`token_account = any(${tokenAccounts}::text[])`)
    .groupBy('token_account')
    .execute();
  return new Map(rows.flatMap(({ token_account, created_at }) => (created_at ? [[token_account, created_at]] : [])));
}
