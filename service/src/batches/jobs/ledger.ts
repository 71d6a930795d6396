import type { Signature } from '@solana/kit';
import type { Batch, LedgerEntry } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import type { TransactionCosts } from '../../solana/chain.ts';
import { findUnrecorded, insertLedgerEntries } from '../../store/ledger.ts';
import type { WorkerDeps } from '../deps.ts';

/**
 * Records what every transaction of a batch has cost that is on chain and not recorded yet. What never landed cost
 * nothing and is not in it.
 */
export async function completeLedger(
  { db, chain }: WorkerDeps,
  multisig: Multisig,
  { id: batchId }: Pick<Batch, 'id'>,
): Promise<void> {
  const unrecorded = await findUnrecorded(db, batchId);
  const entries = await Promise.all(
    unrecorded.map(async ({ signature, ...known }) => {
      const costs = await chain.transactionCosts(signature as Signature);
      return costs && toEntry({ signature, ...known }, costs, multisig);
    }),
  );
  await insertLedgerEntries(
    db,
    batchId,
    entries.filter((entry) => entry !== null),
  );
}

function toEntry(
  { tipLamports, ...known }: Pick<LedgerEntry, 'signature' | 'phase' | 'tipLamports'>,
  { feeLamports, changes, failed }: TransactionCosts,
  { operator, vault }: Multisig,
): LedgerEntry {
  // A transaction that failed has paid its fee and nothing else.
  const paidTipLamports = failed ? 0n : tipLamports;
  const rent = (changes.get(operator) ?? 0n) + feeLamports + paidTipLamports;
  const vaultChange = changes.get(vault) ?? 0n;
  return {
    ...known,
    feeLamports,
    tipLamports: paidTipLamports,
    rentOutLamports: rent < 0n ? -rent : 0n,
    rentBackLamports: rent > 0n ? rent : 0n,
    vaultRentLamports: vaultChange < 0n ? -vaultChange : 0n,
  };
}
