import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { proofHash } from '@flywheel/protocol';
import { openTestDatabase } from '@flywheel/testing/postgres';
import {
  ANY_SLOTS,
  DAY,
  later,
  NO_EXPOSURE,
  NOW,
  newBundle,
  newPipeline,
  RESERVED,
  randomAddress,
  randomNonce,
  SIGNED_TX,
  storeBatch,
  storeNonces,
  storeProject,
} from '@flywheel/testing/records';
import { AccountRole } from '@solana/kit';
import type { Batch } from '../../src/model/batch.ts';
import {
  endBatch,
  finalizeBatch,
  findBatch,
  findBatchByIdempotencyKey,
  findBatchWithoutPipelines,
  findCurrentBatch,
  findIdsToSetUp,
} from '../../src/store/batches/batches.ts';
import { insertBundle } from '../../src/store/batches/bundles.ts';
import { readCapUse } from '../../src/store/batches/cap-use.ts';
import { requestExecution } from '../../src/store/batches/executions.ts';
import { insertBatch, takeBatchIndex } from '../../src/store/batches/new-batches.ts';
import { findMissedRotation } from '../../src/store/batches/rotations.ts';
import { leaseNonce, updateNonceValue } from '../../src/store/nonces.ts';
import { insertApiKey, revokeApiKey } from '../../src/store/projects/api-keys.ts';

const { db } = await openTestDatabase();
await storeNonces(db, 100);

async function countOpen(projectId: string) {
  const { batches, pipelines } = (await readUse(projectId, [])).project;
  return { batches, pipelines };
}

async function readUse(projectId: string, proofHashes: readonly string[]) {
  const of = { projectId, multisig: await findMultisigOf(projectId), keyId: null } as const;
  return readCapUse(db, { ...of, kind: 'pipelines', isAdmitted: true, proofHashes, uses: [], day: DAY, now: NOW });
}

async function findMultisigOf(projectId: string) {
  const flywheel = db.selectFrom('flywheels').select('multisig').where('project_id', '=', projectId);
  return (await flywheel.executeTakeFirstOrThrow()).multisig;
}

const INIT_RESULT = { total: 1, totalSuccessful: 1, totalFailed: 0, successfulExecutions: [], batchIndex: 1 };

test('a batch is read as it was stored', async () => {
  const project = await storeProject(db);
  const batch = await storeBatch(db, project, {
    pipelines: [
      newPipeline({
        actions: [
          { action: 'AIRDROP', toAddress: randomAddress(), amount: 0.000001 },
          { action: 'MEMO', message: 'zero \u0000, half a pair \ud800, and ”' },
        ],
        payload: ' {"spaces" : "kept", "emoji": "🎁"}\n',
        instructions: [
          { programAddress: randomAddress(), accounts: [], data: new Uint8Array() },
          {
            programAddress: randomAddress(),
            accounts: [
              { address: randomAddress(), role: AccountRole.READONLY },
              { address: randomAddress(), role: AccountRole.WRITABLE },
              { address: randomAddress(), role: AccountRole.READONLY_SIGNER },
              { address: randomAddress(), role: AccountRole.WRITABLE_SIGNER },
            ],
            data: new Uint8Array([0, 255]),
          },
        ],
      }),
      newPipeline({ instructions: [] }),
    ],
  });
  assert.deepEqual(await findBatch(db, batch.id), batch);
  assert.deepEqual(await findBatch(db, batch.id, project.id), batch);
  const { pipelines: _, ...rest } = batch;
  assert.deepEqual(await findBatchWithoutPipelines(db, batch.id, project.id), rest);
});

test('pipelines keep their order, a thousand of them', async () => {
  const pipelines = Array.from({ length: 1_000 }, (_, i) => newPipeline({ payload: `{"position":${i}}` }));
  const batch = await storeBatch(db, await storeProject(db), { pipelines });
  assert.deepEqual((await findBatch(db, batch.id))?.pipelines, pipelines);
});

