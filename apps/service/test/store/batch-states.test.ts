import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ExecuteResult, InitResult } from '@flywheel/api';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import {
  DAY,
  later,
  NOW,
  newBundle,
  RESERVED,
  SIGNATURES,
  SIGNED_TX,
  storeBatch,
  storeNonces,
  storeProject,
} from '@flywheel/testing/records';
import type { Base64EncodedWireTransaction } from '@solana/kit';
import { sql } from 'kysely';
import { executeResultOf } from '../../src/batches/bundles/results.ts';
import type { Batch } from '../../src/model/batch.ts';
import type { Project } from '../../src/model/project.ts';
import { endBatch, finalizeBatch, finalizeExecution, findBatch } from '../../src/store/batches/batches.ts';
import { findBundles, insertBundle, settleBundle } from '../../src/store/batches/bundles.ts';
import { askCompanyAgain } from '../../src/store/batches/company-approvals.ts';
import { recordExecutionIssue, requestExecution } from '../../src/store/batches/executions.ts';
import { findLedgerEntries, findUnrecorded, insertLedgerEntries } from '../../src/store/batches/ledger.ts';
import { closeDb, openDb } from '../../src/store/db.ts';

const { db, poolConfig } = await openTestDatabase();
await storeNonces(db, 100);

const INIT_RESULT: InitResult = {
  total: 2,
  totalSuccessful: 2,
  totalFailed: 0,
  successfulExecutions: [{ bundleId: 'b', txHashes: ['x'] }],
  batchIndex: 1,
};
const EXECUTE_RESULT: ExecuteResult = { total: 2, totalSuccessful: 2, totalFailed: 0, successfulExecutions: [] };
const ISSUE = { code: 'ERR_BATCH_WOULD_FAIL', context: { problems: ['The approval fails.'] } } as const;

test('the setup of a batch is recorded once, and only if the batch waits for it', async () => {
  const { batch } = await stored();
  assert.equal(await finalizeBatch(db, batch.id, INIT_RESULT, later(1)), true);
  assert.equal(await finalizeBatch(db, batch.id, { ...INIT_RESULT, total: 9 }, later(2)), false);
  assert.deepEqual(await findBatch(db, batch.id), {
    ...batch,
    status: 'FINALIZED',
    initResult: INIT_RESULT,
    updatedAt: later(1),
  });
});

test('an executed batch keeps its amounts, clears its execution issue and returns its nonce when it is final', async () => {
  const { batch, project } = await stored('FINALIZED');
  await recordExecutionIssue(db, batch.id, ISSUE, { keepRequest: true }, NOW);
  const ended = await endBatch(
    db,
    batch.id,
    { transition: 'EXECUTION_LANDED', released: RESERVED, executeResult: EXECUTE_RESULT },
    later(5),
  );
  assert.equal(ended, true);
  const { status, executeResult, executionError, endedAt, updatedAt } = await reread(batch);
  assert.deepEqual(
    { status, executeResult, executionError, endedAt, updatedAt },
    {
      status: 'EXECUTED',
      executeResult: EXECUTE_RESULT,
      executionError: null,
      endedAt: later(5),
      updatedAt: later(5),
    },
  );
  assert.deepEqual(await used(project), { burned: 10n, airdropped: 20n });
  assert.equal(await nonceState(batch), 'leased');
  await finalizeExecution(db, batch.id, EXECUTE_RESULT, later(6));
  assert.equal(await nonceState(batch), 'refreshing');
});

for (const transition of ['EXECUTION_FAILED', 'ENDED_UNEXECUTED'] as const) {
  test(`${transition} ends a batch FAILED, and its unused amounts return to the day of their reservation`, async () => {
    const { batch, project } = await stored('FINALIZED');
    await storeBatch(db, project, { day: '2026-11-22' });
    assert.equal(await endBatch(db, batch.id, { transition, released: RESERVED }, later(5)), true);
    assert.equal((await reread(batch)).status, 'FAILED');
    assert.deepEqual(await used(project), { burned: 0n, airdropped: 0n });
    assert.deepEqual(await used(project, '2026-11-22'), { burned: 10n, airdropped: 20n });
    assert.equal(await nonceState(batch), 'refreshing');
  });
}

