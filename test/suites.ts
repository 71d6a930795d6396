import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { endFollowing } from './follow-tests.ts';

/**
 * Imports test files, each inside a suite of its own: hooks of a file that stand outside its suites run around its tests
 * only. The next file is imported once the one before has been, so that each finds the suite it belongs to.
 * @param files absolute paths below `root`
 */
export async function openSuites(root: string, files: readonly string[]): Promise<void> {
  for (const file of files) {
    const { promise, resolve } = Promise.withResolvers<void>();
    describe(file.slice(root.length), () => import(pathToFileURL(file).href).finally(resolve));
    await promise;
  }
  endFollowing();
}