test('another project’s batch is not found under the caller’s project', async () => {
  const [owner, stranger] = [await storeProject(db), await storeProject(db)];
  const idempotencyKey = randomUUID();
  const batch = await storeBatch(db, owner, { idempotencyKey });
  assert.equal(await findBatch(db, batch.id, stranger.id), null);
  assert.equal(await findBatchWithoutPipelines(db, batch.id, stranger.id), null);
  assert.equal(await findBatchByIdempotencyKey(db, stranger.id, idempotencyKey), null);
  assert.equal(await findCurrentBatch(db, stranger.id, new Date(0)), null);
  assert.deepEqual(await countOpen(stranger.id), { batches: 0, pipelines: 0 });
  const hashes = await Promise.all(batch.pipelines.map(proofHash));
  assert.equal((await readUse(stranger.id, hashes)).seenProofs.size, 0);
  assert.deepEqual(await findIdsToSetUp(db, stranger.flywheel.id, { upToIndex: 1_000n, reachedIndex: 0n }), []);
});

test('20 simultaneous batches of a project get the indices 1 to 20, and failed ones leave no gap', async () => {
  const project = await storeProject(db);
  const attempts = await Promise.allSettled(
    Array.from({ length: 40 }, (_, i) =>
      db.transaction().execute(async (trx) => {
        const { batchIndex } = await takeBatchIndex(trx, project.flywheel.id);
        if (i % 2) throw new Error('later failure');
        return batchIndex;
      }),
    ),
  );
  const indices = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
  assert.deepEqual(
    indices.toSorted((a, b) => Number(a - b)),
    Array.from({ length: 20 }, (_, i) => BigInt(i + 1)),
  );
});

test('20 simultaneous requests with one idempotency key create one batch', async () => {
  const project = await storeProject(db);
  const idempotencyKey = randomUUID();
  const attempts = await Promise.allSettled(
    Array.from({ length: 20 }, () => storeBatch(db, project, { idempotencyKey })),
  );
  assert.equal(attempts.filter(({ status }) => status === 'fulfilled').length, 1);
  const found = await findBatchByIdempotencyKey(db, project.id, idempotencyKey);
  assert.equal(found?.batch.batchIndex, 1n);
  assert.deepEqual(await countOpen(project.id), { batches: 1, pipelines: 2 });
});

test('a batch is found by its idempotency key, with the request’s hash and the warnings', async () => {
  const project = await storeProject(db);
  const [key, requestHash, warnings] = [randomUUID(), new Uint8Array(32).fill(7), [{ pipeline: 0, message: 'seen' }]];
  const stored = await db.transaction().execute(async (trx) => {
    const id = randomUUID();
    const lease = await leaseNonce(trx, { batchId: id, flywheelId: project.flywheel.id });
    assert.ok(lease);
    const { batchIndex } = await takeBatchIndex(trx, project.flywheel.id);
    const batch = {
      id,
      projectId: project.id,
      flywheelId: project.flywheel.id,
      tokenId: project.token.id,
      kind: 'pipelines' as const,
      status: 'AVAILABLE_TO_QUEUE' as const,
      batchIndex,
      pipelines: [newPipeline()],
      pipelineCount: 1,
      nonce: lease.nonce,
      signedTx: null,
      initResult: null,
      executeResult: null,
      executionError: null,
      awaitsCompany: false,
      createdAt: NOW,
      updatedAt: NOW,
      endedAt: null,
      endCause: null,
    };
    const totals = { burnBaseUnits: 0n, airdropBaseUnits: 0n };
    const origin = { idempotencyKey: key, requestHash, keyId: null };
    await insertBatch(trx, batch, origin, { day: DAY, totals, exposure: NO_EXPOSURE, counted: null }, warnings);
    return batch;
  });
  assert.deepEqual(await findBatchByIdempotencyKey(db, project.id, key), { batch: stored, requestHash, warnings });
});

