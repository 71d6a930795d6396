import { randomBytes } from 'node:crypto';
import type { Address, Nonce } from '@solana/kit';
import { sql } from 'kysely';
import type { LeasedNonce } from '../model/batch.ts';
import { type Db, inTransaction } from './db.ts';
import { prepare } from './prepare.ts';

/** Life of a nonce: created, leased, refreshed, leased again; closed when there are more than needed. */
export const NONCE_STATES = ['creating', 'available', 'leased', 'refreshing', 'closing'] as const;

export type NonceState = (typeof NONCE_STATES)[number];

export interface PooledNonce {
  readonly address: Address;
  /** Seed that, with the address of the operator that created the account, derives its address. */
  readonly seed: string;
  /** Value that was last read, or the value before its last use; null while the account is being created. */
  readonly value: Nonce | null;
  /** The state that `value` was read from is no newer than this slot; 0 if it was not read since the service keeps slots. */
  readonly readSlot: bigint;
  /** False until the creation of the account is finalized: a fork may take it away. */
  readonly isFinalized: boolean;
}

/** Slots between which the state lay that a value was read from. */
export interface ReadSlots {
  readonly from: bigint;
  readonly to: bigint;
}

/** A leased nonce. */
export interface Lease {
  readonly nonce: LeasedNonce;
  /** True if its share has fewer free ones left than were leased from it within the last minute. */
  readonly isShareRunningOut: boolean;
}

/**
 * Leases an available nonce for a batch that this transaction is about to insert; null if none is available. It never
 * waits for another lease, and no nonce is leased twice. The flywheel's operator is the nonce's authority, or it is not
 * known yet: then an earlier release created the nonce, for the only operator that it had. An admitted project leases from
 * its own share first, and then like every other from what all share. Nonces that a fork may take away are leased last.
 */
export async function leaseNonce(
  trx: Db,
  ids: { readonly batchId: string; readonly flywheelId: string },
): Promise<Lease | null> {
  const [row] = await lease(trx, ids);
  if (!row) return null;
  const { address, value, isShareRunningOut } = row;
  if (value === null) throw new Error(`Nonce ${address} is available without a value.`);
  return { nonce: { address, value }, isShareRunningOut };
}

interface LeaseRow extends Omit<Lease, 'nonce'> {
  readonly address: Address;
  readonly value: Nonce | null;
}

/**
 * Finds a candidate of the share that all projects share without sorting it, because it may have thousands. The counts are those
 * before the statement, so the leased one is left out, and added to those that were leased lately.
 */
const lease = prepare<{ readonly batchId: string; readonly flywheelId: string }, LeaseRow>(
  (_db, slot) => sql`
    with flywheel as (
      select operator, multisig from flywheels where id = ${slot('flywheelId')}
    ), own as (
      select address from nonces where ${isLeasable} and share = (select multisig from flywheel)
      order by is_finalized desc limit 1 for update skip locked
    ), finalized as (
      select address from nonces where ${isLeasable} and share is null and is_finalized and not exists (select from own)
      limit 1 for update skip locked
    ), latest as (
      select address from nonces where ${isLeasable} and share is null
        and not exists (select from own) and not exists (select from finalized)
      limit 1 for update skip locked
    ), leased as (
      update nonces set state = 'leased', batch_id = ${slot('batchId')}, leased_at = now()
      where address = (
        select address from own union all select address from finalized union all select address from latest
      )
      returning address, value, authority, share
    )
    select address, value, authority is not null and (
      select count(*) filter (where state in ('available', 'creating'))
        < 1 + count(*) filter (where leased_at > now() - interval '1 minute')
      from nonces others
      where others.authority = leased.authority and others.share is not distinct from leased.share
        and others.address <> leased.address
    ) as "isShareRunningOut"
    from leased
  `,
);

/** `nonces` and `flywheel` of the outer statement. */
const isLeasable = sql`state = 'available' and (authority is null or authority = (select operator from flywheel))`;