test('an executed batch becomes FAILED once, and only until its end is final', async () => {
  const undone = { transition: 'EXECUTION_UNDONE', released: RESERVED } as const;
  const { batch, project } = await stored('FINALIZED');
  await assert.rejects(endBatch(db, batch.id, undone, NOW), /FINALIZED cannot move/);
  await endBatch(db, batch.id, { transition: 'EXECUTION_LANDED', released: RESERVED }, NOW);
  for (const transition of ['EXECUTION_FAILED', 'ENDED_UNEXECUTED', 'SETUP_FAILED'] as const) {
    assert.equal(await endBatch(db, batch.id, { transition, released: RESERVED }, NOW), false);
  }
  const ends = await Promise.all([1, 2].map((ms) => endBatch(db, batch.id, undone, later(ms))));
  assert.deepEqual(ends.toSorted(), [false, true]);
  assert.equal((await reread(batch)).status, 'FAILED');
  assert.deepEqual(await used(project), { burned: 0n, airdropped: 0n });
  assert.equal(await nonceState(batch), 'refreshing');

  const { batch: final, project: other } = await stored('FINALIZED');
  await endBatch(db, final.id, { transition: 'EXECUTION_LANDED', released: RESERVED }, NOW);
  await finalizeExecution(db, final.id, EXECUTE_RESULT, NOW);
  assert.equal(await endBatch(db, final.id, undone, NOW), false);
  assert.equal((await reread(final)).status, 'EXECUTED');
  assert.deepEqual(await used(other), { burned: 10n, airdropped: 20n });
});

for (const [transition, counts, reason] of [
  ['EXECUTION_FAILED', [3, 4, -1], 'negative'],
  ['EXECUTION_FAILED', [3, 1, 1], 'short of the total'],
  ['EXECUTION_FAILED', [2, 2, 0], 'of a failed batch whose pipelines were all executed'],
  ['EXECUTION_LANDED', [2, 1, 1], 'of an executed batch with a failed pipeline'],
] as const) {
  test(`the database refuses a result whose counts are ${reason}`, async () => {
    const { batch } = await stored('FINALIZED');
    const [total, totalSuccessful, totalFailed] = counts;
    const executeResult = { total, totalSuccessful, totalFailed, successfulExecutions: [] };
    await assert.rejects(endBatch(db, batch.id, { transition, released: RESERVED, executeResult }, NOW), {
      constraint: 'batches_execute_result_counts',
    });
    assert.equal((await reread(batch)).status, 'FINALIZED');
  });
}

test('a result is made only of counts that are possible', async () => {
  const { batch } = await stored('FINALIZED');
  const failure = { failedTxMsg: 'pipelines[0] failed on chain.' };
  for (const [executed, cause] of [
    [batch.pipelines.length + 1, failure],
    [-1, failure],
    [batch.pipelines.length, failure],
    [0, null],
  ] as const) {
    assert.throws(() => executeResultOf(batch, { bundles: [], executed, failure: cause }), RangeError);
  }
});

test('ten simultaneous ends of a batch over two pools end it once and return its amounts once', async () => {
  const { batch, project } = await stored('FINALIZED');
  await storeBatch(db, project);
  const other = openDb(poolConfig, quietLog);
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      endBatch(i % 2 ? db : other, batch.id, { transition: 'EXECUTION_FAILED', released: RESERVED }, later(i)),
    ),
  );
  await closeDb(other);
  assert.equal(answers.filter(Boolean).length, 1);
  assert.deepEqual(await used(project), { burned: 10n, airdropped: 20n });
});

test('simultaneous EXECUTED and FAILED ends of a batch store one of them completely', async () => {
  for (let i = 0; i < 10; i++) {
    const { batch, project } = await stored('FINALIZED');
    const [landed, failed] = await Promise.all([
      endBatch(db, batch.id, { transition: 'EXECUTION_LANDED', released: RESERVED }, NOW),
      endBatch(db, batch.id, { transition: 'EXECUTION_FAILED', released: RESERVED }, NOW),
    ]);
    assert.notEqual(landed, failed);
    const { status } = await reread(batch);
    assert.equal(status, landed ? 'EXECUTED' : 'FAILED');
    const expected = landed ? { burned: 10n, airdropped: 20n } : { burned: 0n, airdropped: 0n };
    assert.deepEqual(await used(project), expected);
  }
});

