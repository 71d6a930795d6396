import { describe, it } from 'node:test';
import fc from 'fast-check';
import { failedInstruction } from '../src/squads-emulation/failure.ts';
import { createAccounts } from './squads/accounts.ts';
import { compareRun } from './squads/fuzz/compare-run.ts';
import { runPlan } from './squads/fuzz/run-plan.ts';
import type { Comparison } from './squads/fuzz/twin-chains.ts';
import { createLookupTable } from './squads/lookup-table.ts';

const programFile = process.env.FLYWHEEL_SQUADS_PROGRAM ?? '';
const hasProgram = programFile !== '' && programFile !== 'emulation';
const skip = hasProgram ? false : 'FLYWHEEL_SQUADS_PROGRAM names no file of the real program to compare with';

const TRANSACTIONS_PER_RUN = 60;
// A run has half of its maximum length on average.
const runs = Math.ceil((2 * Number(process.env.FLYWHEEL_FUZZ_TRANSACTIONS ?? 500)) / TRANSACTIONS_PER_RUN);
const seed = Number(process.env.FLYWHEEL_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

describe('the Squads emulation compared with the real program', { skip }, () => {
  it('has the same errors, accounts and inner instructions after every transaction', async (test) => {
    const accounts = await createAccounts('fuzz');
    const table = await createLookupTable(accounts);
    const comparisons: Comparison[] = [];
    test.diagnostic(`seed ${seed}, ${runs} runs of up to ${TRANSACTIONS_PER_RUN} transactions`);
    const property = fc.asyncProperty(runPlan(TRANSACTIONS_PER_RUN), async (plan) => {
      comparisons.push(...(await compareRun(accounts, table, plan, programFile)));
    });
    await fc.assert(property, { seed, numRuns: runs });
    for (const line of summarize(comparisons)) test.diagnostic(line);
  });
});

function summarize(comparisons: readonly Comparison[]): string[] {
  const errors = comparisons.map(({ real }) => real.err).filter((err) => err !== null);
  const kinds = Map.groupBy(errors, (err) => JSON.stringify(failedInstruction(err)?.detail ?? err));
  const counts = Array.from(kinds, ([kind, { length }]) => ({ kind, length })).toSorted((a, b) => b.length - a.length);
  const known = comparisons.filter(({ isKnownDifference }) => isKnownDifference).length;
  return [
    `${comparisons.length} transactions compared, ${comparisons.length - errors.length} of them succeeded`,
    `${known} failed on both with errors that differ for a known reason`,
    `failures: ${counts.map(({ kind, length }) => `${length} ${kind}`).join(', ')}`,
  ];
}
