import assert from 'node:assert/strict';
import { it } from 'node:test';
import { pino } from 'pino';
import { startThread } from '../../src/payload-schemas/thread.ts';

it('a thread that does not start answers that its job has not run', async (test) => {
  test.mock.timers.enable({ apis: ['setTimeout'] });
  const silent = new URL('data:text/javascript,Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)');
  const thread = startThread(pino({ level: 'silent' }), silent);
  const outcome = thread.run({ schema: '{}', isNew: false, payloads: [] }, { cpuMs: 50, wallMs: 500 });
  test.mock.timers.tick(10_000);
  assert.deepEqual(await outcome, { status: 'starved' });
  assert.equal(thread.isAlive(), false);
});