test('an illegal transition throws and changes nothing', async () => {
  const { batch, project } = await stored();
  await assert.rejects(
    endBatch(db, batch.id, { transition: 'EXECUTION_LANDED', released: RESERVED }, NOW),
    /AVAILABLE_TO_QUEUE cannot move/,
  );
  assert.deepEqual(await findBatch(db, batch.id), batch);
  assert.deepEqual(await used(project), { burned: 10n, airdropped: 20n });
  assert.equal(await nonceState(batch), 'leased');
});

test('an execution can be requested again until its first bundle is recorded', async () => {
  const { batch } = await stored('FINALIZED');
  assert.equal(await requestExecution(db, batch.id, SIGNED_TX, later(1)), true);
  assert.equal(await recordExecutionIssue(db, batch.id, ISSUE, { keepRequest: false }, later(2)), true);
  assert.deepEqual(await request(batch), { signedTx: null, executionError: ISSUE, updatedAt: later(2) });
  assert.equal(await requestExecution(db, batch.id, SIGNED_TX, later(3)), true);
  assert.deepEqual(await request(batch), { signedTx: SIGNED_TX, executionError: null, updatedAt: later(3) });

  await insertBundle(db, newBundle(batch, { phase: 'execution', pipelineCounts: [2] }));
  const other = 'b3RoZXI=' as Base64EncodedWireTransaction;
  assert.equal(await requestExecution(db, batch.id, other, later(4)), false);
  assert.equal(await recordExecutionIssue(db, batch.id, ISSUE, { keepRequest: false }, later(5)), false);
  assert.deepEqual(await request(batch), { signedTx: SIGNED_TX, executionError: null, updatedAt: later(3) });
  assert.equal(await recordExecutionIssue(db, batch.id, ISSUE, { keepRequest: true }, later(6)), true);
  assert.deepEqual(await request(batch), { signedTx: SIGNED_TX, executionError: ISSUE, updatedAt: later(6) });
});

test('an issue that is found again changes nothing', async () => {
  const { batch } = await stored();
  assert.equal(await recordExecutionIssue(db, batch.id, ISSUE, { keepRequest: true }, later(1)), true);
  const readVersion = async () => {
    const { rows } = await sql`select ctid::text, updated_at from batches where id = ${batch.id}`.execute(db);
    return rows;
  };
  const before = await readVersion();
  assert.equal(await recordExecutionIssue(db, batch.id, ISSUE, { keepRequest: true }, later(2)), true);
  assert.deepEqual(await readVersion(), before);
});

test('an issue of one approval leaves a newer one in place', async () => {
  const { batch } = await stored('FINALIZED');
  const newer = 'bmV3ZXI=' as Base64EncodedWireTransaction;
  await requestExecution(db, batch.id, newer, later(1));
  const options = { keepRequest: false, judged: SIGNED_TX } as const;
  assert.equal(await recordExecutionIssue(db, batch.id, ISSUE, options, later(2)), false);
  assert.deepEqual(await request(batch), { signedTx: newer, executionError: null, updatedAt: later(1) });
  assert.equal(await recordExecutionIssue(db, batch.id, ISSUE, { ...options, judged: newer }, later(3)), true);
  assert.deepEqual(await request(batch), { signedTx: null, executionError: ISSUE, updatedAt: later(3) });
});

test('an issue releases a request after a bundle that failed, unless a part of it has landed', async () => {
  for (const [landed, isReleased] of [
    [{ signatures: [], slot: null }, true],
    [{ signatures: SIGNATURES.slice(0, 1), slot: 7n }, false],
  ] as const) {
    const { batch } = await stored('FINALIZED');
    await requestExecution(db, batch.id, SIGNED_TX, NOW);
    const { id } = await insertBundle(db, newBundle(batch, { phase: 'execution' }));
    await settleBundle(db, id, 'failed', landed, NOW);
    const released = await recordExecutionIssue(db, batch.id, ISSUE, { keepRequest: false }, NOW);
    assert.equal(released, isReleased);
  }
});

