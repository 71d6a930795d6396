import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findTestFiles, globAll, LANES, PATTERNS, ROOT } from './lanes.ts';

describe('the lanes of the test suite', () => {
  it('hold every test file exactly once', async () => {
    const files = [...(await findTestFiles()).values()].flat();
    assert.deepEqual(files.toSorted(), await globAll(['{packages,apps}/*/test/**/*.test.ts', 'test/**/*.test.ts']));
  });

  it('name no file that does not exist', async () => {
    const patterns = Object.values(PATTERNS).flat();
    const names = patterns.flatMap((pattern) => expandBraces(pattern)).filter((name) => name.endsWith('.test.ts'));
    const found = await Promise.all(names.map(async (name) => ({ name, files: await globAll([name]) })));
    assert.deepEqual(
      found.filter(({ files }) => files.length === 0).map(({ name }) => name),
      [],
    );
  });

  it('have a script each', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    for (const lane of LANES) assert.equal(scripts[`test:${lane}`], `node test/run.ts ${lane}`);
  });

  it('keep the database out of the lane unit', async () => {
    for (const file of (await findTestFiles()).get('unit') ?? []) {
      const text = await readFile(join(ROOT, file), 'utf8');
      assert.doesNotMatch(text, /@flywheel\/testing\/(world|postgres|gate)'/, file);
    }
  });
});

/** `a{b,c}d` as `abd` and `acd`; braces do not nest. */
function expandBraces(pattern: string): string[] {
  const [, before = '', list, after = ''] = /^(.*?)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
  if (list === undefined) return [pattern];
  return list.split(',').flatMap((choice) => expandBraces(before + choice + after));
}
