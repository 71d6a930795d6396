import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BatchStatus, InitBatchResponse, Batch as WireBatch } from '@flywheel/api';
import { BATCH_ID, PROJECT } from '@flywheel/testing/test-server';
import { address, type Base64EncodedWireTransaction, type Nonce } from '@solana/kit';
import { parseInclude, presentBatch, presentInitializedBatch } from '../../src/http/batches/present.ts';
import type { Batch } from '../../src/model/batch.ts';

const BATCH: Batch = {
  id: BATCH_ID,
  projectId: PROJECT.id,
  flywheelId: 'f',
  kind: 'pipelines',
  tokenId: 't',
  status: 'FINALIZED',
  batchIndex: 9_007_199_254_740_993n,
  pipelines: [],
  pipelineCount: 0,
  nonce: { address: address('11111111111111111111111111111111'), value: 'nonce' as Nonce },
  signedTx: 'AA==' as Base64EncodedWireTransaction,
  initResult: null,
  executeResult: null,
  executionError: null,
  awaitsCompany: false,
  createdAt: new Date('2026-11-21T12:00:00.000Z'),
  updatedAt: new Date('2026-11-21T12:00:01.500Z'),
  endedAt: null,
  endCause: null,
};

const PIPELINE = {
  type: 'A',
  payload: '{}',
  actions: [{ action: 'BURN' as const, amount: 1 }],
  instructions: ['AA=='],
};

describe('a batch on the wire', () => {
  it('has exactly its fields, indices as text and times in ISO 8601', () => {
    const wire = presentBatch(BATCH, PROJECT);
    assert.deepEqual(wire, {
      id: BATCH_ID,
      flywheelId: 'f',
      tokenId: 't',
      mintAddress: PROJECT.token.mint,
      status: 'FINALIZED',
      batchIndex: '9007199254740993',
      vaultIndex: '0',
      multisig: PROJECT.flywheel.multisig.address,
      vaultAddress: PROJECT.flywheel.multisig.vault,
      dateCreated: '2026-11-21T12:00:00.000Z',
      dateUpdated: '2026-11-21T12:00:01.500Z',
    });
    assert.deepEqual(WireBatch.parse(wire), wire);
    const waiting = presentBatch({ ...BATCH, awaitsCompany: true }, PROJECT);
    assert.deepEqual(WireBatch.parse(waiting), { ...wire, awaitsCompany: true });
  });

  it('shows its results once they exist, and an execution error by code and sentence', () => {
    const initResult = { total: 1, totalSuccessful: 1, totalFailed: 0, successfulExecutions: [], batchIndex: 1 };
    const executionError = {
      code: 'ERR_VAULT_UNDERFUNDED',
      context: { problems: ['The vault holds 1 SOL.'] },
    } as const;
    const wire = presentBatch({ ...BATCH, initResult, executionError }, PROJECT);
    assert.deepEqual(wire.initResult, initResult);
    assert.equal(wire.executionError?.code, 'ERR_VAULT_UNDERFUNDED');
    assert.match(wire.executionError?.message ?? '', /^The vault holds 1 SOL\. Deposit the missing amount/);
    // The job of an unexecuted batch may be its cancellation as well.
    const ownError = { code: 'ERR_BATCH_EXECUTE_FAILED', context: undefined } as const;
    for (const [status, held] of [
      ['AVAILABLE_TO_QUEUE', 'Setting the batch up on chain is'],
      ['FINALIZED', 'The batch is'],
    ] as const) {
      assert.equal(
        presentBatch({ ...BATCH, status, executionError: ownError }, PROJECT).executionError?.message,
        `${held} held up by an error of the service. It is retried every few seconds.`,
      );
    }
  });

  it('includes the requested parts, and no approval if it has none', () => {
    const included = { pipelines: [PIPELINE], proposalApproveTx: 'AAAA' };
    const wire = presentBatch(BATCH, PROJECT, included);
    assert.deepEqual([wire.pipelines, wire.proposalApproveTx], [[PIPELINE], 'AAAA']);
    assert.ok(!('proposalApproveTx' in presentBatch(BATCH, PROJECT, { proposalApproveTx: null })));
    assert.deepEqual(parseInclude('approval,pipelines'), {
      pipelines: true,
      approval: true,
      ledger: false,
      rest: false,
    });
    assert.deepEqual(parseInclude('approval'), { pipelines: false, approval: true, ledger: false, rest: false });
    assert.deepEqual(parseInclude(undefined), { pipelines: false, approval: false, ledger: false, rest: false });
  });

  it('is in an init answer with the status that it has now', () => {
    const parts = { pipelines: [PIPELINE], proposalApproveTx: 'AAAA' };
    for (const status of BatchStatus.options) {
      const wire = presentInitializedBatch({ ...BATCH, status }, parts, []);
      assert.equal(wire.batch.status, status);
      assert.deepEqual(InitBatchResponse.parse(wire), wire);
      assert.ok(!('warnings' in wire));
    }
    const warnings = [{ pipeline: 0, message: 'seen before' }];
    assert.deepEqual(presentInitializedBatch(BATCH, parts, warnings).warnings, warnings);
  });
});
