import { sql } from 'kysely';
import type { Db } from '../db.ts';
import { type PolicyUse, unnestUses } from './policy-uses.ts';
import type { BatchOnChain } from './totals.ts';

// Workers count what the company has signed. The caller must hold the lock of the multisig's terms.

/** Sums of the other batches of a day, of which the company has signed each. */
export interface SignedUse {
  /** Burned and airdropped, base units. */
  readonly movedBaseUnits: bigint;
  /** By `useKey`. */
  readonly uses: ReadonlyMap<string, bigint>;
}

/** Reads what the other batches of a day have used, of the given recipients and types. */
export async function readSignedUse(
  trx: Db,
  { multisig, batchIndex }: BatchOnChain,
  day: string,
  asked: readonly PolicyUse[],
): Promise<SignedUse> {
  const { rows: totals } = await sql<{ moved: bigint }>`
    select coalesce(sum(burned + airdropped), 0) as moved from company_totals
    where multisig = ${multisig} and day = ${day} and batch_index <> ${batchIndex}
  `.execute(trx);
  if (asked.length === 0) return { movedBaseUnits: totals[0]?.moved ?? 0n, uses: new Map() };
  const { rows } = await sql<{ key: string; used: bigint }>`
    select asked.kind || ' ' || asked.subject as key, coalesce((
      select sum(uses.amount) from company_uses uses
      where uses.multisig = ${multisig} and uses.day = ${day} and uses.kind = asked.kind and uses.subject = asked.subject
        and uses.batch_index <> ${batchIndex}
    ), 0) as used
    from ${unnestUses(asked)}
  `.execute(trx);
  return { movedBaseUnits: totals[0]?.moved ?? 0n, uses: new Map(rows.map(({ key, used }) => [key, used])) };
}

/** Counts what a batch uses of a day, once: what is counted of it already stays as it is. */
export async function recordUses(
  trx: Db,
  { multisig, batchIndex }: BatchOnChain,
  day: string,
  uses: readonly PolicyUse[],
): Promise<void> {
  if (uses.length === 0) return;
  await sql`
    insert into company_uses (multisig, batch_index, day, kind, subject, amount)
    select ${multisig}, ${batchIndex}::bigint, ${day}::date, kind, subject, amount from ${unnestUses(uses)}
    on conflict do nothing
  `.execute(trx);
}

/** Reads how many token accounts the other batches of a day have made the vault pay for. */
export async function countTokenAccounts(
  trx: Db,
  { multisig, batchIndex }: BatchOnChain,
  day: string,
): Promise<number> {
  const { count } = await trx
    .selectFrom('company_uses')
    .select(({ fn }) => fn.coalesce(fn.sum<bigint>('amount'), sql<bigint>`0`).as('count'))
    .where('multisig', '=', multisig)
    .where('day', '=', day)
    .where('kind', '=', 'token-accounts')
    .where('batch_index', '!=', batchIndex)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Counts the token accounts of a batch for a day, in place of what was counted of it before. */
export async function recordTokenAccounts(
  trx: Db,
  { multisig, batchIndex }: BatchOnChain,
  day: string,
  count: number,
): Promise<void> {
  await sql`delete from company_uses
    where multisig = ${multisig} and batch_index = ${batchIndex} and kind = 'token-accounts'`.execute(trx);
  if (count === 0) return;
  await trx
    .insertInto('company_uses')
    .values({
      multisig,
      batch_index: batchIndex,
      day,
      kind: 'token-accounts',
      subject: '',
      amount: BigInt(count),
    })
    .execute();
}

/** Stops counting a batch. */
export async function deleteUses(trx: Db, { multisig, batchIndex }: BatchOnChain): Promise<void> {
  await trx.deleteFrom('company_uses').where('multisig', '=', multisig).where('batch_index', '=', batchIndex).execute();
}
