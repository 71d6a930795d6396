import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Batch } from '@flywheel/api';
import { type BatchProgress, createFlywheelClient, isFlywheelError, runBatch, watchBatch } from '@flywheel/sdk';
import { generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { buildApproval } from './approvals.ts';
import { BATCH, BATCH_ID, initAnswer, PIPELINES } from './batches.ts';
import { type Respond, type StubService, startStubService } from './stub-service.ts';

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
  it('inits, waits for the setup, signs the current approval, executes and returns the end', async () => {
    await using service = await startStubService(
      walkThrough({ reads: ['AVAILABLE_TO_QUEUE', 'FINALIZED', 'FINALIZED', 'EXECUTED'], executes: ['EXECUTED'] }),
    );
    const stages: string[] = [];
    const onProgress = ({ stage }: BatchProgress) => stages.push(stage);
    const batch = await runBatch(client(service), { pipelines: PIPELINES }, { wallet, onProgress });
    assert.equal(batch.status, 'EXECUTED');
    assert.deepEqual(stages, ['compiled', 'setUp', 'approved', 'ended']);
    const execute = service.received.find(({ path }) => path.endsWith('/execute'));
    const { batchId, signedTx } = JSON.parse(execute?.body ?? '{}');
    assert.equal(batchId, BATCH_ID);
    assert.notEqual(signedTx, rebuiltApproveTx);
    assert.equal(signedTx.slice(-100), rebuiltApproveTx.slice(-100), 'what was signed is the rebuilt approval');
  });

  it('reports an execution issue once, and continues until the end', async () => {
    const executionError = { code: 'ERR_BATCH_EXECUTE_FAILED', message: 'The cluster takes no bundle.' };
    await using service = await startStubService(
      walkThrough({
        reads: ['FINALIZED', 'FINALIZED', 'FINALIZED', 'FINALIZED', 'EXECUTED'],
        executes: ['FINALIZED', 'FINALIZED', 'EXECUTED'],
        executionError,
      }),
    );
    const told: string[] = [];
    const onProgress = (event: BatchProgress) => {
      if (event.stage === 'blocked') told.push(event.executionError.message);
    };
    await runBatch(client(service), { pipelines: PIPELINES }, { wallet, onProgress });
    assert.deepEqual(told, [executionError.message]);
    assert.equal(service.received.filter(({ path }) => path.endsWith('/execute')).length, 3);
  });

  it('throws the reason if the service releases the request', async () => {
    const walk = walkThrough({ reads: ['FINALIZED'], executes: [] });
    await using service = await startStubService((request, count) =>
      request.path.endsWith('/execute')
        ? { status: 409, body: { error: 'ERR_VAULT_UNDERFUNDED', message: 'The vault holds 1 token, needs 2.' } }
        : walk(request, count),
    );
    const error: unknown = await runBatch(client(service), { pipelines: PIPELINES }, { wallet }).catch(
      (caught) => caught,
    );
    assert.ok(isFlywheelError(error, 'ERR_VAULT_UNDERFUNDED'));
  });

  it('returns a batch that failed in its setup, and signs nothing', async () => {
    await using service = await startStubService(
      walkThrough({ reads: ['AVAILABLE_TO_QUEUE', 'FAILED'], executes: [] }),
    );
    const batch = await runBatch(client(service), { pipelines: PIPELINES }, { wallet });
    assert.equal(batch.status, 'FAILED');
    assert.ok(!service.received.some(({ path }) => path.endsWith('/execute')));
  });
});

describe('watchBatch', () => {
  it('throws ERR_TIMED_OUT if the batch has not ended in time', async () => {
    await using service = await startStubService(() => ({ status: 200, body: BATCH }));
    const error: unknown = await watchBatch(client(service), BATCH_ID, { timeoutMs: 50 }).catch((caught) => caught);
    assert.ok(isFlywheelError(error, 'ERR_TIMED_OUT'));
    assert.match(error.message, /still AVAILABLE_TO_QUEUE after 0\.05 s/);
  });
});

interface Walk {
  /** Status of the batch at each read; the last one repeats. */
  readonly reads: readonly Batch['status'][];
  /** Status that each execute answers. */
  readonly executes: readonly Batch['status'][];
  readonly executionError?: Batch['executionError'];
}

/** Answers like a service whose batch has these statuses. */
function walkThrough({ reads, executes, executionError }: Walk): Respond {
  let [read, executed] = [0, 0];
  return ({ path }) => {
    if (path.endsWith('/init')) return { status: 200, body: initAnswer(proposalApproveTx) };
    if (path.endsWith('/execute')) {
      const status = executes[executed++] ?? 'FAILED';
      if (status === 'FINALIZED') return { status: 202, body: { batchId: BATCH_ID, status } };
      return { status: 200, body: { batchId: BATCH_ID, status, result: EXECUTE_RESULT } };
    }
    const status = reads[Math.min(read++, reads.length - 1)] ?? 'FAILED';
    const approval = path.includes('approval') ? { proposalApproveTx: rebuiltApproveTx } : {};
    const trouble = status === 'FINALIZED' && executionError ? { executionError } : {};
    const result = status === 'EXECUTED' ? { executeResult: EXECUTE_RESULT } : {};
    return { status: 200, body: { ...BATCH, status, ...approval, ...trouble, ...result } };
  };
}

function client({ url }: StubService) {
  return createFlywheelClient({ url, apiKey: 'fw_key' });
}
