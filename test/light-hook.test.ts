import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';
import { ROOT } from './lanes.ts';

/** Suites, hooks and subtests that begin after a wait, and errors that are thrown where no test can catch them. */
const FILE = `
  import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
  import { setTimeout as sleep } from 'node:timers/promises';
  const log = [];
  before(() => log.push('before all'));
  describe('outer', () => {
    before(async () => { await null; log.push('before outer'); });
    beforeEach(() => log.push('before each'));
    after(() => console.log(log.join(', ')));
    it('first', () => log.push('first'));
    describe('inner', async () => {
      await sleep(5);
      afterEach(() => log.push('after each of inner'));
      it('has subtests', async (t) => {
        await t.test('sub', async () => { await null; it('below it', () => log.push('below it')); });
      });
      it('throws in a timer', async () => {
        setTimeout(() => { throw new Error('thrown'); }, 1);
        await sleep(50);
      });
      it('forgets a rejection', async () => {
        void Promise.reject(new Error('rejected'));
        await sleep(50);
      });
    });
  });
  describe('imported', () => import('data:text/javascript,import { it } from "node:test"; await null; it("by a suite");'));
  it('last', () => setTimeout(() => { throw new Error('too late'); }, 20));
  it('after the last', () => sleep(100));
`;

it('a test process with the light hook reports what one with the hook of node:test reports', () => {
  const [own, light] = [report(), report('--import', './test/light-hook.ts')];
  assert.equal(light, own);
  for (const line of ['not ok 2 - throws in a timer', 'not ok 3 - forgets a rejection', 'ok 1 - by a suite']) {
    assert.ok(light.includes(line), light);
  }
});

/** Runs the file in a process of its own. @returns its results, errors and log, without durations and stacks. */
function report(...args: readonly string[]): string {
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [...args, '--test-reporter=tap', '--input-type=module', '-e', FILE],
    { cwd: ROOT, encoding: 'utf8', env },
  );
  const lines = `${stdout}${stderr}`.split('\n').filter((line) => !line.startsWith('# duration'));
  return lines.filter((line) => /^ *(ok|not ok|#|1\.\.|error|failureType|before)/.test(line)).join('\n');
}
