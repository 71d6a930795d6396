/**
 * Lets dependency-cruiser parse with TypeScript 6: TypeScript 7, which checks our types, has no API for it yet.
 * TypeScript 6 is installed below packages/testing, where its `tsc` hides no other. Loaded with `node --import`.
 */
import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

const { resolve } = createRequire(new URL('../packages/testing/package.json', import.meta.url));
const FILES = new Map(
  // Resolved before the hook is registered, which would intercept this too.
  ['typescript', 'typescript/package.json'].map((name) => [name, pathToFileURL(resolve(name)).href]),
);

registerHooks({
  resolve: (name, context, next) => {
    const url = FILES.get(name);
    return url === undefined ? next(name, context) : { url, shortCircuit: true };
  },
});
