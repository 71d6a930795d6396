import { maxRentLamports } from '@flywheel/protocol';
import type { Bundle } from '@flywheel/service/internal/model/batch.ts';
import { findBundles } from '@flywheel/service/internal/store/batches/bundles.ts';
import { findLedgerEntries } from '@flywheel/service/internal/store/batches/ledger.ts';
import type { Db } from '@flywheel/service/internal/store/db.ts';
import { decodeTransaction } from '@flywheel/testing/values';
import { getCompiledTransactionMessageDecoder } from '@solana/kit';
import {
  COMPUTE_BUDGET_PROGRAM_ADDRESS,
  getSetComputeUnitLimitInstructionDataDecoder,
  SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR,
} from '@solana-program/compute-budget';
import { getNonceSize } from '@solana-program/system';
import type { Amount } from './unit-costs.ts';

type OnChain = Readonly<
  Record<
    Extract<Amount, 'bundles' | 'transactions' | 'computeUnits' | 'spentLamports' | 'lockedLamports' | 'aloneMs'>,
    number
  >
>;

/** Reads what closed batches took on chain, one of them on average, by phase. The closing's time is that after the finality. */
export async function readOnChain(
  db: Db,
  ids: readonly string[],
): Promise<Readonly<Record<'setup' | 'execution' | 'closing', OnChain>>> {
  const [setup, execution, close] = await Promise.all(
    (['setup', 'execution', 'close'] as const).map(async (phase) => {
      const batches = await Promise.all(ids.map((id) => readPhase(db, id, phase)));
      const mean = (of: (one: OnChain) => number) => batches.reduce((sum, one) => sum + of(one), 0) / ids.length;
      return {
        bundles: mean(({ bundles }) => bundles),
        transactions: mean(({ transactions }) => transactions),
        computeUnits: mean(({ computeUnits }) => computeUnits),
        spentLamports: mean(({ spentLamports }) => spentLamports),
        lockedLamports: mean(({ lockedLamports }) => lockedLamports),
        aloneMs: mean(({ aloneMs }) => aloneMs),
      };
    }),
  );
  if (!setup || !execution || !close) throw new Error('Three phases were read.');
  return { setup, execution, closing: close };
}

async function readPhase(db: Db, id: string, phase: Bundle['phase']): Promise<OnChain> {
  const bundles = (await findBundles(db, id, phase)).filter(({ landedSignatures }) => landedSignatures.length > 0);
  const entries = (await findLedgerEntries(db, id)).filter((entry) => entry.phase === phase);
  const transactions = bundles.flatMap((bundle) => bundle.transactions);
  const sum = (of: (entry: (typeof entries)[number]) => bigint) =>
    Number(entries.reduce((total, entry) => total + of(entry), 0n));
  const rent = sum(({ rentOutLamports, rentBackLamports }) => rentOutLamports - rentBackLamports);
  return {
    bundles: bundles.length,
    transactions: transactions.length,
    computeUnits: transactions.reduce((total, wire) => total + declaredUnits(wire), 0),
    spentLamports: sum(({ feeLamports, tipLamports }) => feeLamports + tipLamports),
    lockedLamports: phase === 'setup' ? rent + NONCE_LAMPORTS : 0,
    aloneMs: phase === 'close' ? await closingMs(db, id) : 0,
  };
}

const NONCE_LAMPORTS = Number(maxRentLamports(getNonceSize()));

/** Reads how long the job took that closes a batch: until its last bundle was settled, not until that is finalized. */
async function closingMs(db: Db, id: string): Promise<number> {
  const row = await db
    .selectFrom('batches')
    .innerJoin('bundles', 'bundles.batch_id', 'batches.id')
    .select((eb) => ['end_finalized_at as from', eb.fn.max('settled_at').as('to')])
    .where('batches.id', '=', id)
    .where('phase', '=', 'close')
    .groupBy('end_finalized_at')
    .executeTakeFirst();
  return row?.from && row.to ? row.to.getTime() - row.from.getTime() : 0;
}

/** Reads the compute-unit limit of a transaction. */
function declaredUnits(wire: string): number {
  const { messageBytes } = decodeTransaction(wire);
  const message = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (message.version === 1) {
    // Values stand in the order of the mask’s bits: two for the fee, then the limit (SIMD-0385).
    const limit = message.configValues.find(({ kind }) => kind === 'u32');
    return Number(limit?.value ?? 0);
  }
  for (const { programAddressIndex, data } of message.instructions) {
    const isBudget = message.staticAccounts[programAddressIndex] === COMPUTE_BUDGET_PROGRAM_ADDRESS;
    if (isBudget && data?.[0] === SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR) {
      return getSetComputeUnitLimitInstructionDataDecoder().decode(data).units;
    }
  }
  return 0;
}
