import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ExecuteResult, InitResult } from '@flywheel/api';
import { openTestDatabase } from '@flywheel/testing/postgres';
import {
  later,
  newBundle,
  newPipeline,
  RESERVED,
  randomAddress,
  SIGNATURES,
  SIGNED_TX,
  storeBatch,
  storeNonces,
  storeProject,
} from '@flywheel/testing/records';
import type { Address } from '@solana/kit';
import { readBatchDetails } from '../../src/batches/details/details.ts';
import { describeFailedTx, describeFailure, explainChainError } from '../../src/batches/details/failure.ts';
import { buildTimeline } from '../../src/batches/details/timeline.ts';
import { systemClock } from '../../src/clock.ts';
import type { Batch } from '../../src/model/batch.ts';
import type { Project } from '../../src/model/project.ts';
import { endBatch, finalizeBatch } from '../../src/store/batches/batches.ts';
import { insertBundle, settleBundle } from '../../src/store/batches/bundles.ts';
import { askCompany, decideForCompany, type SignedCompanyDecision } from '../../src/store/batches/company-approvals.ts';
import { requestExecution } from '../../src/store/batches/executions.ts';

const { db } = await openTestDatabase();
await storeNonces(db, 20);

const INIT_RESULT: InitResult = {
  total: 1,
  totalSuccessful: 1,
  totalFailed: 0,
  successfulExecutions: [],
  batchIndex: 1,
};
const [APPROVAL = '', EXECUTION = ''] = SIGNATURES;

describe('buildTimeline', () => {
  it('shows the company’s approval as part of the execution, or as a manual step', async () => {
    const [automatic, manual] = [await storeProject(db), await storeProject(db, { approvalMode: 'manual' })];
    for (const project of [automatic, manual]) {
      const batch = await storeFinalized(project);
      assert.deepEqual(await statesOf(project, batch), ['done', 'done', 'waiting', 'upcoming', 'upcoming', 'upcoming']);
      await requestExecution(db, batch.id, SIGNED_TX, later(2));
      const isAsked = await askCompany(db, batch.id, later(3));
      assert.equal(isAsked, project === manual);
      const asked = isAsked ? 'waiting' : 'running';
      assert.deepEqual(await statesOf(project, batch), ['done', 'done', 'done', asked, 'upcoming', 'upcoming']);
      if (isAsked) await decideForCompany(db, batch.id, signedBy(project.wallet, null), later(4));
      await landFirst(batch);
      const steps = await stepsOf(project, batch);
      assert.deepEqual(
        steps.map(({ state }) => state),
        ['done', 'done', 'done', 'done', 'running', 'upcoming'],
      );
      const [, , wallet, company, executed] = steps;
      assert.deepEqual([wallet?.at, wallet?.signatures], [later(2), [APPROVAL]]);
      assert.deepEqual(company?.at, isAsked ? later(4) : later(6));
      assert.equal(company?.note, isAsked ? `By ${project.wallet}` : 'With the execution');
      assert.deepEqual([executed?.note, executed?.signatures], ['1 of 2 pipelines', [EXECUTION]]);
    }
  });

  it('names the operator who rejected a batch, and the reason, also during the setup', async () => {
    const project = await storeProject(db, { approvalMode: 'manual' });
    const batch = await storeBatch(db, project);
    await requestExecution(db, batch.id, SIGNED_TX, later(1));
    assert.equal(await askCompany(db, batch.id, later(2)), true);
    assert.deepEqual(await statesOf(project, batch), ['done', 'running', 'done', 'waiting', 'upcoming', 'upcoming']);
    await finalizeBatch(db, batch.id, INIT_RESULT, later(3));
    const operator = randomAddress();
    await decideForCompany(db, batch.id, signedBy(operator, 'Too much at once'), later(4));
    await fail(batch, 0, { failedTxMsg: 'The company rejected the batch: Too much at once.' }, 'rejected');
    const steps = await stepsOf(project, batch);
    const rejected = { step: 'companyApproval', state: 'failed', at: later(4), signatures: [] };
    assert.deepEqual(steps[3], { ...rejected, note: `Rejected by ${operator}: Too much at once` });
    assert.equal(steps[4]?.state, 'skipped');
    const failure = await readFailure(project, batch);
    assert.equal(failure?.message, 'The company rejected the batch: Too much at once.');
    assert.match(failure?.remedy ?? '', /^Resolve what the company names/);
  });

  it('waits for the wallet’s cancel vote when a batch fails after its approval', async () => {
    const project = await storeProject(db);
    const batch = await storeFinalized(project);
    await requestExecution(db, batch.id, SIGNED_TX, later(2));
    await landFirst(batch);
    const err = '{"InstructionError":[2,{"Custom":17}]}';
    await fail(batch, 1, { failedTxMsg: `pipelines[1] failed on chain: ${err}`, failedOnTransactionIndex: 1 });
    assert.deepEqual(await statesOf(project, batch), ['done', 'done', 'done', 'done', 'failed', 'waiting']);
    assert.deepEqual(await readFailure(project, batch), {
      message: 'Pipeline 1 failed on chain: a token account that it needs is frozen.',
      chainError: err,
      remedy:
        'The first pipeline was executed. Fix pipeline 1, then send it in a new batch. What it did not use of the daily limits is released.',
      code: null,
      pipeline: 1,
      isFinal: true,
    });
  });
});

