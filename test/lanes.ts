import { glob } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Lanes of the test suite, those with the longest files first: files that start last should end soon. */
export const LANES = ['slow', 'browser', 'docs', 'service', 'unit'] as const;
export type Lane = (typeof LANES)[number];

/** The lane `service` holds every test file that no pattern names: it needs PostgreSQL and mostly a local cluster. */
export const PATTERNS: Readonly<Record<Exclude<Lane, 'service'>, readonly string[]>> = {
  // Processes that are killed, random runs, packages that are installed.
  slow: [
    'apps/service/test/{soak,fleet}/**',
    'packages/localnet/test/older-sdks/**',
    'packages/localnet/test/squads-emulation-differential.test.ts',
    'packages/sdk/test/package/**',
    'test/npm-start.test.ts',
  ],
  // Screens in Chromium.
  browser: ['apps/console/test/stories/**', 'apps/console/test/{build,hint,policy}.test.ts'],
  // The samples of the guide, run as they stand there.
  docs: ['test/docs/**', 'packages/localnet/test/docs-example.test.ts'],
  // Neither a database nor a browser.
  unit: [
    'test/{deploy,imports,lanes,lockfile}.test.ts',
    'packages/{api,protocol,squads,solana-rpc}/test/**',
    'packages/localnet/test/{ledger,rpc,shapes,subscriptions,wire}/**',
    'packages/localnet/test/{fetch-program,json,programs}.test.ts',
    'packages/localnet/test/squads-emulation{,-config,-errors,-execution,-safety}.test.ts',
    'packages/sdk/test/{actions,client,exports,pipeline-size,proof,run-batch,sign,stream-events}.test.ts',
    'apps/cli/test/{airdrop-retry,airdrop-rows,command-line,completion,demo-verify,ring,timeline,wallet}.test.ts',
    'apps/console/test/{addresses,audit,batch,compose,csv,text}.test.ts',
    'apps/service/test/{compile,http,model,squads}/**',
  ],
};

const TEST_FILES = ['test/**/*.test.ts', '{packages,apps}/*/test/**/*.test.ts'];

/** Finds the test files of each lane, as paths below the root, in the order of their names. */
export async function findTestFiles(): Promise<ReadonlyMap<Lane, readonly string[]>> {
  const files = await globAll(TEST_FILES);
  const named = new Map<Lane, readonly string[]>();
  for (const [lane, patterns] of Object.entries(PATTERNS)) {
    named.set(lane as Lane, await globAll(patterns.map((pattern) => pattern.replace(/\/\*\*$/, '/**/*.test.ts'))));
  }
  const elsewhere = new Set([...named.values()].flat());
  named.set(
    'service',
    files.filter((file) => !elsewhere.has(file)),
  );
  return new Map(LANES.map((lane) => [lane, named.get(lane) ?? []]));
}

export async function globAll(patterns: readonly string[]): Promise<string[]> {
  const found = await Array.fromAsync(glob(patterns, { cwd: ROOT, exclude: ['**/node_modules'] }));
  return found.toSorted();
}
