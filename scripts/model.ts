/**
 * Checks the model of the landing protocol in docs/model: `npm run model`. Each size is searched exhaustively; each seeded error
 * must be found. `--small` leaves out what takes more than two seconds to search. `--full` searches the size with everything at once for
 * twenty minutes, as far as that goes. Needs Spin and a C compiler, and says so without them.
 */
import { compileModel, describeMissingTools } from '@flywheel/testing/model';

/** Megabytes. The search ends with an error rather than use more. */
const MAX_MEMORY = 6_000;
const MAX_DEPTH = 3_000_000;

/** Macros of the model by size. Those that are not named are 0, and there are two batches without a rotation. */
const SMALL: readonly string[] = ['CRASHES=1', 'N_A=1 CANCELS=1 LOSSES=1', 'BATCHES=3 N_A=1 CANCELS=1'];
const LARGE: readonly string[] = [
  'N_A=1 CANCELS=1 FAILURES=1 LOSSES=1',
  'TAKEOVERS=1',
  'N_A=1 FORKS=1',
  'BATCHES=1 FORKS=1',
  'CANCELS=1 FAILURES=1 LOSSES=1',
  'CANCELS=1 FAILURES=1 CRASHES=1',
  'N_A=1 CANCELS=1 LOSSES=1 TAKEOVERS=1',
  'BATCHES=3 CANCELS=1 LOSSES=1',
  'BATCHES=3 N_A=1 CANCELS=1 CRASHES=1',
];
/** Sizes in which every run ends, if every process that can go on does so. */
const SMALL_PROGRESS: readonly string[] = ['N_A=1 CRASHES=1'];
const LARGE_PROGRESS: readonly string[] = [
  'BATCHES=3 N_A=1 CANCELS=1',
  'N_A=1 CANCELS=1 FAILURES=1',
  'BATCHES=1 FORKS=1',
];
/** One worker of each lane, two batches of one multisig and a rotation, four pipelines and more bundles, two crashes, a fork, and losses. */
const FULL = 'BATCHES=3 CRASHES=2 FORKS=1 LOSSES=1 ROWS=16';
/** 2^35 bits of memory, three for each state: 4 GB. */
const FULL_OPTIONS = ['-w35', '-k3', '-Q20'] as const;

const ASSERTION = 'assertion violated';
/** Seeded errors, each in the size that shows it, with the start of what the checker answers. */
const SMALL_ERRORS: readonly (readonly [macros: string, violation: string])[] = [
  ['ROW_AFTER_SEND CRASHES=1 CANCELS=1', ASSERTION],
  ['NO_PHASE CANCELS=1', ASSERTION],
  ['CANCEL_BEGUN CANCELS=1', ASSERTION],
  ['EXECUTED_EARLY FORKS=1', ASSERTION],
  ['END_UNSETTLED CANCELS=1 CRASHES=1', ASSERTION],
  ['STATUS_BEFORE_HEIGHT LOSSES=1', ASSERTION],
  ['NEW_SIGNATURES CRASHES=1', ASSERTION],
  ['CONFIRMED_DECIDES FORKS=1 FAILURES=1', ASSERTION],
  ['LIMITS_TWICE BATCHES=3 CANCELS=1', ASSERTION],
  ['BURN_UNSETTLED CANCELS=1 CRASHES=1', ASSERTION],
  ['NO_DRAIN BATCHES=3', 'invalid end state'],
];
const LARGE_ERRORS: typeof SMALL_ERRORS = [
  ['NO_FENCE CANCELS=1 TAKEOVERS=1', ASSERTION],
  ['SETUP_ENDS_BEGUN N_A=1 CANCELS=1 FORKS=1', ASSERTION],
];
const PROGRESS_ERRORS: typeof SMALL_ERRORS = [['NO_BURN CANCELS=1', 'acceptance cycle']];

const isSmall = process.argv.includes('--small');
const missing = describeMissingTools();
if (missing !== null) {
  say(`The model is not checked: ${missing}`);
  process.exit(1);
}
if (process.argv.includes('--full')) {
  await expectNone(FULL, search(FULL, ['SAFETY', 'BITSTATE'], FULL_OPTIONS));
} else {
  const safe = (macros: string) => search(macros, ['SAFETY', 'COLLAPSE']);
  const live = (macros: string) => search(`PROGRESS ${macros}`, ['COLLAPSE', 'NFAIR=3'], ['-a', '-f']);
  for (const macros of isSmall ? SMALL : [...SMALL, ...LARGE]) await expectNone(macros, safe(macros));
  for (const macros of isSmall ? SMALL_PROGRESS : [...SMALL_PROGRESS, ...LARGE_PROGRESS]) {
    await expectNone(`progress, ${macros}`, live(macros));
  }
  for (const [macros, expected] of isSmall ? SMALL_ERRORS : [...SMALL_ERRORS, ...LARGE_ERRORS]) {
    await expectFound(macros, expected, safe(macros));
  }
  for (const [macros, expected] of PROGRESS_ERRORS) await expectFound(macros, expected, live(macros));
}

interface Search {
  /** The first violation, and the steps that lead to it; null if there is none. */
  readonly violation: string | null;
  readonly steps: string | null;
  readonly states: string;
  readonly seconds: string;
  /** False if states may be left. */
  readonly isComplete: boolean;
}

/** Searches the states of a size, up to the first violation. */
async function search(macros: string, modes: readonly string[], options: readonly string[] = []): Promise<Search> {
  const checker = await compileModel(macros, [...modes, `MEMLIM=${MAX_MEMORY}`], isSmall ? 'short' : 'long');
  try {
    const output = await checker.search(['-n', `-m${MAX_DEPTH}`, ...options]);
    const states = /(\S+) states, stored/.exec(output)?.[1];
    const isWhole = !/max search depth|out of memory|time limit/.test(output);
    if (states === undefined) throw new Error(`The search of "${macros}" has no result:\n${output}`);
    const [, violation = null, steps = null] = /^pan:1: (.*) \(at depth (\d+)\)$/m.exec(output) ?? [];
    const seconds = /elapsed time (\S+) seconds/.exec(output)?.[1] ?? '0';
    return { violation, steps, states, seconds, isComplete: isWhole && !modes.includes('BITSTATE') };
  } finally {
    await checker.close();
  }
}

async function expectNone(name: string, searching: Promise<Search>): Promise<void> {
  const { violation, states, seconds, isComplete } = await searching;
  say(`${name}: ${states} states, ${seconds} s, ${violation ?? (isComplete ? 'none is wrong' : 'none found wrong')}`);
  if (violation !== null || !(isComplete || name === FULL)) process.exitCode = 1;
}

async function expectFound(macros: string, expected: string, searching: Promise<Search>): Promise<void> {
  const { violation, steps } = await searching;
  say(`${macros}: ${violation === null ? 'NOT FOUND' : `found after ${steps} steps: ${violation}`}`);
  if (!violation?.startsWith(expected) || violation.includes('rows<')) process.exitCode = 1;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
