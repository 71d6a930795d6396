import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as sdk from '@flywheel/sdk';

it('exports these names and no others', () => {
  assert.deepEqual(Object.keys(sdk).sort(), [
    'FlywheelError',
    'createFlywheelClient',
    'followBatch',
    'isErrorCode',
    'isFinal',
    'isFlywheelError',
    'parseProofMemo',
    'proofHash',
    'proofMemo',
    'runBatch',
    'sendRequest',
    'signApproval',
    'signTransaction',
    'sleep',
  ]);
});
