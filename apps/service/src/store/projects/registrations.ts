import type { RegistrationRequest } from '@flywheel/api';
import type { Address, ReadonlyUint8Array } from '@solana/kit';
import { sql } from 'kysely';
import type { Multisig, Token } from '../../model/project.ts';
import { type Db, inTransaction } from '../db.ts';

/** A registration whose transaction the wallet has not yet signed. */
export interface RegistrationRecord {
  readonly id: string;
  readonly wallet: Address;
  readonly request: RegistrationRequest;
  readonly token: Token;
  readonly multisig: Multisig;
  /**
   * Key that determined the multisig's address. Its signature is in the transaction, and the private key was discarded.
   */
  readonly createKey: Address;
  /** Message of the transaction, byte for byte. */
  readonly message: Uint8Array;
  readonly lastValidBlockHeight: bigint;
  readonly createdAt: Date;
}

/** Milliseconds for which an unpaid registration is kept. It can be paid for two minutes, and clients wait for its confirmation for another two. */
export const UNPAID_REGISTRATION_MS = 3_600_000;

/** How many registrations may be pending at once. */
export interface PendingBounds {
  readonly max: { readonly wallet: number; readonly address: number };
  /** A registration that was begun before it, and has not become a project, does not count. */
  readonly unpaidSince: Date;
  /** True if a registration that has become a project counts until the company has admitted it. */
  readonly untilAdmitted: boolean;
}

/** A bound that is reached. */
export interface ReachedBound extends Pick<PendingBounds, 'untilAdmitted'> {
  readonly of: 'wallet' | 'address';
  readonly pending: number;
  readonly max: number;
}

/**
 * Stores a registration.
 * @returns null if it is stored; otherwise the first bound that its wallet or its network has reached.
 */
export async function insertRegistration(
  db: Db,
  registration: Omit<RegistrationRecord, 'message'> & NewFacts,
  bounds: readonly PendingBounds[],
): Promise<ReachedBound | null> {
  return inTransaction(db, async (trx) => {
    await lockRegistrations(trx, registration);
    for (const each of bounds) {
      const reached = await findReachedBound(trx, registration, each);
      if (reached !== null) return reached;
    }
    await insert(trx, registration);
    return null;
  });
}

interface NewFacts {
  readonly message: ReadonlyUint8Array;
  /** Network of the client. */
  readonly network: string;
}

type Registrant = Pick<RegistrationRecord, 'wallet'> & Pick<NewFacts, 'network'>;

/** Makes simultaneous requests of one wallet or one network count one after another. */
async function lockRegistrations(trx: Db, { wallet, network }: Registrant): Promise<void> {
  for (const name of [`registrations of wallet ${wallet}`, `registrations of network ${network}`]) {
    await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(trx);
  }
}

async function findReachedBound(
  trx: Db,
  { wallet, network }: Registrant,
  { max, unpaidSince, untilAdmitted }: PendingBounds,
): Promise<ReachedBound | null> {
  const { rows } = await sql<{ wallet: bigint; address: bigint }>`
    select
      count(*) filter (where wallet = ${wallet}) as wallet,
      count(*) filter (where network = ${network}) as address
    from registrations
    where (wallet = ${wallet} or network = ${network}) and case
      when project_id is null then created_at > ${unpaidSince}
      else ${untilAdmitted}::boolean and not exists (
        select from flywheels join company_admissions on company_admissions.multisig = flywheels.multisig
        where flywheels.project_id = registrations.project_id
      )
    end
  `.execute(trx);
  for (const bound of ['wallet', 'address'] as const) {
    const pending = Number(rows[0]?.[bound] ?? 0n);
    if (pending >= max[bound]) return { of: bound, pending, max: max[bound], untilAdmitted };
  }
  return null;
}

async function insert(trx: Db, registration: Omit<RegistrationRecord, 'message'> & NewFacts): Promise<void> {
  await trx
    .insertInto('registrations')
    .values({
      id: registration.id,
      wallet: registration.wallet,
      network: registration.network,
      request: JSON.stringify(registration.request),
      token: JSON.stringify(registration.token),
      multisig: JSON.stringify(registration.multisig),
      create_key: registration.createKey,
      message: new Uint8Array(registration.message),
      last_valid_block_height: registration.lastValidBlockHeight,
      created_at: registration.createdAt,
    })
    .execute();
}

/** Finds a registration; null also for another wallet's, and for one that has become a project. */
export async function findRegistration(
  db: Db,
  registrationId: string,
  wallet: Address,
): Promise<RegistrationRecord | null> {
  const row = await db
    .selectFrom('registrations')
    .select(['id', 'wallet', 'request', 'token', 'multisig', 'create_key', 'message'])
    .select(['last_valid_block_height', 'created_at'])
    .where('id', '=', registrationId)
    .where('wallet', '=', wallet)
    .where('project_id', 'is', null)
    .executeTakeFirst();
  if (!row) return null;
  return {
    id: row.id,
    wallet: row.wallet,
    request: row.request,
    token: row.token,
    // A registration of an earlier release has neither.
    multisig: {
      ...row.multisig,
      rentCollector: row.multisig.rentCollector ?? row.multisig.operator,
      recovery: row.multisig.recovery ?? null,
    },
    createKey: row.create_key,
    message: row.message,
    lastValidBlockHeight: row.last_valid_block_height,
    createdAt: row.created_at,
  };
}

/**
 * Claims a registration for the project that this transaction inserts, before or after.
 * @returns false if another transaction has claimed it: of two simultaneous calls the second waits for the first.
 */
export async function completeRegistration(trx: Db, registrationId: string, projectId: string): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('registrations')
    .set({ project_id: projectId })
    .where('id', '=', registrationId)
    .where('project_id', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
