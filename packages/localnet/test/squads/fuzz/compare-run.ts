import assert from 'node:assert/strict';
import { type LookupTable, PERMISSION } from '@flywheel/squads';
import type { TestAccounts } from '../accounts.ts';
import { multisigCreateV2 } from '../instructions.ts';
import type { TransactionInput } from '../transaction.ts';
import { act } from './act.ts';
import type { RunPlan } from './run-plan.ts';
import { type Comparison, createTwinChains } from './twin-chains.ts';

/** Runs a plan on both chains; throws at the first mismatch. */
export async function compareRun(
  accounts: TestAccounts,
  table: LookupTable,
  plan: RunPlan,
  programFile: string,
): Promise<Comparison[]> {
  const { creationFeeLamports, isControlled, timeLockSeconds, hasRentCollector, walletLamports } = plan;
  const chains = createTwinChains(accounts, programFile, { creationFeeLamports, walletLamports, lookupTable: table });
  const { operator, company, wallet, createKey, treasury } = accounts;
  const multisigInput = multisigCreateV2({
    createKey,
    creator: operator,
    treasury,
    members: [
      { key: operator, permissions: { mask: PERMISSION.initiate | PERMISSION.execute } },
      { key: company, permissions: { mask: PERMISSION.vote } },
      { key: wallet, permissions: { mask: PERMISSION.vote } },
    ],
    threshold: 2,
    timeLock: timeLockSeconds,
    configAuthority: isControlled ? operator : null,
    rentCollector: hasRentCollector ? operator : null,
  });
  const comparisons: Comparison[] = [];
  const send = async (input: TransactionInput) => {
    const comparison = await chains.send(input);
    assert.deepEqual(comparison.mismatches, [], `transaction ${comparisons.length}`);
    comparisons.push(comparison);
  };
  await send({ feePayer: operator, instructions: [multisigInput] });
  for (const transaction of plan.transactions) {
    chains.advanceSeconds(BigInt(transaction.waitSeconds));
    await send(await act({ accounts, svm: chains.svm, table }, transaction));
  }
  return comparisons;
}
