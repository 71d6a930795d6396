import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';

const FOLLOW_TESTS = new URL('follow-tests.ts', import.meta.url).href;
const SUITES = new URL('suites.ts', import.meta.url).href;

it('a process of several files fails with an error that no test waits for', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-suites-'));
  t.after(() => rm(directory, { recursive: true }));
  const file = join(directory, 'careless.test.mjs');
  await writeFile(
    file,
    `import { it } from 'node:test';
     it('passes', async () => {
       void Promise.reject(new Error('nothing waits for this'));
       await new Promise((resolve) => setTimeout(resolve, 20));
     });`,
  );
  const module = join(directory, 'process.mjs');
  await writeFile(module, `import { openSuites } from '${SUITES}';\nawait openSuites('/', ['${file}']);\n`);
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env;
  const { status, stdout } = spawnSync(process.execPath, ['--import', FOLLOW_TESTS, module], { encoding: 'utf8', env });
  assert.equal(status, 1, stdout);
  assert.match(stdout, /nothing waits for this/);
});
