import { readFile, writeFile } from 'node:fs/promises';
import { argv } from 'node:process';
import { documents } from '../packages/api/src/documents.ts';
import { generatedFiles } from '../packages/squads/codegen/generated-files.ts';

/** Writes every generated file that is out of date. With `--check` it only names them and exits with 1. */
await generate({ isCheck: argv.includes('--check') });

async function generate({ isCheck }: { readonly isCheck: boolean }): Promise<void> {
  for (const [path, content] of Object.entries({ ...documents(), ...generatedFiles() })) {
    const file = new URL(`../${path}`, import.meta.url);
    if (content === (await readIfThere(file))) continue;
    if (isCheck) {
      process.stderr.write(`${path} is out of date. Run npm run generate.\n`);
      process.exitCode = 1;
    } else {
      await writeFile(file, content);
      process.stdout.write(`Wrote ${path}, ${content.length} characters.\n`);
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
