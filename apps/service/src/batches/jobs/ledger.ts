import type { Signature } from '@solana/kit';
import { withdrawnLamports } from '../../compile/withdraw.ts';
import type { Batch, LedgerEntry } from '../../model/batch.ts';
import type { Multisig } from '../../model/project.ts';
import type { TransactionCosts } from '../../solana/chain.ts';
import { findUnrecorded, insertLedgerEntries } from '../../store/landing/ledger.ts';
import type { WorkerDeps } from '../deps.ts';

/**
 * Records what every transaction of a batch has cost that is on chain and not recorded yet. What never landed cost
 * nothing and is not in it.
 */
export async function completeLedger(
  { db, chain }: WorkerDeps,
  multisig: Multisig,
  { id: batchId, pipelines = [] }: Pick<Batch, 'id'> & Partial<Pick<Batch, 'pipelines'>>,
): Promise<void> {
  const withdrawn = withdrawnLamports(pipelines);
  const unrecorded = await findUnrecorded(db, batchId);
  const entries = await Promise.all(
    unrecorded.map(async ({ signature, ...known }) => {
      const costs = await chain.transactionCosts(signature as Signature);
      return costs && toEntry({ signature, ...known }, costs, multisig, withdrawn);
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
  withdrawn: bigint,
): LedgerEntry {
  // A transaction that failed has paid its fee and nothing else.
  const paidTipLamports = failed ? 0n : tipLamports;
  const rent = (changes.get(operator) ?? 0n) + feeLamports + paidTipLamports;
  const vaultSpent = -(changes.get(vault) ?? 0n);
  // What a withdrawal moves is no cost of it. It has one pipeline: the one transaction that takes that much from the vault.
  const vaultRent = vaultSpent < withdrawn ? vaultSpent : vaultSpent - withdrawn;
  return {
    ...known,
    feeLamports,
    tipLamports: paidTipLamports,
    rentOutLamports: rent < 0n ? -rent : 0n,
    rentBackLamports: rent > 0n ? rent : 0n,
    vaultRentLamports: vaultRent > 0n ? vaultRent : 0n,
  };
}