test('a batch that waits for the company again sends no further part, although its execution has begun', async () => {
  const { batch } = await stored('FINALIZED');
  await requestExecution(db, batch.id, SIGNED_TX, NOW);
  await insertBundle(db, newBundle(batch, { phase: 'execution' }));
  await askCompanyAgain(db, batch.id, NOW);
  const next = newBundle(batch, { phase: 'execution', firstPipeline: 1 });
  await assert.rejects(insertBundle(db, next), /waits for a person to approve it for the company/);
});

test('a request and the first bundle at once store the bundle of the stored request', async () => {
  for (let i = 0; i < 10; i++) {
    const { batch } = await stored('FINALIZED');
    await requestExecution(db, batch.id, SIGNED_TX, NOW);
    const other = 'b3RoZXI=' as Base64EncodedWireTransaction;
    const [isReplaced, kept] = await Promise.all([
      requestExecution(db, batch.id, other, NOW),
      db.transaction().execute(async (trx) => {
        await insertBundle(trx, newBundle(batch, { phase: 'execution' }));
        return (await findBatch(trx, batch.id))?.signedTx;
      }),
    ]);
    assert.equal(kept, isReplaced ? other : SIGNED_TX);
    assert.equal((await reread(batch)).signedTx, kept);
  }
});

test('an ended batch accepts no execution request and no issue', async () => {
  const { batch } = await stored('FINALIZED');
  await endBatch(db, batch.id, { transition: 'EXECUTION_LANDED', released: RESERVED }, NOW);
  const before = await reread(batch);
  assert.equal(await requestExecution(db, batch.id, SIGNED_TX, later(1)), false);
  assert.equal(await recordExecutionIssue(db, batch.id, ISSUE, { keepRequest: true }, later(1)), false);
  assert.equal(await finalizeBatch(db, batch.id, INIT_RESULT, later(1)), false);
  assert.deepEqual(await reread(batch), before);
});

test('bundles are read as they were recorded, in order, and settle once', async () => {
  const { batch } = await stored();
  const first = await insertBundle(db, newBundle(batch, { isAtomic: false }));
  const { createdAt: _, ...recorded } = newBundle(batch, { bundleId: first.bundleId, isAtomic: false });
  assert.deepEqual(first, { ...recorded, id: first.id, state: 'sent', landedSignatures: [], landedSlot: null });
  await finalizeBatch(db, batch.id, INIT_RESULT, NOW);
  const second = await insertBundle(
    db,
    newBundle(batch, { phase: 'execution', firstPipeline: 1, pipelineCounts: [1] }),
  );
  const [firstSignature = assert.fail()] = SIGNATURES;
  assert.equal(await settleBundle(db, first.id, 'failed', { signatures: [firstSignature], slot: 7n }, NOW), true);
  assert.equal(await settleBundle(db, first.id, 'landed', { signatures: SIGNATURES, slot: 8n }, NOW), false);
  const settled = { ...first, state: 'failed', landedSignatures: [firstSignature], landedSlot: 7n };
  assert.deepEqual(await findBundles(db, batch.id), [settled, second]);
  assert.deepEqual(await findBundles(db, batch.id, 'execution'), [second]);
  assert.deepEqual(await findBundles(db, randomUUID()), []);
});

