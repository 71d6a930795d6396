/**
 * Runs the lanes and files in the arguments, or all lanes but the image’s: `node test/run.ts unit apps/cli/test/demo.test.ts`. With
 * `--watch`, files run again when they or their imports change. With FLYWHEEL_TEST_RPC_URL, the files that open a world share
 * the cluster there, for example a validator started by `npm run agave`; the lanes run no others.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { DEFAULT_LANES, findLocalOnly, findTestFiles, globAll, LANES, type Lane, NO_CLUSTER, ROOT } from './lanes.ts';

/** Files often wait for slots and for the database: with two for each core, a core is idle a quarter of the time. */
const FILES_PER_CORE = 3;
/** Each file may use some thirty connections, and the test server allows 300. */
const MAX_CONCURRENCY = 8;
/** Limit for one test. The slowest takes two minutes beside the others on two cores, and five on busy ones. */
const TIMEOUT_MS = 600_000;
/** Limit for all of them: a process that does not end would be waited for. All lanes take fifteen minutes on two cores, and more on slow ones. */
const RUN_TIMEOUT_MS = 50 * 60_000;
const SLOWEST_SHOWN = 10;
/**
 * Files of a lane that share a process. Importing the service takes a second of CPU, and code that has run before is
 * compiled: with one process a file, a third of the suite's time went there.
 */
const FILES_PER_PROCESS: Readonly<Partial<Record<Lane, number>>> = { unit: 30, service: 10, browser: 4 };
/** Node finds a snapshot by the file that a process runs. */
const NEEDS_PROCESS = ['apps/cli/test/command-line.test.ts'];

const { values, positionals } = parseArgs({ options: { watch: { type: 'boolean' } }, allowPositionals: true });
const isLane = (name: string): name is Lane => LANES.some((lane) => lane === name);
const lanes = positionals.length === 0 ? DEFAULT_LANES : positionals.filter(isLane);
const named = await globAll(positionals.filter((name) => !isLane(name)));
const byLane = new Map(await findTestFiles());
if (process.env.FLYWHEEL_TEST_RPC_URL) await dropLocalOnly();
const files = [...lanes.flatMap((lane) => byLane.get(lane) ?? []), ...named];
if (files.length === 0) throw new Error(`No test file is named. Name files, or lanes: ${LANES.join(', ')}.`);

// Inherited by the test processes and their children. No test may reach the internet.
process.env.FLYWHEEL_OFFLINE = '1';
// Half of a short file's time is spent on compiling its imports.
process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules/.cache/node-compile');
const FOLLOW_TESTS = new URL('follow-tests.ts', import.meta.url).href;

const needConsole = files.filter((file) => !byLane.get('unit')?.includes(file) && !byLane.get('image')?.includes(file));
if (needConsole.length > 0) {
  const build = spawnSync(process.execPath, ['apps/console/build-if-stale.ts'], { cwd: ROOT, stdio: 'inherit' });
  if (build.status !== 0) process.exit(1);
}

const durations = new Map<string, number>();
const failures: string[] = [];
const results = run({
  files: values.watch ? files.map((file) => join(ROOT, file)) : await writeModules(),
  cwd: ROOT,
  concurrency: Math.min(MAX_CONCURRENCY, availableParallelism() * FILES_PER_CORE),
  execArgv: [`--import=${FOLLOW_TESTS}`, `--test-timeout=${TIMEOUT_MS}`],
  ...(values.watch ? { watch: true } : { signal: AbortSignal.timeout(RUN_TIMEOUT_MS) }),
});
results.on('test:fail', ({ name, todo, file, line, details: { error } }) => {
  if (todo !== undefined) return;
  process.exitCode = 1;
  const { failureType, exitCode, signal } = error as { failureType?: unknown; exitCode?: unknown; signal?: unknown };
  // The reporter does not say how a process ended.
  if (exitCode !== undefined) failures.push(`${name}: exit code ${exitCode}, signal ${signal}`);
  else if (failureType !== 'subtestsFailed') failures.push(`${file?.replace(ROOT, '')}:${line} ${name}`);
});
// A file is a process, or a suite of one.
results.on('test:summary', ({ file, duration_ms: durationMs }) => {
  if (file?.endsWith('.test.ts')) durations.set(file.replace(ROOT, ''), durationMs);
});
results.on('test:complete', ({ name, nesting, details }) => {
  if (nesting === 0 && name.endsWith('.test.ts') && !isAbsolute(name)) durations.set(name, details.duration_ms);
});
const report = results.compose(spec);
report.on('end', () => {
  const slowest = [...durations].toSorted(([, a], [, b]) => b - a).slice(0, SLOWEST_SHOWN);
  const lines = slowest.map(([file, ms]) => `${(ms / 1_000).toFixed(1).padStart(8)} s  ${file}\n`);
  // Last: who keeps only the end of the output finds them.
  const failed = failures.length > 0 ? `Failed:\n${failures.join('\n')}\n` : '';
  // A server that a failed test has left running would be waited for, because it holds the output of its process.
  process.stdout.write(`Slowest files:\n${lines.join('')}${failed}`, () => process.exit());
});
report.pipe(process.stdout, { end: false });

/** Leaves out the files that need the local cluster, and prints why. */
async function dropLocalOnly(): Promise<void> {
  for (const lane of lanes) {
    const kept = [];
    for (const file of byLane.get(lane) ?? []) {
      const reason = await findLocalOnly(file);
      if (reason === null) kept.push(file);
      else if (reason !== NO_CLUSTER) process.stdout.write(`Only on the local cluster: ${file} ${reason}.\n`);
    }
    byLane.set(lane, kept);
  }
}

/** Writes the module of each process, which opens its files as suites. */
async function writeModules(): Promise<string[]> {
  const directory = join(ROOT, 'node_modules/.cache/test-processes');
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const groups = lanes.flatMap((lane) => split(byLane.get(lane) ?? [], FILES_PER_PROCESS[lane] ?? 1));
  return Promise.all(
    [...groups, ...named.map((file) => [file])].map(async (group, position) => {
      const [first = ''] = group;
      if (NEEDS_PROCESS.includes(first)) return join(ROOT, first);
      const path = join(directory, `${position}.mjs`);
      const paths = group.map((file) => join(ROOT, file));
      const suites = JSON.stringify(new URL('suites.ts', import.meta.url));
      await writeFile(
        path,
        `import { openSuites } from ${suites};\nawait openSuites(...${JSON.stringify([ROOT, paths])});\n`,
      );
      return path;
    }),
  );
}

/** Splits files into parts of about this size, neighbours apart: those of one folder take about as long. */
function split(files: readonly string[], size: number): string[][] {
  const shared = files.filter((file) => !NEEDS_PROCESS.includes(file));
  const parts = Array.from({ length: Math.ceil(shared.length / size) }, (): string[] => []);
  for (const [position, file] of shared.entries()) parts[position % parts.length]?.push(file);
  return [...parts, ...files.filter((file) => NEEDS_PROCESS.includes(file)).map((file) => [file])];
}
