import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { startThread } from '../../src/payload-schemas/thread.ts';

const LOG = pino({ level: 'silent' });
const JOB = { schema: '{}', isNew: false, payloads: [] };

it('a thread that does not start answers that its job has not run', async (test) => {
  test.mock.timers.enable({ apis: ['setTimeout'] });
  const silent = new URL('data:text/javascript,Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)');
  const thread = startThread(LOG, silent);
  const outcome = thread.run(JOB, { cpuMs: 50, wallMs: 500 });
  test.mock.timers.tick(10_000);
  assert.deepEqual(await outcome, { status: 'starved' });
  assert.equal(thread.isAlive(), false);
});

/** A thread that answers a job only when it is asked to. */
const ANSWERS_ON_REQUEST = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    parentPort.on('message', (message) => message === 'answer' && parentPort.postMessage({ issue: null, totalCpuMs: 1 }));
    parentPort.postMessage({ issue: null, totalCpuMs: 0 });
  `)}`,
);

it('a reading of CPU time that comes after its job does not end the next job of the thread', async (test) => {
  const asked = Promise.withResolvers<Worker>();
  const reading = Promise.withResolvers<NodeJS.CpuUsage>();
  test.mock.method(Worker.prototype, 'cpuUsage', function (this: Worker) {
    asked.resolve(this);
    return reading.promise;
  });
  const thread = startThread(LOG, ANSWERS_ON_REQUEST);
  test.after(() => thread.kill());
  const first = thread.run(JOB, { cpuMs: 1, wallMs: 60_000 });
  const worker = await asked.promise;
  worker.postMessage('answer');
  assert.equal((await first).status, 'checked');
  const second = thread.run(JOB, { cpuMs: 60_000, wallMs: 60_000 });
  reading.resolve({ user: 1e9, system: 0 });
  await setImmediate();
  assert.equal(thread.isAlive(), true);
  worker.postMessage('answer');
  assert.equal((await second).status, 'checked');
});