test('a bundle or a ledger entry with something else than a signature is a damaged record', async () => {
  const { batch } = await stored();
  const { id } = await insertBundle(db, newBundle(batch));
  await settleBundle(db, id, 'landed', { signatures: SIGNATURES, slot: 8n }, NOW);
  assert.deepEqual(await findUnrecorded(db, batch.id, 7n), []);
  const [first = assert.fail(), ...rest] = await findUnrecorded(db, batch.id, 8n);
  assert.deepEqual([first.signature, ...rest.map(({ signature }) => signature)], SIGNATURES);
  const rent = { rentOutLamports: 0n, rentBackLamports: 0n, vaultRentLamports: 0n };
  await insertLedgerEntries(db, batch.id, [{ ...first, ...rent, feeLamports: 5_000n }]);
  assert.equal((await findLedgerEntries(db, batch.id))[0]?.signature, first.signature);

  const damage = (table: 'bundles' | 'ledger_entries', changes: object) =>
    db.updateTable(table).set(changes).where('batch_id', '=', batch.id).execute();
  await damage('ledger_entries', { signature: `nonsense of ${batch.id}` });
  await assert.rejects(findLedgerEntries(db, batch.id), /is damaged: its signature is not a signature/);
  await damage('bundles', { landed_signatures: [first.signature, 'nonsense'] });
  await assert.rejects(findBundles(db, batch.id), /is damaged: its landed_signatures\[1\] is not a signature/);
  await damage('bundles', { signatures: ['nonsense', first.signature] });
  await assert.rejects(findUnrecorded(db, batch.id, 8n), /is damaged: its signatures\[0\] is not a signature/);
});

test('a bundle is rejected for a phase that its batch is not in', async () => {
  const { batch } = await stored();
  await assert.rejects(insertBundle(db, newBundle(batch, { phase: 'execution' })), /is AVAILABLE_TO_QUEUE/);
  await finalizeBatch(db, batch.id, INIT_RESULT, NOW);
  await assert.rejects(insertBundle(db, newBundle(batch, { phase: 'close' })), /is FINALIZED/);
  await endBatch(db, batch.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
  await assert.rejects(insertBundle(db, newBundle(batch, { phase: 'execution' })), /is FAILED/);
  assert.deepEqual(await findBundles(db, batch.id), []);
});

test('a bundle of an executed batch sends again what a fork took away, and closes once the end is final', async () => {
  const { batch } = await stored('FINALIZED');
  await endBatch(
    db,
    batch.id,
    { transition: 'EXECUTION_LANDED', released: RESERVED, executeResult: EXECUTE_RESULT },
    NOW,
  );
  for (const phase of ['setup', 'execution'] as const) await insertBundle(db, newBundle(batch, { phase }));
  await assert.rejects(insertBundle(db, newBundle(batch, { phase: 'close' })), /EXECUTED and not finalized yet/);
  await finalizeExecution(db, batch.id, EXECUTE_RESULT, later(9));
  for (const phase of ['setup', 'execution'] as const) {
    await assert.rejects(insertBundle(db, newBundle(batch, { phase })), /EXECUTED and finalized/);
  }
  await insertBundle(db, newBundle(batch, { phase: 'close' }));
});

test('a bundle is rejected after a simultaneous end of its batch', async () => {
  for (let i = 0; i < 10; i++) {
    const { batch } = await stored('FINALIZED');
    const inserting = insertBundle(db, newBundle(batch, { phase: 'execution' })).then(
      () => true,
      () => false,
    );
    const [isInserted] = await Promise.all([
      inserting,
      endBatch(db, batch.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW),
    ]);
    assert.equal((await findBundles(db, batch.id)).length, isInserted ? 1 : 0);
    assert.equal((await reread(batch)).status, 'FAILED');
  }
});

async function stored(status: 'AVAILABLE_TO_QUEUE' | 'FINALIZED' = 'AVAILABLE_TO_QUEUE') {
  const project = await storeProject(db);
  const batch = await storeBatch(db, project);
  if (status === 'FINALIZED') await finalizeBatch(db, batch.id, INIT_RESULT, NOW);
  return { project, batch };
}

async function reread({ id }: Batch): Promise<Batch> {
  const batch = await findBatch(db, id);
  assert.ok(batch);
  return batch;
}

async function request(batch: Batch) {
  const { signedTx, executionError, updatedAt } = await reread(batch);
  return { signedTx, executionError, updatedAt };
}

function used({ id }: Project, day = DAY) {
  return db
    .selectFrom('daily_amounts')
    .select(['burned', 'airdropped'])
    .where('project_id', '=', id)
    .where('day', '=', day)
    .executeTakeFirst();
}

async function nonceState({ nonce }: Batch) {
  const { state } = await db
    .selectFrom('nonces')
    .select('state')
    .where('address', '=', nonce.address)
    .executeTakeFirstOrThrow();
  return state;
}
