import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { endFollowing } from './follow-tests.ts';

/** Time in which a process ends by itself once its tests have ended. */
const MAX_END_MS = 30_000;

/**
 * Imports test files, each inside a suite of its own: hooks of a file that stand outside its suites run around its tests
 * only. The next file is imported once the one before has been, so that each finds the suite it belongs to.
 * A test that fails may leave a server or a timer behind, which would keep the process: it is ended, with an error.
 * @param files absolute paths below `root`
 */
export async function openSuites(root: string, files: readonly string[], maxEndMs = MAX_END_MS): Promise<void> {
  for (const file of files) {
    const { promise, resolve } = Promise.withResolvers<void>();
    describe(file.slice(root.length), () => import(pathToFileURL(file).href).finally(resolve));
    await promise;
  }
  endFollowing();
  after(() => void setTimeout(endProcess, maxEndMs).unref());
}

function endProcess(): never {
  process.stderr.write(
    `The tests have ended, but not their process: ${process.getActiveResourcesInfo().join(', ')}.\n`,
  );
  process.exit(1);
}
