import { chunksOf } from '@flywheel/protocol';
import { withdrawnLamports } from '../../compile/totals.ts';
import type { Batch, LedgerEntry } from '../../model/batch.ts';
import { utcDay } from '../../model/clock.ts';
import type { Multisig } from '../../model/project.ts';
import type { TransactionCosts } from '../../solana/answers.ts';
import { hasExpired } from '../../solana/send-and-confirm.ts';
import { findBundles } from '../../store/batches/bundles.ts';
import { chargeBatch } from '../../store/batches/exposure.ts';
import { findLedgerEntries, findUnrecorded, insertLedgerEntries } from '../../store/batches/ledger.ts';
import { inTransaction } from '../../store/db.ts';
import type { WorkerDeps } from '../deps.ts';
import { readOutcomes } from './finality.ts';

/**
 * Records the costs of a batch's finalized transactions that have no ledger entry yet, and charges them to the present
 * day. What a fork can still take away is recorded by a later call.
 */
export async function completeLedger(
  { db, chain, clock }: WorkerDeps,
  multisig: Multisig,
  { id: batchId, pipelines }: Pick<Batch, 'id' | 'pipelines'>,
): Promise<void> {
  const withdrawn = withdrawnLamports(pipelines);
  const { slot } = await chain.finalizedBlock();
  const unrecorded = await findUnrecorded(db, batchId, slot);
  // While an engine drops bundles for hours, each attempt adds some that never land.
  const lost = unrecorded.filter(({ isLost }) => isLost).map(({ signature }) => signature);
  const { outcomeOf } = await readOutcomes(chain, [{ signatures: lost }]);
  const sought = unrecorded.filter(({ signature, isLost }) => !isLost || outcomeOf(signature) !== 'unknown');
  for (const some of chunksOf(sought, READS_AT_ONCE)) {
    const entries = await Promise.all(
      some.map(async ({ signature, phase, tipLamports }) => {
        const costs = await chain.transactionCosts(signature);
        return costs && toEntry({ signature, phase, tipLamports }, costs, multisig, withdrawn);
      }),
    );
    await inTransaction(db, async (trx) => {
      const recorded = await insertLedgerEntries(
        trx,
        batchId,
        entries.filter((entry) => entry !== null),
      );
      await chargeBatch(trx, batchId, utcDay(clock.now()), sumOf(recorded));
    });
  }
}

/**
 * Tells whether the ledger of a batch has each transaction that landed: `forgotten` if nodes do not know what it lacks, which
 * has expired: a fork took it away, or they have forgotten it, maybe for a while only. `incomplete` if a later call records
 * more.
 */
export async function judgeLedger(
  { db, chain }: Pick<WorkerDeps, 'db' | 'chain'>,
  { id: batchId }: Pick<Batch, 'id'>,
): Promise<'complete' | 'forgotten' | 'incomplete'> {
  const recorded = new Set((await findLedgerEntries(db, batchId)).map(({ signature }) => signature));
  const lacking = (await findBundles(db, batchId)).flatMap(({ landedSignatures, lastValidBlockHeight }) => {
    const signatures = landedSignatures.filter((signature) => !recorded.has(signature));
    return signatures.length === 0 ? [] : [{ signatures, lastValidBlockHeight }];
  });
  if (lacking.length === 0) return 'complete';
  const finalized = await chain.finalizedBlock();
  const { contextSlot, outcomeOf } = await readOutcomes(chain, lacking);
  const isForgotten = lacking.every(
    ({ signatures, lastValidBlockHeight }) =>
      signatures.every((signature) => outcomeOf(signature) === 'unknown') &&
      hasExpired(finalized, contextSlot, lastValidBlockHeight),
  );
  return isForgotten ? 'forgotten' : 'incomplete';
}

/**
 * A batch may have a thousand transactions, and nodes limit requests. What was read is stored before the next ones are, so that a
 * job whose node refuses some of them comes further with each attempt.
 */
const READS_AT_ONCE = 8;

/**
 * Charges what a batch has cost so far, so that the next attempt, and other batches, are measured with it. If this fails, the
 * closing charges it.
 */
export async function chargeEarly(
  deps: WorkerDeps,
  multisig: Multisig,
  batch: Pick<Batch, 'id' | 'pipelines'>,
): Promise<void> {
  try {
    await completeLedger(deps, multisig, batch);
  } catch (error) {
    deps.log.warn({ batchId: batch.id, err: error }, 'the costs of the batch cannot be read yet');
  }
}

/** Rent that an execution takes from the operator does not return: nothing that it creates is closed later. */
function sumOf(entries: readonly LedgerEntry[]): bigint {
  return entries.reduce((sum, { phase, feeLamports, tipLamports, rentOutLamports }) => {
    return sum + feeLamports + tipLamports + (phase === 'execution' ? rentOutLamports : 0n);
  }, 0n);
}

function toEntry(
  { tipLamports, ...known }: Pick<LedgerEntry, 'signature' | 'phase' | 'tipLamports'>,
  { feePayer, feeLamports, changes, failed }: TransactionCosts,
  { vault }: Pick<Multisig, 'vault'>,
  withdrawn: bigint,
): LedgerEntry {
  // The fee payer is the operator of the time: it pays the rent that goes out, and receives what comes back.
  // A failed transaction pays its fee only.
  const paidTipLamports = failed ? 0n : tipLamports;
  const rent = (changes.get(feePayer) ?? 0n) + feeLamports + paidTipLamports;
  const vaultSpent = -(changes.get(vault) ?? 0n);
  // The withdrawn amount is not a cost. A withdrawal has one pipeline, so one transaction takes that amount.
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
