import { readFile, writeFile } from 'node:fs/promises';
import { argv } from 'node:process';
import { errorsPage } from './errors-page.ts';
import { openapi } from './openapi.ts';

/** The documents that are made from the catalogue, by path from the root. */
const DOCUMENTS: { readonly [path: string]: () => string } = {
  'docs/openapi.json': () => `${JSON.stringify(openapi(), null, 2)}\n`,
  'docs/errors.md': errorsPage,
};

/** Writes what is out of date; with `--check` only says so, and exits 1. */
await generate({ isCheck: argv.includes('--check') });

async function generate({ isCheck }: { readonly isCheck: boolean }): Promise<void> {
  for (const [path, make] of Object.entries(DOCUMENTS)) {
    const file = new URL(`../../../${path}`, import.meta.url);
    const content = make();
    if (content === (await readIfThere(file))) continue;
    if (isCheck) {
      process.stderr.write(`${path} is stale. Run npm run generate.\n`);
      process.exitCode = 1;
    } else {
      await writeFile(file, content);
      process.stdout.write(`${path} written, ${content.length} characters.\n`);
    }
  }
}

async function readIfThere(file: URL): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
