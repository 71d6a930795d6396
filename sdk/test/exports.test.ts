import assert from 'node:assert/strict';
import { it } from 'node:test';
import * as sdk from '@flywheel/sdk';

it('exports these names and no others', () => {
  assert.deepEqual(Object.keys(sdk).sort(), [
    'FlywheelError',
    'TOKEN_2022_PROGRAM',
    'approvalFee',
    'createFlywheelClient',
    'decimalOf',
    'followBatch',
    'isErrorCode',
    'isFinal',
    'isFlywheelError',
    'lookBeforeSign',
    'parseProofMemo',
    'proofHash',
    'proofMemo',
    'readMint',
    'runBatch',
    'sendRequest',
    'signApproval',
    'signTransaction',
    'sleep',
    'toBaseUnits',
    'toDecimal',
  ]);
});
