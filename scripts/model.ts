/**
 * Checks the model of the landing protocol in docs/model: `npm run model`. `npm run model -- --small` is the size of CI. Each
 * size is searched exhaustively; each seeded error must be found. Needs Spin and a C compiler, and says so without them.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const MODEL = fileURLToPath(new URL('../docs/model/landing.pml', import.meta.url));
/** Megabytes. The search ends with an error rather than use more. */
const MAX_MEMORY = 6_000;
const MAX_DEPTH = 1_000_000;

/** Macros of the model by size. Those that are not named are 0, and there are two batches without a rotation. */
const SMALL: readonly string[] = [
  '',
  'LOSSES=1',
  'CRASHES=1',
  'FAILURES=1',
  'CANCELS=2',
  'TAKEOVERS=1',
  'BATCHES=3',
  'BATCHES=3 CANCELS=1 LOSSES=1',
];
const LARGE: readonly string[] = ['CANCELS=1 FAILURES=1 CRASHES=1', 'FORKS=1', 'CANCELS=1 LOSSES=1 TAKEOVERS=1'];
/** Seeded errors, each in the size that shows it, with the start of what the checker answers. */
const ERRORS: readonly (readonly [macros: string, violation: string])[] = [
  ['ROW_AFTER_SEND CRASHES=1 CANCELS=1', 'assertion violated'],
  ['NO_PHASE CANCELS=1', 'assertion violated'],
  ['CANCEL_BEGUN CANCELS=1', 'assertion violated'],
  ['EXECUTED_EARLY FORKS=1', 'assertion violated'],
  ['END_UNSETTLED CANCELS=1 CRASHES=1', 'assertion violated'],
  ['NO_DRAIN BATCHES=3', 'invalid end state'],
];

for (const tool of ['spin', 'cc']) {
  if (spawnSync(tool, [tool === 'spin' ? '-V' : '--version']).error === undefined) continue;
  say(`The model is not checked: ${tool} is missing. On Debian: apt-get install spin gcc.`);
  process.exit(process.argv.includes('--small') ? 0 : 1);
}

const folder = await mkdtemp(join(tmpdir(), 'flywheel-model-'));
try {
  const sizes = process.argv.includes('--small') ? SMALL : [...SMALL, ...LARGE];
  for (const macros of sizes) {
    const { violation, states, seconds } = check(macros);
    say(`${macros || 'no adversity'}: ${states} states, ${seconds} s, ${violation ?? 'every invariant holds'}`);
    if (violation !== null) process.exitCode = 1;
  }
  for (const [macros, expected] of ERRORS) {
    const { violation, steps } = check(macros);
    say(`${macros}: ${violation === null ? 'NOT FOUND' : `found after ${steps} steps: ${violation}`}`);
    if (!violation?.startsWith(expected) || violation.includes('rows<')) process.exitCode = 1;
  }
} finally {
  await rm(folder, { recursive: true });
}

/** Compiles the model with these macros and searches all of its states, up to the first violation. */
function check(macros: string) {
  const defines = macros.split(' ').flatMap((macro) => (macro === '' ? [] : [`-D${macro}`]));
  run('spin', [...defines, '-a', MODEL]);
  const limits = ['-DSAFETY', '-DCOLLAPSE', '-DVECTORSZ=4096', `-DMEMLIM=${MAX_MEMORY}`];
  run('cc', ['-O1', '-w', ...limits, '-o', 'pan', 'pan.c']);
  const startMs = performance.now();
  const output = run(join(folder, 'pan'), ['-n', `-m${MAX_DEPTH}`]);
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(1);
  const states = /(\S+) states, stored/.exec(output)?.[1];
  const isComplete =
    /errors: \d/.test(output) && !/max search depth|out of memory|Search not completed\s+pan: reached/.test(output);
  if (states === undefined || !isComplete) throw new Error(`The search of "${macros}" is not complete:\n${output}`);
  const [, violation = null, steps = null] = /^pan:1: (.*) \(at depth (\d+)\)$/m.exec(output) ?? [];
  return { violation, steps, states, seconds };
}

function run(command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  if (error || status !== 0)
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error });
  return stdout;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
