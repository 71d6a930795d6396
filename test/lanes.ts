import { glob, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Lanes of the test suite, those with the longest files first: files that start last should end soon. */
export const LANES = ['image', 'slow', 'browser', 'docs', 'service', 'unit'] as const;
export type Lane = (typeof LANES)[number];

/** Lanes that run when none is named. The one of the image takes minutes, and root. */
export const DEFAULT_LANES = LANES.filter((lane) => lane !== 'image');

/** Folders and files whose path decides their lane; the first match counts. */
export const PATTERNS: Readonly<Record<Exclude<Lane, 'unit'>, readonly string[]>> = {
  // Tests that build the image and run it.
  image: ['test/image/**'],
  // Tests that kill processes, run at random, search states, or install packages.
  slow: [
    'apps/service/test/{soak,fleet,agave}/**',
    'packages/localnet/test/older-sdks/**',
    'packages/localnet/test/squads-emulation-differential.test.ts',
    'packages/sdk/test/{package,soak}/**',
    'apps/cli/test/kills.test.ts',
    'test/{model,npm-start}.test.ts',
  ],
  // Tests of screens in Chromium.
  browser: ['apps/console/test/stories/**', 'apps/console/test/{build,lazy-screens,policy,theme,tooltip}.test.ts'],
  // Tests that run the samples of the guide as they are.
  docs: ['test/docs/**', 'packages/localnet/test/docs-example.test.ts'],
  // Tests that start the service as a process.
  service: ['apps/cli/test/{bin,demo,flow,localnet}.test.ts', 'apps/service/test/restart.test.ts'],
};

/** Every other file belongs to `service` if it or its helpers open a database, else to `unit`. */
const DATABASE = /@flywheel\/testing\/(world|gate|postgres)'/;

/** Finds the test files of each lane, as paths below the root, in the order of their names. */
export async function findTestFiles(): Promise<ReadonlyMap<Lane, readonly string[]>> {
  const lanes = new Map<Lane, string[]>(LANES.map((lane) => [lane, []]));
  const left = new Set(await globAll(['test/**', '{packages,apps}/*/test/**']));
  for (const [lane, patterns] of Object.entries(PATTERNS)) {
    for (const file of await globAll(patterns)) if (left.delete(file)) lanes.get(lane as Lane)?.push(file);
  }
  for (const file of left) lanes.get((await opensDatabase(file)) ? 'service' : 'unit')?.push(file);
  return lanes;
}

/** Finds test files. A pattern that ends with `**` names all those of a folder. */
export async function globAll(patterns: readonly string[]): Promise<string[]> {
  const whole = patterns.map((pattern) => pattern.replace(/\/\*\*$/, '/**/*.test.ts'));
  const found = await Array.fromAsync(glob(whole, { cwd: ROOT, exclude: ['**/node_modules'] }));
  return found.toSorted();
}

function opensDatabase(file: string): Promise<boolean> {
  return reads(file, (text) => DATABASE.test(text));
}

/** What only the local cluster does, and the reason for which a file that names it runs there alone. */
const LOCAL_ONLY: readonly (readonly [RegExp, string])[] = [
  [/\.faults\b|\{ faults \}/, 'injects faults into the node'],
  [/\.fork\(/, 'abandons blocks'],
  [/localnet_\w+|\bpauseSlots\b|\bsetUpAndPause\b/, 'stops the slots, or funds by a method of the local cluster'],
  [/\.dropWebSockets\(/, 'ends the connections of subscribers'],
  [/\bstartLocalnet\b/, 'starts a local cluster of its own'],
  [/\bblockEngineUrl\b/, 'sends bundles through the block engine'],
  [/\bv1: false\b/, 'needs a cluster without transactions of version 1'],
];

/**
 * Finds the reason why a file cannot run on the cluster of FLYWHEEL_TEST_RPC_URL: it needs what only the local cluster has, or
 * no cluster. Returns null if it can.
 */
export async function findLocalOnly(file: string): Promise<string | null> {
  if (!(await reads(file, (text) => WORLD.test(text)))) return NO_CLUSTER;
  // It skips the tests that cannot run there by itself.
  if (await reads(file, (text) => text.includes("@flywheel/testing/cluster'"))) return null;
  for (const [pattern, reason] of LOCAL_ONLY) if (await reads(file, (text) => pattern.test(text))) return reason;
  return null;
}

/** The reason of files that need no cluster at all. */
export const NO_CLUSTER = 'opens no world';

const WORLD = /@flywheel\/testing\/(world|gate)'/;

/** Returns true if the text of a test, or of one of its helpers, matches. */
async function reads(file: string, matches: (text: string) => boolean, seen = new Set<string>()): Promise<boolean> {
  if (seen.has(file)) return false;
  seen.add(file);
  const text = await readFile(join(ROOT, file), 'utf8');
  if (matches(text)) return true;
  const imports = text.matchAll(/^(?:import\b|\}).* from '(\.{1,2}\/[^']+\.ts)'/gm);
  const helpers = [...imports].map(([, path = '']) => join(dirname(file), path));
  for (const helper of helpers) {
    if (/(^|\/)test\//.test(helper) && (await reads(helper, matches, seen))) return true;
  }
  return false;
}
