import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CreatedWebhook, type WebhookEvent, WebhookTopic } from '@flywheel/api';
import { assertError, executeSigned, openBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, send } from '@flywheel/testing/client';
import { createProject, type ProjectOptions, requireOk, type TestProject } from '@flywheel/testing/project';
import { openReceiver, type Receiver, verifyWebhook } from '@flywheel/testing/webhook-receiver';
import type { World } from '@flywheel/testing/world';
import { type ConsoleWorld, openConsoleWorld } from '@flywheel/testing/world';
import type { Address } from '@solana/kit';

const KEY = Buffer.alloc(32, 7).toString('base64');

let world: World;
let ask: ConsoleWorld['ask'];
let companyCookie: string;
before(async () => {
  ({ world, ask, companyCookie } = await openConsoleWorld({ WEBHOOK_KEY: KEY, WEBHOOK_ALLOW_PRIVATE: '1' }));
});
after(() => world.stop());

interface Told extends AsyncDisposable {
  readonly project: TestProject;
  readonly receiver: Receiver;
  /** The first so many events, in the order in which they happened, each verified. */
  until(count: number): Promise<WebhookEvent[]>;
}

/** A project with a webhook for everything. */
async function openTold(options: ProjectOptions = {}): Promise<Told> {
  const project = await createProject(world, options);
  const receiver = await openReceiver();
  const body = { url: receiver.url, events: WebhookTopic.options };
  const created = await ask('POST', `/projects/${project.projectId}/webhooks`, project.cookie, body);
  const { secret }: CreatedWebhook = requireOk(created);
  return {
    project,
    receiver,
    // Deliveries keep no order.
    until: async (count) =>
      (await receiver.until(count))
        .slice(0, count)
        .map((received) => verifyWebhook(received, secret))
        .toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : 1)),
    [Symbol.asyncDispose]: () => receiver.close(),
  };
}

describe('a project’s webhook', () => {
  it('is told that a batch is finalized and executed', async () => {
    await using told = await openTold();
    const batch = await setUpBatch(world, told.project, [burnPipeline(2), burnPipeline(3)]);
    requireOk(await executeSigned(world, told.project, batch));
    const [finalized, executed] = await told.until(2);
    const same = {
      projectId: told.project.projectId,
      batchId: batch.id,
      batchIndex: String(batch.batchIndex),
      kind: 'pipelines',
      pipelines: 2,
    };
    assert.deepEqual([finalized?.type, finalized?.data], ['batch.finalized', { ...same, status: 'FINALIZED' }]);
    assert.deepEqual(
      [executed?.type, executed?.data],
      ['batch.executed', { ...same, status: 'EXECUTED', executedPipelines: 2 }],
    );
    assert.equal(told.receiver.received.length, 2);
  });

  it('is told that a batch waits for the company, and why it has failed', async () => {
    await using told = await openTold({ approvalMode: 'manual' });
    const batch = await setUpBatch(world, told.project, [burnPipeline()]);
    assert.equal((await executeSigned(world, told.project, batch)).status, 202);
    const [, awaiting] = await told.until(2);
    assert.equal(awaiting?.type, 'batch.awaiting_company_approval');
    const reject = `/company/batches/${batch.id}/reject`;
    requireOk(await ask('POST', reject, companyCookie, { reason: 'Too much for a Sunday.' }));
    const [, , failed] = await told.until(3);
    assert.ok(failed?.type === 'batch.failed');
    assert.match(failed.data.error?.message ?? '', /Too much for a Sunday/);
    assert.deepEqual([failed.data.status, failed.data.executedPipelines], ['FAILED', 0]);
  });

  it('is told that a batch was cancelled, as of one that failed', async () => {
    await using told = await openTold();
    const cancelled = await setUpBatch(world, told.project, [burnPipeline()]);
    requireOk(
      await send(world.url, 'POST', `/v1/flywheel/batch/${cancelled.id}/cancel`, {
        key: told.project.apiKey,
        body: {},
      }),
    );
    const [, failed] = await told.until(2);
    assert.ok(failed?.type === 'batch.failed');
    assert.match(failed.data.error?.message ?? '', /cancelled/);
  });

  it('is told once that the vault lacks what its open batches take, and again when it was filled meanwhile', async () => {
    await using told = await openTold({ vaultBaseUnits: 1_000_000n });
    const { project, receiver } = told;
    const vault = project.vaultAddress as Address;
    const low = await setUpBatch(world, project, [burnPipeline(3)]);
    for (let i = 0; i < 2; i += 1) {
      assertError(await executeSigned(world, project, low), 409, 'ERR_VAULT_UNDERFUNDED');
    }
    const [, first] = await told.until(2);
    assert.deepEqual(
      [first?.type, first?.data],
      [
        'vault.low',
        {
          projectId: project.projectId,
          vaultAddress: vault,
          mintAddress: project.mint,
          tokens: { available: '1', needed: '3', missing: '2' },
          lamports: { available: '10000000000', needed: '0', missing: '0' },
        },
      ],
    );
    await world.localnet.bank.mintTo(project.mint, vault, 4_000_000n);
    requireOk(await executeSigned(world, project, low));
    await told.until(3);
    const watched = () => world.db.selectFrom('vault_balance_checks').selectAll().execute();
    await waitUntil('the vault to be seen filled', watched, (all) =>
      all.every(({ notified_at }) => notified_at === null),
    );
    // Two more open than it can pay: told when the first has ended.
    const next = await setUpBatch(world, project, [burnPipeline(2)]);
    const after = await openBatch(world, project, [burnPipeline(5)]);
    await waitForBatch(world, project, after.id, ({ status }) => status === 'FINALIZED');
    requireOk(await executeSigned(world, project, next));
    const events = await told.until(7);
    const lows = events.filter(({ type }) => type === 'vault.low');
    assert.equal(lows.length, 2);
    const [, second] = lows;
    assert.ok(second?.type === 'vault.low');
    assert.deepEqual(second.data.tokens, { available: '0', needed: '5', missing: '5' });
    assert.equal(receiver.received.length, 7);
  });

  it('is told of an expiry, and by whatever process serves since', async () => {
    await using told = await openTold();
    await world.restart({ BATCH_EXPIRY_SECONDS: '1' });
    const batch = await openBatch(world, told.project, [burnPipeline()]);
    const events = await told.until(2);
    const expired = events.find(({ type }) => type === 'batch.expired');
    assert.ok(expired?.type === 'batch.expired');
    assert.deepEqual([expired.data.batchId, expired.data.status], [batch.id, 'FAILED']);
    await world.restart();
  });
});
