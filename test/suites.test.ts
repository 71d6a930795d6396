import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';

const FOLLOW_TESTS = new URL('follow-tests.ts', import.meta.url).href;
const SUITES = new URL('suites.ts', import.meta.url).href;

it('a process of test files fails with an error that no test waits for', async (t) => {
  const { status, output } = await runProcess(
    t,
    `it('passes', async () => {
       void Promise.reject(new Error('nothing waits for this'));
       await new Promise((resolve) => setTimeout(resolve, 20));
     });`,
  );
  assert.equal(status, 1, output);
  assert.match(output, /nothing waits for this/);
});

it('a process of test files ends after a test that failed before it closed what it had opened', async (t) => {
  const { status, output } = await runProcess(
    t,
    `it('fails', () => {
       setInterval(() => undefined, 1_000);
       throw new Error('nothing is closed');
     });
     it('passes', () => undefined);`,
  );
  assert.equal(status, 1, output);
  assert.match(output, /✖ fails[\s\S]*✔ passes/);
  assert.match(output, /The tests have ended, but not their process: .*Timeout/);
});

async function runProcess(t: TestContext, source: string): Promise<{ status: number | null; output: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-suites-'));
  t.after(() => rm(directory, { recursive: true }));
  const file = join(directory, 'careless.test.mjs');
  await writeFile(file, `import { it } from 'node:test';\n${source}`);
  const module = join(directory, 'process.mjs');
  await writeFile(module, `import { openSuites } from '${SUITES}';\nawait openSuites('/', ['${file}'], 200);\n`);
  const { NODE_TEST_CONTEXT: _ours, ...env } = process.env;
  const given = { encoding: 'utf8', env, timeout: 60_000 } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', FOLLOW_TESTS, module], given);
  return { status, output: stdout + stderr };
}
