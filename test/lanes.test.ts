import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findTestFiles, globAll, LANES, PATTERNS, ROOT } from './lanes.ts';

describe('the lanes of the test suite', () => {
  it('hold every test file exactly once', async () => {
    const files = [...(await findTestFiles()).values()].flat();
    assert.deepEqual(files.toSorted(), await globAll(['{packages,apps}/*/test/**', 'test/**']));
  });

  it('name no file or folder that does not exist', async () => {
    const names = Object.values(PATTERNS).flat().flatMap(expandBraces);
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

  it('distinguish files that open a database from others', async () => {
    const lanes = await findTestFiles();
    assert.ok(lanes.get('service')?.includes('apps/service/test/flow.test.ts'));
    // Its helper opens the database.
    assert.ok(lanes.get('service')?.includes('apps/service/test/company/pause.test.ts'));
    assert.ok(lanes.get('unit')?.includes('test/lanes.test.ts'));
  });
});

/** Expands `a{b,c}d` to `abd` and `acd`; braces do not nest. */
function expandBraces(pattern: string): string[] {
  const [, before = '', list, after = ''] = /^(.*?)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
  if (list === undefined) return [pattern];
  return list.split(',').flatMap((choice) => expandBraces(before + choice + after));
}
