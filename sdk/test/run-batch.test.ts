import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Batch } from '@flywheel/api';
import { createFlywheelClient, followBatch, isFlywheelError, runBatch } from '@flywheel/sdk';
import { generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { buildApproval } from './approvals.ts';
import { BATCH, BATCH_ID, initAnswer, PIPELINES } from './batches.ts';
import { type Answer, type Received, type StubService, startStubService } from './stub-service.ts';

const EXECUTE_RESULT = { total: 1, totalSuccessful: 1, totalFailed: 0, successfulExecutions: [] };

let wallet: KeyPairSigner;
let proposalApproveTx: string;
let rebuiltApproveTx: string;

before(async () => {
  const [operator, company] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()]);
  wallet = await generateKeyPairSigner();
  proposalApproveTx = await buildApproval({ operator, wallet, company: company.address });
  rebuiltApproveTx = await buildApproval({ operator: company, wallet, company: operator.address });
});

describe('runBatch', () => {
  it('inits, waits for the setup, signs the approval of the moment, executes and follows to the end', async () => {
    const statuses: Batch['status'][] = ['AVAILABLE_TO_QUEUE', 'FINALIZED', 'FINALIZED', 'FINALIZED', 'EXECUTED'];
    await using service = await startStubService(walkThrough(statuses));
    const stages: string[] = [];
    const batch = await runBatch(
      client(service),
      { pipelines: PIPELINES },
      {
        wallet,
        onProgress: ({ stage }) => stages.push(stage),
      },
    );
    assert.equal(batch.status, 'EXECUTED');
    assert.deepEqual(stages, ['compiled', 'setUp', 'approved', 'ended']);
    const execute = service.received.find(({ path }) => path.endsWith('/execute'));
    const { batchId, signedTx } = JSON.parse(execute?.body ?? '{}');
    assert.equal(batchId, BATCH_ID);
    assert.notEqual(signedTx, rebuiltApproveTx);
    assert.equal(signedTx.slice(-100), rebuiltApproveTx.slice(-100), 'what was signed is the rebuilt approval');
  });

  it('says what hinders an execution, once, and goes on', async () => {
    const hindered = { code: 'ERR_VAULT_UNDERFUNDED', message: 'The vault holds 1 token; this batch needs 2.' };
    await using service = await startStubService(
      walkThrough(['FINALIZED', 'FINALIZED', 'FINALIZED', 'FINALIZED', 'EXECUTED'], hindered),
    );
    const told: string[] = [];
    await runBatch(
      client(service),
      { pipelines: PIPELINES },
      {
        wallet,
        onProgress: (event) => {
          if (event.stage === 'hindered') told.push(event.executionError.message);
        },
      },
    );
    assert.deepEqual(told, [hindered.message]);
  });

  it('answers a batch that failed in its setup, and signs nothing', async () => {
    await using service = await startStubService(walkThrough(['AVAILABLE_TO_QUEUE', 'FAILED']));
    const batch = await runBatch(client(service), { pipelines: PIPELINES }, { wallet });
    assert.equal(batch.status, 'FAILED');
    assert.ok(!service.received.some(({ path }) => path.endsWith('/execute')));
  });
});

describe('followBatch', () => {
  it('ends with ERR_TIMED_OUT when the batch has not ended in time', async () => {
    await using service = await startStubService(() => ({ status: 200, body: BATCH }));
    const error: unknown = await followBatch(client(service), BATCH_ID, { timeoutMs: 50 }).catch((caught) => caught);
    assert.ok(isFlywheelError(error, 'ERR_TIMED_OUT'));
    assert.match(error.message, /still AVAILABLE_TO_QUEUE after 0\.05 s/);
  });
});

/** A service whose batch has the next of these statuses whenever it is read. */
function walkThrough(statuses: Batch['status'][], executionError?: Batch['executionError']) {
  let reads = 0;
  return ({ path }: Received): Answer => {
    if (path.endsWith('/init')) return { status: 200, body: initAnswer(proposalApproveTx) };
    if (path.endsWith('/execute')) return { status: 202, body: { batchId: BATCH_ID, status: 'FINALIZED' } };
    const status = statuses[Math.min(reads, statuses.length - 1)] ?? 'FAILED';
    reads += 1;
    return {
      status: 200,
      body: {
        ...BATCH,
        status,
        ...(path.includes('approval') ? { proposalApproveTx: rebuiltApproveTx } : {}),
        ...(status === 'FINALIZED' && executionError ? { executionError } : {}),
        ...(status === 'EXECUTED' ? { executeResult: EXECUTE_RESULT } : {}),
      },
    };
  };
}

function client({ url }: StubService) {
  return createFlywheelClient({ url, apiKey: 'fw_key' });
}
