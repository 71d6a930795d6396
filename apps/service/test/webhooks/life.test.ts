import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CreatedWebhook, type WebhookEvent, WebhookTopic } from '@flywheel/api';
import { assertError, executeSigned, openBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, send } from '@flywheel/testing/client';
import { type Decider, rejectForCompany } from '@flywheel/testing/decisions';
import { createProject, type ProjectOptions, requireOk, type TestProject } from '@flywheel/testing/project';
import { openReceiver, type Receiver, verifyWebhook } from '@flywheel/testing/webhook-receiver';
import type { World } from '@flywheel/testing/world';
import { type ConsoleWorld, openConsoleWorld } from '@flywheel/testing/world';
import type { Address } from '@solana/kit';

const KEY = Buffer.alloc(32, 7).toString('base64');

let world: World;
let ask: ConsoleWorld['ask'];
let company: Decider;
before(async () => {
  ({ world, ask, company } = await openConsoleWorld({ WEBHOOK_KEY: KEY, WEBHOOK_ALLOW_PRIVATE: '1' }));
});
after(() => world.stop());

interface Hook extends AsyncDisposable {
  readonly project: TestProject;
  readonly receiver: Receiver;
  /** Waits for this number of events, in the order in which they happened, each verified. */
  until(count: number): Promise<WebhookEvent[]>;
}

/** Opens a project with a webhook for all events. */
async function openHook(options: ProjectOptions = {}): Promise<Hook> {
  const project = await createProject(world, options);
  const receiver = await openReceiver();
  const body = { url: receiver.url, events: WebhookTopic.options };
  const created = await ask('POST', `/projects/${project.projectId}/webhooks`, project.cookie, body);
  const { secret }: CreatedWebhook = requireOk(created);
  return {
    project,
    receiver,
    // Deliveries are not ordered.
    until: async (count) =>
      (await receiver.until(count))
        .slice(0, count)
        .map((received) => verifyWebhook(received, secret))
        .toSorted((a, b) => (a.timestamp < b.timestamp ? -1 : 1)),
    [Symbol.asyncDispose]: () => receiver.close(),
  };
}

describe('a project’s webhook', () => {
  it('receives that a batch is finalized and executed', async () => {
    await using hook = await openHook();
    const batch = await setUpBatch(world, hook.project, [burnPipeline(2), burnPipeline(3)]);
    requireOk(await executeSigned(world, hook.project, batch));
    const [finalized, executed] = await hook.until(2);
    const same = {
      projectId: hook.project.projectId,
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
    assert.equal(hook.receiver.received.length, 2);
  });

  it('receives that a batch waits for the company, and why it failed', async () => {
    await using hook = await openHook({ approvalMode: 'manual' });
    const batch = await setUpBatch(world, hook.project, [burnPipeline()]);
    assert.equal((await executeSigned(world, hook.project, batch)).status, 202);
    const [, awaiting] = await hook.until(2);
    assert.equal(awaiting?.type, 'batch.awaiting_company_approval');
    requireOk(await rejectForCompany(world, company, batch.id, 'Too much for a Sunday.'));
    const [, , failed] = await hook.until(3);
    assert.ok(failed?.type === 'batch.failed');
    assert.match(failed.data.error?.message ?? '', /Too much for a Sunday/);
    assert.deepEqual([failed.data.status, failed.data.executedPipelines], ['FAILED', 0]);
  });

  it('receives the cancellation of a batch as a failure', async () => {
    await using hook = await openHook();
    const cancelled = await setUpBatch(world, hook.project, [burnPipeline()]);
    requireOk(
      await send(world.url, 'POST', `/v1/flywheel/batch/${cancelled.id}/cancel`, {
        key: hook.project.apiKey,
        body: {},
      }),
    );
    const [, failed] = await hook.until(2);
    assert.ok(failed?.type === 'batch.failed');
    assert.match(failed.data.error?.message ?? '', /cancelled/);
  });

  it('receives once that the vault lacks funds, and again if it was funded meanwhile', async () => {
    await using hook = await openHook({ vaultBaseUnits: 1_000_000n });
    const { project, receiver } = hook;
    const vault = project.vaultAddress as Address;
    const low = await setUpBatch(world, project, [burnPipeline(3)]);
    for (let i = 0; i < 2; i += 1) {
      assertError(await executeSigned(world, project, low), 409, 'ERR_VAULT_UNDERFUNDED');
    }
    const [, first] = await hook.until(2);
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
    await hook.until(3);
    const watched = () => world.db.selectFrom('vault_balance_checks').selectAll().execute();
    await waitUntil('the vault to be seen filled', watched, (all) =>
      all.every(({ notified_at }) => notified_at === null),
    );
    // Two more open batches than the vault can pay: announced after the first one has ended.
    const next = await setUpBatch(world, project, [burnPipeline(2)]);
    const after = await openBatch(world, project, [burnPipeline(5)]);
    await waitForBatch(world, project, after.id, ({ status }) => status === 'FINALIZED');
    requireOk(await executeSigned(world, project, next));
    const events = await hook.until(7);
    const lows = events.filter(({ type }) => type === 'vault.low');
    assert.equal(lows.length, 2);
    const [, second] = lows;
    assert.ok(second?.type === 'vault.low');
    assert.deepEqual(second.data.tokens, { available: '0', needed: '5', missing: '5' });
    assert.equal(receiver.received.length, 7);
  });

  it('receives an expiry from whichever process serves then', async () => {
    await using hook = await openHook();
    await world.restart({ BATCH_EXPIRY_SECONDS: '1' });
    const batch = await openBatch(world, hook.project, [burnPipeline()]);
    const isExpiry = ({ type }: WebhookEvent) => type === 'batch.expired';
    // On a busy machine it expires before it is finalized.
    const first = await hook.until(1);
    const expired = (first.some(isExpiry) ? first : await hook.until(2)).find(isExpiry);
    assert.ok(expired?.type === 'batch.expired');
    assert.deepEqual([expired.data.batchId, expired.data.status], [batch.id, 'FAILED']);
    await world.restart();
  });
});