/** Ends a batch's lease; the nonce returns to the pool once its value on chain is known (`setNoncesAvailable`). */
export async function releaseNonce(trx: Db, batchId: string): Promise<void> {
  await trx
    .updateTable('nonces')
    .set({ state: 'refreshing', batch_id: null })
    .where('batch_id', '=', batchId)
    .where('state', '=', 'leased')
    .execute();
}

/** Lock under which one process at a time decides how many nonces are missing. */
const PLANNING_LOCK = 0x6e6f6e63; // 'nonc'

/**
 * Records new nonces of an operator until `target` of its nonces in a share are not leased, or the share has `max`. Rows are
 * committed before accounts are created, so that no account is ever created and lost.
 */
export async function planNonces(
  db: Db,
  {
    target,
    max,
    authority,
    share,
    addressOf,
  }: {
    readonly target: number;
    /** Leased ones count: leases go on while the target is decided. */
    readonly max: number;
    readonly authority: Address;
    /** The multisig of an admitted project; null for what all share. */
    readonly share: Address | null;
    readonly addressOf: (seed: string) => Promise<Address>;
  },
): Promise<void> {
  await inTransaction(db, async (trx) => {
    await sql`select pg_advisory_xact_lock(${PLANNING_LOCK})`.execute(trx);
    const { all, leased } = await trx
      .selectFrom('nonces')
      .select((eb) => [
        eb.fn.countAll<bigint>().as('all'),
        eb.fn.countAll<bigint>().filterWhere('state', '=', 'leased').as('leased'),
      ])
      .where('state', '!=', 'closing')
      .where('authority', '=', authority)
      .where('share', 'is not distinct from', share)
      .executeTakeFirstOrThrow();
    const missing = Math.max(0, Math.min(target - Number(all - leased), max - Number(all)));
    if (missing === 0) return;
    const planned = await Promise.all(
      Array.from({ length: missing }, async () => {
        const seed = randomBytes(SEED_BYTES).toString('hex');
        return { address: await addressOf(seed), seed, value: null, state: 'creating' as const, authority, share };
      }),
    );
    await trx.insertInto('nonces').values(planned).execute();
  });
}

/** A seed may have 32 bytes (Solana, `MAX_SEED_LEN`). */
const SEED_BYTES = 16;

/** Payloads are empty: who waits asks again. */
export const NONCES_CHANNEL = 'flywheel_nonces';

/**
 * Makes created or used nonces available with the values that were read, and announces it. It skips those in neither state,
 * because another process was first, and those whose value may be older than the one that is stored: an approval signed on a
 * newer value could still land.
 */
export async function setNoncesAvailable(
  db: Db,
  values: ReadonlyMap<Address, Nonce>,
  { from, to }: ReadSlots,
): Promise<void> {
  if (values.size === 0) return;
  await sql`
    with read as (
      select * from unnest(${[...values.keys()]}::text[], ${[...values.values()]}::text[]) as read (address, value)
    ), changed as (
      update nonces set state = 'available', value = read.value, read_slot = ${to}
      from read
      where nonces.address = read.address and nonces.state in ('creating', 'refreshing')
        and nonces.read_slot <= ${from}
      returning nonces.address
    )
    select pg_notify(${NONCES_CHANNEL}, '') from changed having count(*) > 0
  `.execute(db);
}

/** Finds the nonces in a state, of one operator or of all; those of admitted projects come first. */
export async function findNonces(db: Db, state: NonceState, authority?: Address): Promise<PooledNonce[]> {
  let query = db
    .selectFrom('nonces')
    .select(POOLED)
    .where('state', '=', state)
    .orderBy('share', (order) => order.asc().nullsLast())
    .orderBy('address');
  if (authority !== undefined) query = query.where('authority', '=', authority);
  return query.execute();
}

const POOLED = ['address', 'seed', 'value', 'read_slot as readSlot', 'is_finalized as isFinalized'] as const;

/** Finds the nonces of an operator whose accounts were created, and may still be taken away by a fork. */
export async function findUnfinalizedNonces(db: Db, authority: Address): Promise<PooledNonce[]> {
  return db
    .selectFrom('nonces')
    .select(POOLED)
    .where('authority', '=', authority)
    .where('is_finalized', '=', false)
    .where('state', '!=', 'creating')
    .orderBy('address')
    .execute();
}