test('open batches and their pipelines are counted until they end', async () => {
  const project = await storeProject(db);
  const [first] = [await storeBatch(db, project), await storeBatch(db, project, { pipelines: [newPipeline()] })];
  assert.deepEqual(await countOpen(project.id), { batches: 2, pipelines: 3 });
  await endBatch(db, first.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
  assert.deepEqual(await countOpen(project.id), { batches: 1, pipelines: 1 });
});

test('the current batch is the newest open one, else the newest recently ended one, else none', async () => {
  const project = await storeProject(db);
  const current = async (endedAfter: Date) => (await findCurrentBatch(db, project.id, endedAfter))?.id;
  assert.equal(await current(new Date(0)), undefined);
  const [first, second, third] = [
    await storeBatch(db, project),
    await storeBatch(db, project, { createdAt: later(1) }),
    await storeBatch(db, project, { createdAt: later(2) }),
  ];
  assert.equal(await current(NOW), third.id);
  await endBatch(db, third.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, later(10));
  assert.equal(await current(NOW), second.id);
  await endBatch(db, first.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, later(30));
  await endBatch(db, second.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, later(20));
  assert.equal(await current(later(9)), third.id);
  assert.equal(await current(later(10)), second.id);
  assert.equal(await current(later(29)), first.id);
  assert.equal(await current(later(30)), undefined);
});

test('batches to set up are those not yet on chain, in index order, up to the given one', async () => {
  const project = await storeProject(db);
  const batches = [];
  for (let i = 0; i < 5; i++) batches.push(await storeBatch(db, project));
  const [first, , third] = batches;
  assert.ok(first && third);
  await finalizeBatch(db, first.id, INIT_RESULT, NOW);
  await endBatch(db, third.id, { transition: 'SETUP_FAILED', released: RESERVED }, NOW);
  assert.deepEqual(await findIdsToSetUp(db, project.flywheel.id, { upToIndex: 4n, reachedIndex: 1_000n }), [
    batches[1]?.id,
    batches[3]?.id,
  ]);
});

test('used proofs are found by the hash in their memo', async () => {
  const project = await storeProject(db);
  const [used, unused] = [newPipeline({ payload: '{"gift":"🎁"}' }), newPipeline({ payload: '{}' })];
  await storeBatch(db, project, { pipelines: [used, used] });
  const hashes = await Promise.all([used, unused].map(proofHash));
  assert.deepEqual([...(await readUse(project.id, hashes)).seenProofs], hashes.slice(0, 1));
  assert.deepEqual([...(await readUse(project.id, [])).seenProofs], []);
});

test('a rebuilt approval’s nonce value is stored with the batch and its lease, while the batch is open', async () => {
  const batch = await storeBatch(db, await storeProject(db));
  const value = randomNonce();
  const values = async () => {
    const { address } = batch.nonce;
    const lease = await db.selectFrom('nonces').select('value').where('address', '=', address).executeTakeFirst();
    return [(await findBatch(db, batch.id))?.nonce.value, lease?.value];
  };
  await updateNonceValue(db, batch.id, value, ANY_SLOTS);
  assert.deepEqual(await values(), [value, value]);
  await endBatch(db, batch.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
  await updateNonceValue(db, batch.id, randomNonce(), ANY_SLOTS);
  assert.deepEqual(await values(), [value, value]);
});

test('a batch of a revoked key counts as open and for the day from the wallet’s approval, or the execution, on', async () => {
  const none = { burnBaseUnits: 0n, airdropBaseUnits: 0n };
  for (const proceed of [
    (batch: Batch) => requestExecution(db, batch.id, SIGNED_TX, NOW),
    // The wallet has voted on chain by itself.
    (batch: Batch) => insertBundle(db, newBundle(batch, { phase: 'execution' })),
  ]) {
    const project = await storeProject(db);
    const keyId = randomUUID();
    const key = {
      prefix: keyId.slice(0, 12),
      hash: new Uint8Array(32),
      name: null,
      scopes: new Set(['burn'] as const),
    };
    await insertApiKey(db, { ...key, id: keyId, projectId: project.id, createdAt: NOW, expiresAt: null });
    const batch = await storeBatch(db, project, { keyId });
    await finalizeBatch(db, batch.id, INIT_RESULT, NOW);
    await revokeApiKey(db, project.id, keyId, NOW);
    const held = async () => {
      const { project: open, returningTotals } = await readUse(project.id, []);
      return [open.batches, open.openTotals, returningTotals];
    };
    assert.deepEqual(await held(), [0, none, RESERVED]);
    await proceed(batch);
    assert.deepEqual(await held(), [1, RESERVED, none]);
  }
});

test('a rotation that has ended since the members of a flywheel were read is found', async () => {
  const project = await storeProject(db);
  assert.equal(await findMissedRotation(db, project.flywheel), null);
  const { id } = await storeBatch(db, project, { kind: 'rotation' });
  await endBatch(db, id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
  assert.equal(await findMissedRotation(db, project.flywheel), null);
  await db.updateTable('flywheels').set({ operator: randomAddress() }).where('id', '=', project.flywheel.id).execute();
  assert.equal(await findMissedRotation(db, project.flywheel), id);
});
