import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FlywheelError } from '@flywheel/sdk';
import { nameBatch } from '../src/errors.ts';

const NAMES = { batchId: 'of the call', idempotencyKey: 'key of the call' };

/** Every field of the class, each with a value that no other has. */
function errorWithEveryField(): FlywheelError {
  const error = new FlywheelError({ code: 'ERR_UNREACHABLE', message: 'No answer.', cause: new Error('reset') });
  for (const field of Object.keys(error)) {
    if (field !== 'name' && field !== 'code') Reflect.set(error, field, `value of ${field}`);
  }
  return Object.assign(error, { batchId: null, idempotencyKey: null });
}

describe('nameBatch', () => {
  it('adds both names and keeps every other field, the cause, the class and the stack', () => {
    const error = errorWithEveryField();
    const named = nameBatch(error, NAMES);
    assert.ok(named instanceof FlywheelError);
    assert.deepEqual({ ...named }, { ...error, ...NAMES });
    assert.deepEqual([named.message, named.cause, named.stack], [error.message, error.cause, error.stack]);
  });

  it('keeps a name that the error has', () => {
    const error = new FlywheelError({ code: 'ERR_UNREACHABLE', message: 'No answer.', batchId: 'its own' });
    const named = nameBatch(error, NAMES);
    assert.ok(named instanceof FlywheelError);
    assert.deepEqual([named.batchId, named.idempotencyKey], ['its own', NAMES.idempotencyKey]);
    assert.equal(Object.hasOwn(named, 'cause'), false);
  });

  it('returns an error with both names, and any other value, as it is', () => {
    const complete = new FlywheelError({ code: 'ERR_UNREACHABLE', message: 'No answer.', ...NAMES });
    for (const value of [complete, new Error('another'), 'text', undefined]) {
      assert.equal(nameBatch(value, { batchId: 'x', idempotencyKey: 'y' }), value);
    }
  });
});