describe('explainChainError', () => {
  it('adds the meaning of known errors, and leaves other sentences unchanged', () => {
    const custom = (code: number) => `pipelines[0] failed on chain: {"InstructionError":[1,{"Custom":${code}}]}`;
    assert.match(explainChainError(custom(1)), /holds too little \(\{"InstructionError":\[1,\{"Custom":1\}\]\}\)\.$/);
    assert.equal(explainChainError(custom(6_001)), custom(6_001));
    assert.equal(explainChainError(custom(11)), custom(11));
    assert.equal(explainChainError('The batch expired.'), 'The batch expired.');
  });
});

describe('describeFailedTx', () => {
  it('says the meaning of an error, keeps its text apart, and names pipelines as the screens do', () => {
    const err = '{"InstructionError":[1,{"Custom":6001}]}';
    const failed = 'failed on chain';
    const describe = (text: string) => Object.values(describeFailedTx(text));
    assert.deepEqual(describe(`pipelines[0] ${failed}: ${err}`), [`Pipeline 0 ${failed}.`, err]);
    assert.deepEqual(describe(`A fork undid it: pipelines[12] ${failed}: "ProgramFailedToComplete"`), [
      `A fork undid it: pipeline 12 ${failed}: it takes more compute units than a transaction may.`,
      '"ProgramFailedToComplete"',
    ]);
    assert.deepEqual(describe('The batch expired.'), ['The batch expired.', null]);
  });
});

async function storeFinalized(project: Project): Promise<Batch> {
  const batch = await storeBatch(db, project, { pipelines: [newPipeline(), newPipeline()] });
  await finalizeBatch(db, batch.id, INIT_RESULT, later(1));
  return batch;
}

/** Records the landing of the approval and the first of two pipelines. */
async function landFirst(batch: Batch): Promise<void> {
  const bundle = newBundle(batch, { phase: 'execution', pipelineCounts: [0, 1], createdAt: later(5) });
  const { id } = await insertBundle(db, bundle);
  await settleBundle(db, id, 'landed', { signatures: SIGNATURES, slot: 8n }, later(6));
}

async function fail(
  { id, pipelines }: Batch,
  executed: number,
  why: Partial<ExecuteResult>,
  cause?: 'rejected',
): Promise<void> {
  const executeResult = {
    total: pipelines.length,
    totalSuccessful: executed,
    totalFailed: pipelines.length - executed,
    successfulExecutions: [],
    ...why,
  };
  const end = { transition: 'ENDED_UNEXECUTED', executeResult, released: RESERVED, ...(cause && { cause }) } as const;
  assert.equal(await endBatch(db, id, end, later(7)), true);
}

function details(project: Project, { id }: Batch) {
  return readBatchDetails({ db, clock: systemClock, companyOperators: new Set() }, project, id);
}

async function stepsOf(project: Project, batch: Batch) {
  return buildTimeline(await details(project, batch), project);
}

async function statesOf(project: Project, batch: Batch): Promise<string[]> {
  return (await stepsOf(project, batch)).map(({ state }) => state);
}

async function readFailure(project: Project, batch: Batch) {
  return describeFailure(await details(project, batch), project);
}

let decisions = 0;

/** A decision for the tests of a timeline, which does not verify signatures. */
function signedBy(operator: Address, reason: string | null): SignedCompanyDecision {
  decisions += 1;
  const bytes = Uint8Array.of(decisions);
  return { operator, reason, nonce: String(decisions), expiresAt: later(9), signedMessage: bytes, signature: bytes };
}
