import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ExecuteResult, type InitResult, isApiError } from '@flywheel/api';
import { proofHash } from '@flywheel/protocol';
import { openTestDatabase } from '@flywheel/testing/postgres';
import {
  endBatch,
  later,
  NOW,
  newBundle,
  newPipeline,
  randomAddress,
  SIGNATURES,
  storeBatch,
  storeNonces,
  storeProject,
} from '@flywheel/testing/records';
import type { Batch } from '../../src/model/batch.ts';
import type { Project } from '../../src/model/project.ts';
import { createFiguresReader, FRESH_MS } from '../../src/proofs/vault-figures.ts';
import { finalizeBatch, finalizeExecution } from '../../src/store/batches/batches.ts';
import { insertBundle, settleBundle } from '../../src/store/batches/bundles.ts';

const { db } = await openTestDatabase();
await storeNonces(db, 10);
const NO_NAMES = { of: async () => new Map() };
const RESULT: ExecuteResult = { total: 2, totalSuccessful: 2, totalFailed: 0, successfulExecutions: [] };
const INIT_RESULT: InitResult = { ...RESULT, batchIndex: 1 };

describe('the figures of a vault', () => {
  it('count only what no fork can change, and what a failed batch has executed', async () => {
    const project = await storeProject(db);
    const { vault } = project.flywheel.multisig;
    let now = NOW;
    const read = createFiguresReader({ db, clock: { now: () => now }, tokenNames: NO_NAMES });
    const figures = () => {
      now = new Date(now.getTime() + FRESH_MS);
      return read(vault, () => undefined);
    };
    assert.deepEqual(await figures(), {
      vault,
      mint: project.token.mint,
      symbol: null,
      burned: '0',
      lastProof: null,
    });
    const executed = await setUp(project, 1_000n);
    const failed = await setUp(project, 500n);
    await setUp(project, 70n);
    assert.equal((await figures()).burned, '0');

    await execute(executed);
    assert.deepEqual([(await figures()).burned, (await figures()).lastProof], ['0', null]);
    await finalizeExecution(db, executed.id, RESULT, later(20_000));
    const { burned, lastProof } = await figures();
    assert.equal(burned, '0.001');
    assert.deepEqual(lastProof, {
      type: 'LAST',
      hash: proofHash({ type: 'LAST', payload: '{}' }),
      at: later(5_000),
      signature: SIGNATURES[1],
    });

    // Of 500, 200 were executed.
    const released = { burnBaseUnits: 300n, airdropBaseUnits: 5n };
    const executeResult = { ...RESULT, totalSuccessful: 1, totalFailed: 1 };
    await endBatch(db, failed.id, { transition: 'EXECUTION_FAILED', executeResult, released }, later(30_000));
    assert.equal((await figures()).burned, '0.0012');
    assert.equal((await figures()).lastProof?.type, 'LAST');
  });

  it('are read once a minute for everybody, and an older answer stays while another read is refused', async () => {
    const project = await storeProject(db);
    const { vault } = project.flywheel.multisig;
    let now = NOW;
    let names = 0;
    const tokenNames = {
      of: async () => {
        names += 1;
        return new Map([[project.token.mint, { symbol: 'F L\u202eY<>' }]]);
      },
    };
    const read = createFiguresReader({ db, clock: { now: () => now }, tokenNames });
    const refuse = () => {
      throw new Error('too many');
    };
    const many = await Promise.all(Array.from({ length: 50 }, () => read(vault, () => undefined)));
    assert.equal(names, 1);
    assert.equal(new Set(many).size, 1);
    assert.equal(many[0]?.symbol, 'FLY');
    await read(vault, refuse);
    now = new Date(now.getTime() + FRESH_MS);
    assert.equal(await read(vault, refuse), many[0]);
    assert.notEqual(await read(vault, () => undefined), many[0]);
    assert.equal(names, 2);
  });

  it('are not found for another address, which is not looked for twice in a minute', async () => {
    const read = createFiguresReader({ db, clock: { now: () => NOW }, tokenNames: NO_NAMES });
    let admitted = 0;
    const admit = () => {
      admitted += 1;
    };
    const stranger = randomAddress();
    for (const address of [stranger, stranger, 'x', '../etc']) {
      await assert.rejects(read(address, admit), (error) => isApiError(error, 'ERR_VAULT_NOT_FOUND'));
    }
    assert.equal(admitted, 1);
  });

  it('are read for four addresses at once at most', async () => {
    const read = createFiguresReader({ db, clock: { now: () => NOW }, tokenNames: NO_NAMES });
    const answers = await Promise.allSettled(Array.from({ length: 6 }, () => read(randomAddress(), () => undefined)));
    const refused = answers.filter((it) => it.status === 'rejected' && isApiError(it.reason, 'ERR_TOO_MANY_AT_ONCE'));
    assert.equal(refused.length, 2);
  });
});

async function setUp(project: Project, burnBaseUnits: bigint): Promise<Batch> {
  const pipelines = [newPipeline(), newPipeline({ type: 'LAST', payload: '{}' })];
  const batch = await storeBatch(db, project, { pipelines, totals: { burnBaseUnits, airdropBaseUnits: 5n } });
  await finalizeBatch(db, batch.id, INIT_RESULT, later(1));
  return batch;
}

/** Records that both pipelines were executed in one transaction after the approval, which a fork can still undo. */
async function execute(batch: Batch): Promise<void> {
  const { id } = await insertBundle(db, newBundle(batch, { phase: 'execution', pipelineCounts: [0, 2] }));
  await settleBundle(db, id, 'landed', { signatures: SIGNATURES, slot: 8n }, later(4_000));
  const released = { burnBaseUnits: 0n, airdropBaseUnits: 0n };
  await endBatch(db, batch.id, { transition: 'EXECUTION_LANDED', executeResult: RESULT, released }, later(5_000));
}
