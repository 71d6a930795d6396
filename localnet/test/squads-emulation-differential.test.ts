import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { TransactionError } from '../src/runtime.ts';
import { failedInstruction } from '../src/squads-emulation/failure.ts';
import { createCast } from './squads/cast.ts';
import { compareRun } from './squads/compare-run.ts';
import { runPlan } from './squads/fuzz-plan.ts';
import { createLookupTable } from './squads/lookup-table.ts';

const programFile = process.env.FLYWHEEL_SQUADS_PROGRAM ?? '';
const hasProgram = programFile !== '' && programFile !== 'emulation';
const skip = hasProgram ? false : 'FLYWHEEL_SQUADS_PROGRAM names no file of the real program to compare with';

const TRANSACTIONS_PER_RUN = 60;
// Runs are half as long on average as they may be.
const runs = Math.ceil((2 * Number(process.env.FLYWHEEL_FUZZ_TRANSACTIONS ?? 400)) / TRANSACTIONS_PER_RUN);
const seed = Number(process.env.FLYWHEEL_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

describe('the Squads emulation beside the real program', { skip }, () => {
  it('leaves the same errors, accounts and inner instructions after every transaction', async (test) => {
    const cast = await createCast('fuzz');
    const table = await createLookupTable(cast);
    const outcomes: (TransactionError | null)[] = [];
    test.diagnostic(`seed ${seed}, ${runs} runs of up to ${TRANSACTIONS_PER_RUN} transactions`);
    const property = fc.asyncProperty(runPlan(TRANSACTIONS_PER_RUN), async (plan) => {
      outcomes.push(...(await compareRun(cast, table, plan, programFile)));
    });
    await fc.assert(property, { seed, numRuns: runs });
    const succeeded = outcomes.filter((err) => err === null).length;
    test.diagnostic(`${outcomes.length} transactions compared, ${succeeded} of them succeeded`);
    test.diagnostic(`the others: ${JSON.stringify(Object.fromEntries(countKinds(outcomes)))}`);
  });
});

/** How often each error came, whatever instruction it was of. */
function countKinds(outcomes: readonly (TransactionError | null)[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const err of outcomes.filter((outcome) => outcome !== null)) {
    const kind = JSON.stringify(failedInstruction(err)?.detail ?? err);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return new Map([...counts].toSorted(([, a], [, b]) => b - a));
}
