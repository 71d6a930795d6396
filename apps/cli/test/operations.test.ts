import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CONSOLE_OPERATIONS, OPERATIONS } from '@flywheel/api';

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url));
const CLI_PAGE = new URL('../../../docs/cli.md', import.meta.url);

describe('the command line', () => {
  it('calls every operation of the service, except those for which docs/cli.md names another way', async () => {
    const called = await findCalled();
    const ids = [...Object.keys(OPERATIONS), ...Object.keys(CONSOLE_OPERATIONS)];
    assert.deepEqual((await readUncalled()).toSorted(), ids.filter((id) => !called.has(id)).toSorted());
  });
});

/** Finds the operations that a command names, in a table of operations or as a method of the SDK's client. */
async function findCalled(): Promise<ReadonlySet<string>> {
  const files = await Array.fromAsync(glob('**/*.ts', { cwd: SOURCES }));
  const texts = await Promise.all(files.map((file) => readFile(SOURCES + file, 'utf8')));
  const named = texts.flatMap((text) => [...text.matchAll(/(?:\b(?:[A-Z]+_)?OPERATIONS|\bclient)\s*\.(\w+)/g)]);
  return new Set(named.map(([, id = '']) => id));
}

/** Reads the table of docs/cli.md. */
async function readUncalled(): Promise<string[]> {
  const [, section = ''] = (await readFile(CLI_PAGE, 'utf8')).split('\n## What has no command\n');
  const rows = [...section.matchAll(/^\| (`.*?) \|/gm)];
  return rows.flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, id = '']) => id));
}
