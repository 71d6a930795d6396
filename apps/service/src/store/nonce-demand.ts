import type { Address } from '@solana/kit';
import { sql } from 'kysely';
import { type Db, inTransaction } from './db.ts';

/** What the projects of one share need, all of one operator. */
export interface NonceDemand {
  /** The multisig of an admitted project; null for what all projects share. */
  readonly share: Address | null;
  readonly leased: number;
  /** Nonces that can be leased now. */
  readonly available: number;
  /** Nonces whose last lease began within the last minute. */
  readonly leasedLately: number;
  /** The same, within the last ten minutes. */
  readonly leasedBefore: number;
  /** Inits that wait for a nonce. */
  readonly waiting: number;
}

/**
 * Reads the demand for the nonces of an operator: of each admitted project that has this operator, and of all projects
 * together. What admitted projects wait for counts as theirs.
 */
export async function findNonceDemand(db: Db, authority: Address): Promise<NonceDemand[]> {
  const { rows } = await sql<NonceDemand>`
    with shares as (
      select null as share union all
      select f.multisig from flywheels f join company_admissions a on a.multisig = f.multisig
      where f.operator = ${authority}
    ), waiters as (
      select a.multisig as share, sum(w.waiting)::int as waiting
      from nonce_waiters w join flywheels f on f.multisig = w.multisig and f.operator = ${authority}
        left join company_admissions a on a.multisig = w.multisig
      where w.updated_at > now() - interval '15 seconds'
      group by a.multisig
    ), counts as (
      select share, count(*) filter (where state = 'leased')::int as leased,
        count(*) filter (where state = 'available')::int as available,
        count(*) filter (where leased_at > now() - interval '1 minute')::int as lately,
        count(*) filter (where leased_at > now() - interval '10 minutes')::int as before
      from nonces where authority = ${authority} group by share
    )
    select shares.share, coalesce(leased, 0) as leased, coalesce(available, 0) as available,
      coalesce(lately, 0) as "leasedLately", coalesce(before, 0) as "leasedBefore", coalesce(waiting, 0) as waiting
    from shares
      left join counts on counts.share is not distinct from shares.share
      left join waiters on waiters.share is not distinct from shares.share
    order by shares.share nulls first
  `.execute(db);
  return rows;
}

/** Returns the nonces of projects that are not admitted any more to what all share. */
export async function dissolveShares(db: Db): Promise<void> {
  await sql`
    update nonces set share = null
    where share is not null and not exists (select from company_admissions a where a.multisig = nonces.share)
  `.execute(db);
}

/**
 * Takes available nonces of a share out of the pool, to be closed. None of them is leased meanwhile, or was since its last use.
 * A finalized read tells when an account is closed, so its creation must be finalized.
 */
export async function retireAvailable(
  db: Db,
  { authority, share, count }: { readonly authority: Address; readonly share: Address | null; readonly count: number },
): Promise<void> {
  await sql`
    update nonces set state = 'closing'
    where address in (
      select address from nonces
      where state = 'available' and is_finalized and authority = ${authority} and share is not distinct from ${share}
      order by leased_at nulls first limit ${count} for update skip locked
    )
  `.execute(db);
}

/**
 * Returns true if a refill has something to do: nonces to reclaim, to close or to follow to finality, or a share that has fewer
 * free ones than three quarters of its least number, or than were leased from it within the last minute.
 */
export async function isRefillDue(
  db: Db,
  { authority, least }: { readonly authority: Address; readonly least: LeastFree },
): Promise<boolean> {
  const { rows } = await sql<{ readonly isDue: boolean }>`
    with shares as (
      select share, coalesce(bool_or(state in ('refreshing', 'closing') or not is_finalized), false) as is_unsettled,
        count(*) filter (where state in ('available', 'creating')) as free,
        count(*) filter (where leased_at > now() - interval '1 minute') as lately
      from nonces where authority = ${authority} group by share
    )
    select coalesce(bool_or(
      is_unsettled
      or free < case when share is null then ${least.shared}::int else ${least.perAdmitted}::int end * 0.75
      or free < lately
    ), true) or bool_and(share is not null) as "isDue"
    from shares
  `.execute(db);
  return rows[0]?.isDue ?? true;
}

/** The least number of free nonces: in what all projects share, and in the share of an admitted project. */
export interface LeastFree {
  readonly shared: number;
  readonly perAdmitted: number;
}

/** Replaces what one process has reported about its waiting inits, and deletes what killed processes have left. */
export async function reportWaiters(db: Db, process: string, waiting: ReadonlyMap<Address, number>): Promise<void> {
  await inTransaction(db, async (trx) => {
    const isLeft = sql<boolean>`updated_at < now() - interval '1 hour'`;
    await trx
      .deleteFrom('nonce_waiters')
      .where((eb) => eb.or([eb('process', '=', process), isLeft]))
      .execute();
    const rows = [...waiting].map(([multisig, count]) => ({ process, multisig, waiting: count }));
    if (rows.length > 0) await trx.insertInto('nonce_waiters').values(rows).execute();
  });
}
