import assert from 'node:assert/strict';
import { permission } from '../../../src/squads-emulation/program/accounts.ts';
import type { Cast } from '../cast.ts';
import type { LookupTable } from '../compile-vault-message.ts';
import { multisigCreateV2 } from '../instructions.ts';
import type { TransactionInput } from '../transaction.ts';
import { act } from './act.ts';
import type { RunPlan } from './run-plan.ts';
import { type Comparison, createTwinChains } from './twin-chains.ts';

/** Carries out a run on both chains; throws at the first difference. */
export async function compareRun(
  cast: Cast,
  table: LookupTable,
  plan: RunPlan,
  programFile: string,
): Promise<Comparison[]> {
  const { creationFeeLamports, isControlled, timeLockSeconds, hasRentCollector, walletLamports } = plan;
  const chains = createTwinChains(cast, programFile, { creationFeeLamports, walletLamports, lookupTable: table });
  const { operator, company, wallet, createKey, treasury } = cast;
  const founding = multisigCreateV2({
    createKey,
    creator: operator,
    treasury,
    members: [
      { address: operator, permissions: permission.initiate | permission.execute },
      { address: company, permissions: permission.vote },
      { address: wallet, permissions: permission.vote },
    ],
    threshold: 2,
    timeLockSeconds,
    configAuthority: isControlled ? operator : null,
    rentCollector: hasRentCollector ? operator : null,
  });
  const comparisons: Comparison[] = [];
  const send = async (input: TransactionInput) => {
    const comparison = await chains.send(input);
    assert.deepEqual(comparison.differences, [], `transaction ${comparisons.length}`);
    comparisons.push(comparison);
  };
  await send({ feePayer: operator, instructions: [founding] });
  for (const transaction of plan.transactions) {
    chains.advanceSeconds(BigInt(transaction.waitSeconds));
    await send(await act({ cast, svm: chains.svm, table }, transaction));
  }
  return comparisons;
}
