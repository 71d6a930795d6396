import type { LedgerEntry } from '../../model/batch.ts';
import { checkSignature, checkSignatures } from '../damaged-record.ts';
import type { Db } from '../db.ts';

/** A transaction that was sent and has no ledger entry. */
export interface Unrecorded extends Pick<LedgerEntry, 'signature' | 'phase' | 'tipLamports'> {
  /** True if nothing of its bundle had landed when the bundle was settled. */
  readonly isLost: boolean;
}

/**
 * Finds the transactions of a batch's settled bundles that the ledger does not contain, without those that landed after a slot.
 * @throws DamagedRecord
 */
export async function findUnrecorded(db: Db, batchId: string, upToSlot: bigint): Promise<Unrecorded[]> {
  const bundles = await db
    .selectFrom('bundles')
    .select(['id', 'phase', 'signatures', 'tip_lamports', 'state', 'landed_slot'])
    .where('batch_id', '=', batchId)
    .where('state', '!=', 'sent')
    .where((eb) => eb.or([eb('landed_slot', 'is', null), eb('landed_slot', '<=', upToSlot)]))
    .orderBy('id')
    .execute();
  const recorded = await db.selectFrom('ledger_entries').select('signature').where('batch_id', '=', batchId).execute();
  const known = new Set<string>(recorded.map(({ signature }) => signature));
  return bundles.flatMap(({ id, phase, signatures, tip_lamports, state, landed_slot }) =>
    checkSignatures(`bundle ${id} of batch ${batchId}`, 'signatures', signatures)
      // The tip is in a bundle's last transaction.
      .map((signature, i) => ({
        ...{ signature, phase, tipLamports: i === signatures.length - 1 ? tip_lamports : 0n },
        isLost: state === 'failed' && landed_slot === null,
      }))
      .filter(({ signature }) => !known.has(signature)),
  );
}

/**
 * Stores ledger entries; a transaction is recorded once, however often it is read.
 * @returns those that were not stored before.
 */
export async function insertLedgerEntries(
  db: Db,
  batchId: string,
  entries: readonly LedgerEntry[],
): Promise<LedgerEntry[]> {
  if (entries.length === 0) return [];
  const rows = await db
    .insertInto('ledger_entries')
    .values(
      entries.map((entry) => ({
        signature: entry.signature,
        batch_id: batchId,
        phase: entry.phase,
        fee_lamports: entry.feeLamports,
        tip_lamports: entry.tipLamports,
        rent_out_lamports: entry.rentOutLamports,
        rent_back_lamports: entry.rentBackLamports,
        vault_rent_lamports: entry.vaultRentLamports,
      })),
    )
    .onConflict((conflict) => conflict.column('signature').doNothing())
    .returning('signature')
    .execute();
  const stored = new Set<string>(rows.map(({ signature }) => signature));
  return entries.filter(({ signature }) => stored.has(signature));
}

/** Reads the ledger of a batch, in the order in which it was recorded. @throws DamagedRecord if a signature is not one. */
export async function findLedgerEntries(db: Db, batchId: string): Promise<LedgerEntry[]> {
  const rows = await db
    .selectFrom('ledger_entries')
    .select(['signature', 'phase', 'fee_lamports', 'tip_lamports'])
    .select(['rent_out_lamports', 'rent_back_lamports', 'vault_rent_lamports'])
    .where('batch_id', '=', batchId)
    .orderBy('id')
    .execute();
  return rows.map((row) => ({
    signature: checkSignature(`the ledger of batch ${batchId}`, 'signature', row.signature),
    phase: row.phase,
    feeLamports: row.fee_lamports,
    tipLamports: row.tip_lamports,
    rentOutLamports: row.rent_out_lamports,
    rentBackLamports: row.rent_back_lamports,
    vaultRentLamports: row.vault_rent_lamports,
  }));
}