/**
 * Records that the accounts of nonces are finalized. A new value of an available one replaces the value that a fork
 * took away.
 */
export async function setNoncesFinalized(db: Db, values: ReadonlyMap<Address, Nonce>): Promise<void> {
  if (values.size === 0) return;
  await sql`
    update nonces set is_finalized = true, value = case when state = 'available' then read.value else nonces.value end
    from unnest(${[...values.keys()]}::text[], ${[...values.values()]}::text[]) as read (address, value)
    where nonces.address = read.address and not is_finalized
  `.execute(db);
}

/** Finds the nonces, in any state, whose operator is not stored: an earlier release created them. */
export async function findNoncesWithoutAuthority(db: Db): Promise<PooledNonce[]> {
  return db.selectFrom('nonces').select(POOLED).where('authority', 'is', null).execute();
}

/** Stores the operator of a nonce, in the place of the one known so far. */
export async function setNonceAuthority(
  db: Db,
  address: Address,
  { from, to }: { readonly from: Address | null; readonly to: Address },
): Promise<void> {
  await db
    .updateTable('nonces')
    .set({ authority: to })
    .where('address', '=', address)
    .where('authority', from === null ? 'is' : '=', from)
    .execute();
}

/** Takes the available nonces of an operator out of the pool, unless a flywheel has that operator. */
export async function withholdNonces(db: Db, authority: Address): Promise<void> {
  await db
    .updateTable('nonces')
    .set({ state: 'refreshing' })
    .where('authority', '=', authority)
    .where('state', '=', 'available')
    .where((eb) => eb.not(eb.exists(eb.selectFrom('flywheels').select('id').where('operator', '=', authority))))
    .execute();
}

/** True if a flywheel has this operator as a member. */
export async function isOperatorInUse(db: Db, operator: Address): Promise<boolean> {
  const row = await db
    .selectFrom('flywheels')
    .select('id')
    .where('operator', '=', operator)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Returns true if a batch's leased nonce belongs to an operator, who alone can advance it. */
export async function isNonceOf(db: Db, batchId: string, operator: Address): Promise<boolean> {
  const row = await db
    .selectFrom('nonces')
    .select('address')
    .where('batch_id', '=', batchId)
    .where('authority', '=', operator)
    .executeTakeFirst();
  return row !== undefined;
}

/** Deletes the nonces of an operator whose key is lost, leased ones too: no approval on one of them can be signed any more. */
export async function retireNonces(db: Db, lost: Address): Promise<number> {
  const { numDeletedRows } = await db.deleteFrom('nonces').where('authority', '=', lost).executeTakeFirst();
  return Number(numDeletedRows);
}

/** Deletes nonces from the pool, except leased ones. @returns the number deleted. */
export async function forgetNonces(db: Db, addresses: readonly Address[]): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('nonces')
    .where('address', 'in', addresses)
    .where('state', '!=', 'leased')
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Finds the slot that a read of a batch's nonce must have reached, so that its value is no older than the stored one. */
export async function findNonceSlot(db: Db, batchId: string): Promise<bigint> {
  const leased = db.selectFrom('nonces').select('read_slot').where('batch_id', '=', batchId);
  return (await leased.executeTakeFirst())?.read_slot ?? 0n;
}

/**
 * Stores the nonce value on which an open batch's approval is rebuilt, after the chain moved the nonce. A value that may be
 * older than the stored one changes nothing.
 */
export async function updateNonceValue(db: Db, batchId: string, value: Nonce, { from, to }: ReadSlots): Promise<void> {
  await inTransaction(db, async (trx) => {
    const open = trx.selectFrom('batches').select('id').where('id', '=', batchId).where('ended_at', 'is', null);
    if ((await open.forUpdate().executeTakeFirst()) === undefined) return;
    const { numUpdatedRows } = await trx
      .updateTable('nonces')
      .set({ value, read_slot: to })
      .where('batch_id', '=', batchId)
      .where('read_slot', '<=', from)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return;
    await trx.updateTable('batches').set({ nonce_value: value }).where('id', '=', batchId).execute();
  });
}
