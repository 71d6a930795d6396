import assert from 'node:assert/strict';
import { it } from 'node:test';
import { OPERATIONS } from '@flywheel/api';
import * as sdk from '@flywheel/sdk';

it('the SDK exports these names and no others', () => {
  assert.deepEqual(Object.keys(sdk).sort(), [
    'FlywheelError',
    'MAX_PIPELINE_BYTES',
    'MAX_PIPELINE_INSTRUCTIONS',
    'NO_PINS',
    'TOKEN_2022_PROGRAM_ADDRESS',
    'airdrop',
    'approvalFee',
    'approveBatch',
    'auditVault',
    'burn',
    'byteSigner',
    'castCancel',
    'confirmPin',
    'createFlywheelClient',
    'decimalOf',
    'expectedOfMultisig',
    'expectedOfRegistration',
    'findPin',
    'followRun',
    'groupsLeft',
    'idempotencyKeyOf',
    'isErrorCode',
    'isFinal',
    'isFlywheelError',
    'memo',
    'packActions',
    'parseAuditState',
    'parseMergedPayload',
    'parsePins',
    'parseProofMemo',
    'pinRegistration',
    'pinSigned',
    'pinVerified',
    'pipeline',
    'pipelineSize',
    'proof',
    'proofHash',
    'proofMemo',
    'readGenesisHash',
    'readMint',
    'readProposalContent',
    'readVaultMovements',
    'readVaultProofs',
    'requirePreviousRun',
    'runBatch',
    'runBatches',
    'runKeyOf',
    'sendRequest',
    'signApproval',
    'stringifyAuditState',
    'toBaseUnits',
    'toDecimal',
    'totalTokens',
    'verifyAndSign',
    'verifyAndSignRegistration',
    'verifyApproval',
    'verifyProofOnChain',
    'verifyRegistered',
    'verifyRegistration',
    'walletStandardSigner',
    'watchBatch',
  ]);
});

it('createFlywheelClient has a method for every operation under /v1', () => {
  const client = sdk.createFlywheelClient({ url: 'http://127.0.0.1:1', apiKey: 'fw_key' });
  assert.deepEqual(
    Object.keys(OPERATIONS).filter((operationId) => !Object.hasOwn(client, operationId)),
    [],
  );
});
