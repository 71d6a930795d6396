import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { WebhookEvent } from '@flywheel/api';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { later, NOW, RESERVED, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { deliveriesOf, queueEvent, storeEndpoint } from '@flywheel/testing/webhook-deliveries';
import type { Address } from '@solana/kit';
import type { Project } from '../../src/model/project.ts';
import { endBatch, finalizeBatch } from '../../src/store/batches/batches.ts';
import { recordExecutionIssue } from '../../src/store/batches/executions.ts';
import { repeatDelivery } from '../../src/store/webhooks/deliveries.ts';
import { deleteEndpoint } from '../../src/store/webhooks/endpoints.ts';
import { claimDueVaults, emitVaultLow, recordVaultSufficient } from '../../src/store/webhooks/vault-balance-checks.ts';

const { db } = await openTestDatabase();
await storeNonces(db, 30);

const initResult = { total: 1, totalSuccessful: 1, totalFailed: 0, successfulExecutions: [], batchIndex: 1 };
const DAY_MS = 86_400_000;

async function eventsOf(endpointId: string): Promise<WebhookEvent[]> {
  return (await deliveriesOf(db, endpointId)).map(({ payload }) => WebhookEvent.parse(JSON.parse(payload)));
}

describe('an event of a batch', () => {
  it('is queued for each subscribed endpoint, under one id, in the transaction of its cause', async () => {
    const [project, stranger] = await Promise.all([storeProject(db), storeProject(db)]);
    const [one, two, other, theirs] = await Promise.all([
      storeEndpoint(db, project, 'http://one.example'),
      storeEndpoint(db, project, 'http://two.example'),
      storeEndpoint(db, project, 'http://other.example', ['batch.failed']),
      storeEndpoint(db, stranger, 'http://theirs.example'),
    ]);
    const batch = await storeBatch(db, project);
    assert.equal(await finalizeBatch(db, batch.id, initResult, NOW), true);
    assert.equal(await finalizeBatch(db, batch.id, initResult, NOW), false);
    const [first, ...more] = await eventsOf(one);
    assert.deepEqual(first, {
      type: 'batch.finalized',
      timestamp: NOW.toISOString(),
      data: {
        projectId: project.id,
        batchId: batch.id,
        batchIndex: '1',
        kind: 'pipelines',
        status: 'FINALIZED',
        pipelines: 2,
      },
    });
    assert.deepEqual([more, await eventsOf(other), await eventsOf(theirs)], [[], [], []]);
    const ids = (await Promise.all([one, two].map((id) => deliveriesOf(db, id)))).flat().map(({ eventId }) => eventId);
    assert.equal(ids.length, 2);
    assert.equal(new Set(ids).size, 1);
  });

  it('is not queued if the transaction rolls back', async () => {
    const project = await storeProject(db);
    const endpointId = await storeEndpoint(db, project, 'http://one.example');
    const batch = await storeBatch(db, project);
    await assert.rejects(
      db.transaction().execute(async (trx) => {
        await finalizeBatch(trx, batch.id, initResult, NOW);
        throw new Error('taken back');
      }),
      /taken back/,
    );
    assert.deepEqual(await deliveriesOf(db, endpointId), []);
  });

  it('is queued if an endpoint is deleted meanwhile, without that endpoint’s deliveries', async () => {
    const project = await storeProject(db);
    const endpointId = await storeEndpoint(db, project, 'http://one.example');
    const batch = await storeBatch(db, project);
    const [finalized, deleted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const happening = db.transaction().execute(async (trx) => {
      await finalizeBatch(trx, batch.id, initResult, NOW);
      finalized.resolve();
      await deleted.promise;
    });
    await finalized.promise;
    const deleting = deleteEndpoint(db, endpointId);
    deleted.resolve();
    await Promise.all([happening, deleting]);
    assert.deepEqual(await deliveriesOf(db, endpointId), []);
  });

  it('says why a batch failed', async () => {
    const project = await storeProject(db);
    const endpointId = await storeEndpoint(db, project, 'http://one.example', ['batch.failed', 'batch.expired']);
    const [failed, expired] = [await storeBatch(db, project), await storeBatch(db, project)];
    const released = RESERVED;
    const executeResult = {
      total: 2,
      totalSuccessful: 1,
      totalFailed: 1,
      successfulExecutions: [],
      failedTxMsg: 'The company rejected it.',
    };
    await endBatch(db, failed.id, { transition: 'ENDED_UNEXECUTED', executeResult, released }, NOW);
    await endBatch(db, expired.id, { transition: 'ENDED_UNEXECUTED', cause: 'expired', released }, NOW);
    const [second, first] = await eventsOf(endpointId);
    assert.ok(first?.type === 'batch.failed' && second?.type === 'batch.expired');
    assert.deepEqual([first.data.status, first.data.executedPipelines], ['FAILED', 1]);
    assert.equal(first.data.error?.message, 'The company rejected it.');
  });
});

describe('a delivery', () => {
  it('is not sent again through the webhook of another project', async () => {
    const [project, stranger] = await Promise.all([storeProject(db), storeProject(db)]);
    const own = await storeEndpoint(db, project, 'http://own.example');
    const theirs = await storeEndpoint(db, stranger, 'http://theirs.example');
    await queueEvent(db, stranger);
    const [delivery] = await deliveriesOf(db, theirs);
    assert.ok(delivery);
    assert.equal(await repeatDelivery(db, own, delivery.id, NOW), null);
    assert.deepEqual(await deliveriesOf(db, theirs), [delivery]);
  });
});

describe('a vault', () => {
  const taken = (now: Date) => claimDueVaults(db, { now, claimedUntil: new Date(now.getTime() + 30_000), limit: 10 });
  const lowAt = ({ id: projectId, token, flywheel }: Project, at: Date): WebhookEvent => {
    const balance = { available: '0', needed: '1', missing: '1' };
    return {
      type: 'vault.low',
      timestamp: at.toISOString(),
      data: {
        projectId,
        vaultAddress: flywheel.multisig.vault,
        mintAddress: token.mint as Address,
        tokens: balance,
        lamports: balance,
      },
    };
  };
  const emit = (project: Project, vault: Parameters<typeof emitVaultLow>[1], at: Date) =>
    emitVaultLow(db, vault, { event: lowAt(project, at), repeatAfterMs: DAY_MS });

  it('is checked by one worker after a batch ended or lacked funds, if a webhook subscribes to vault.low', async () => {
    const [project, indifferent] = await Promise.all([storeProject(db), storeProject(db)]);
    await storeEndpoint(db, project, 'http://one.example', ['vault.low']);
    await storeEndpoint(db, indifferent, 'http://one.example', ['batch.failed']);
    const released = RESERVED;
    const [ended, lacking, other] = [
      await storeBatch(db, project),
      await storeBatch(db, project),
      await storeBatch(db, indifferent),
    ];
    for (const { id } of [ended, other]) await endBatch(db, id, { transition: 'ENDED_UNEXECUTED', released }, NOW);
    const [vault, ...more] = await taken(NOW);
    assert.ok(vault);
    assert.deepEqual([vault.projectId, more, await taken(NOW)], [project.id, [], []]);
    await recordVaultSufficient(db, vault);
    assert.deepEqual(await taken(later(DAY_MS)), []);
    const issue = { code: 'ERR_VAULT_UNDERFUNDED', context: { problems: [randomUUID()] } } as const;
    await recordExecutionIssue(db, lacking.id, issue, { keepRequest: true }, later(1));
    const [again] = await taken(later(2));
    assert.ok(again, 'it lacks funds');
    assert.equal((await taken(later(40_000)))[0]?.projectId, project.id, 'the claim ended without a result');
    await recordVaultSufficient(db, again);
  });

  it('that stays low is checked again a day after its event, until it is sufficient', async () => {
    const project = await storeProject(db);
    await storeEndpoint(db, project, 'http://one.example', ['vault.low']);
    const batch = await storeBatch(db, project);
    await endBatch(db, batch.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
    const takenOfProject = async (now: Date) =>
      (await taken(now)).find(({ projectId }) => projectId === project.id) ?? null;
    const first = await takenOfProject(NOW);
    assert.ok(first);
    assert.equal(await emit(project, first, NOW), true);
    assert.equal(await takenOfProject(later(DAY_MS - 1)), null);
    const second = await takenOfProject(later(DAY_MS));
    assert.ok(second, 'no batch was checked, and none has ended');
    assert.equal(await emit(project, second, later(DAY_MS)), true);
    const third = await takenOfProject(later(2 * DAY_MS));
    assert.ok(third);
    await recordVaultSufficient(db, third);
    assert.equal(await takenOfProject(later(4 * DAY_MS)), null);
  });

  it('emits vault.low once a day, or again after it was sufficient', async () => {
    const project = await storeProject(db);
    const endpointId = await storeEndpoint(db, project, 'http://one.example', ['vault.low']);
    const batch = await storeBatch(db, project);
    await endBatch(db, batch.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
    const vault = { projectId: project.id, claimedUntil: later(30_000) };
    assert.equal(await emit(project, vault, NOW), true);
    assert.equal(await emit(project, vault, later(DAY_MS - 1)), false);
    assert.equal(await emit(project, vault, later(DAY_MS)), true);
    assert.equal(await emit(project, vault, later(DAY_MS + 1)), false);
    await recordVaultSufficient(db, vault);
    assert.equal(await emit(project, vault, later(DAY_MS + 2)), true);
    assert.equal((await eventsOf(endpointId)).length, 3);
  });
});
