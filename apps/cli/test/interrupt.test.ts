import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CliError } from '../src/errors.ts';
import { interruptible } from '../src/interrupt.ts';

it('a second Ctrl-C ends a command at once, and a repetition of the first one by a launcher does not', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const exits: unknown[] = [];
  t.mock.method(process, 'exit', (code: unknown) => exits.push(code));
  const work = Promise.withResolvers<never>();
  const ended = interruptible(async (signal) => {
    process.emit('SIGINT', 'SIGINT');
    t.mock.timers.tick(50);
    process.emit('SIGINT', 'SIGINT');
    assert.deepEqual([signal.aborted, exits], [true, []]);
    t.mock.timers.tick(450);
    process.emit('SIGINT', 'SIGINT');
    assert.deepEqual(exits, [130]);
    work.reject(signal.reason);
    return work.promise;
  });
  await assert.rejects(ended, (error) => error instanceof CliError && error.code === 'ERR_INTERRUPTED');
});
