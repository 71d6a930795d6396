import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { CreatedWebhook, WebhookDelivery } from '@flywheel/api';
import {
  assertError,
  executeSigned,
  type OpenBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { findMultisig } from '@flywheel/testing/chain';
import { burnPipeline, send } from '@flywheel/testing/client';
import { setPolicy } from '@flywheel/testing/decisions';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { countPutOff, findJobIds, makeDue } from '@flywheel/testing/jobs';
import { requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import { approve, rotateWallet, waitForWithdrawal } from '@flywheel/testing/treasury';
import { createProjectIn, openTwoShards, type TwoShards } from '@flywheel/testing/two-shards';
import { openReceiver, verifyWebhook } from '@flywheel/testing/webhook-receiver';
import type { World } from '@flywheel/testing/world';
import { address, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { systemClock as clock } from '../../src/clock.ts';
import { moveProject } from '../../src/projects/move-project.ts';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { assertRentBack, type DepartedRows, decideIn, moveToSecond, typesOf, untilFound } from './moves.ts';

/** A rotation of a wallet, and a batch that was open when it was asked for. */
interface OpenRotation {
  readonly project: TestProject;
  readonly to: KeyPairSigner;
  readonly batchId: string;
  readonly other: OpenBatch;
}

interface Stage {
  readonly name: string;
  /** Steps that are taken before the move. */
  readonly taken: number;
  readonly assertState: (departed: DepartedRows, rotation: OpenRotation) => void;
}

/** The reason of a rotation that waits for another batch of its project. */
const WAITS_FOR_BATCH = /^it waits for 1 open batch /;

const STAGES: readonly Stage[] = [
  {
    name: 'the person has not approved',
    taken: 0,
    assertState: (departed, { batchId }) => {
      const { status, signed_tx } = departed.batch(batchId);
      assert.deepEqual([status, signed_tx, typesOf(departed.jobs(batchId))], ['FINALIZED', null, []]);
    },
  },
  {
    name: 'waits for the company',
    taken: 1,
    assertState: (departed, { batchId }) => {
      const { signed_tx, company_asked_at, company_decided_at } = departed.batch(batchId);
      assert.deepEqual([signed_tx !== null, company_asked_at !== null, company_decided_at], [true, true, null]);
    },
  },
  {
    name: 'both sides have approved, and which waits for an open batch',
    taken: 2,
    assertState: (departed, { batchId }) => {
      const { company_decided_at, execution_began_at, execution_error } = departed.batch(batchId);
      assert.deepEqual([company_decided_at !== null, execution_began_at], [true, null]);
      assert.match(execution_error?.reason ?? '', WAITS_FOR_BATCH, JSON.stringify(execution_error));
      assert.deepEqual(typesOf(departed.jobs(batchId)), ['execute']);
    },
  },
];

describe('a project that moves while something of it waits', WITH_HAPROXY, () => {
  let shards: TwoShards;
  before(async () => {
    shards = await openTwoShards();
  });
  after(() => shards?.stop());

  for (const { name, taken, assertState } of STAGES) {
    it(`has its wallet replaced in its new shard by a rotation that ${name}`, async () => {
      const { first, second, proxy } = shards;
      const project = await createProjectIn(first, proxy);
      const to = await generateKeyPairSigner();
      const other = await setUpBatch(proxy, project, [burnPipeline()]);
      const { batchId } = requireOk(await rotateWallet({ url: proxy.url, db: first.db }, project, to));
      await waitForWithdrawal(proxy, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
      await takeSteps(first, project, batchId, { from: 0, to: taken });
      const departed = await moveToSecond(shards, project);
      assertState(departed, { project, to, batchId, other });

      const moved = { ...project, cookie: await signIn(proxy.url, project.wallet) };
      await takeSteps(second, moved, batchId, { from: taken, to: STEPS });
      assert.equal((await findMultisig(second, project)).wallet, project.wallet.address, 'it waits for the open batch');
      assert.equal(requireOk(await executeSigned(proxy, project, other)).status, 'EXECUTED');
      await waitUntil(
        'the new wallet',
        () => findMultisig(second, project),
        ({ wallet }) => wallet === to.address,
      );
      const path = `/console/api/projects/${project.projectId}`;
      const asOld = await send(proxy.url, 'GET', path, { headers: { cookie: moved.cookie } });
      assertError(asOld, 404, 'ERR_PROJECT_NOT_FOUND');
      const owner = { ...project, wallet: to, cookie: await signIn(proxy.url, to) };
      await waitForWithdrawal(proxy, owner, batchId, ({ batch: { ledger } }) => {
        return ledger?.isComplete === true && ledger.rentBackLamports === ledger.rentOutLamports;
      });
      await executes(owner);
      // The first shard has known the project with its old wallet.
      await moveProject({ from: second.db, to: first.db, clock }, project.projectId, async () => undefined);
      await untilFound(proxy, project);
      await executes(owner);
    });
  }

  it('has a batch wait in its new shard for the hours in which the company signs', async () => {
    const { first, second, proxy, operator } = shards;
    const project = await createProjectIn(first, proxy);
    const batch = await setUpBatch(proxy, project, [burnPipeline()]);
    const decider = { wallet: operator, cookie: await signIn(first.url, operator) };
    const hour = (new Date().getUTCHours() + 2) % 24;
    const time = (each: number) => `${String(each % 24).padStart(2, '0')}:00`;
    requireOk(await setPolicy(first, decider, project, { hours: { from: time(hour), to: time(hour + 1) } }));
    assert.equal((await executeSigned(proxy, project, batch, { prefer: 'wait=0' })).status, 202);
    await untilPutOff(first, batch);
    const departed = await moveToSecond(shards, project);
    const [job, ...others] = departed.jobs(batch.id);
    assert.deepEqual([job?.data.type, others.length], ['execute', 0]);
    const until = new Date(job?.start_after ?? 0).toISOString();
    assert.ok(departed.batch(batch.id).execution_error?.reason?.includes(until));

    // The rule binds the second shard too: a job that comes early is put off again.
    const early = await findJobIds(second, 'execute', batch.id);
    await makeDue(second, 'execute', batch.id);
    await waitUntil(
      'the job to be put off again',
      () => findJobIds(second, 'execute', batch.id),
      (ids) => ids.length === 1 && !early.includes(ids[0] ?? ''),
    );
    assert.equal(await countPutOff(second, 'execute', batch.id), 1);
    assert.deepEqual(await findBundles(second.db, batch.id, 'execution'), []);
    // The hours begin with that.
    await second.db.deleteFrom('company_policies').where('multisig', '=', address(project.multisig)).execute();
    await makeDue(second, 'execute', batch.id);
    await waitForBatch(proxy, project, batch.id, ({ status }) => status === 'EXECUTED');
    await assertRentBack(proxy, project, batch, 'EXECUTED');
  });

  it('has a webhook that its receiver has refused delivered by its new shard, and again on request', async () => {
    const { first, proxy } = shards;
    let isDown = true;
    await using receiver = await openReceiver((_, response) => response.writeHead(isDown ? 500 : 204).end());
    const project = await createProjectIn(first, proxy);
    const hooks = `/console/api/projects/${project.projectId}/webhooks`;
    const asked = { headers: { cookie: project.cookie }, body: { url: receiver.url, events: ['batch.executed'] } };
    const { webhook, secret }: CreatedWebhook = requireOk(await send(proxy.url, 'POST', hooks, asked));
    const batch = await setUpBatch(proxy, project, [burnPipeline()]);
    assert.equal(requireOk(await executeSigned(proxy, project, batch)).status, 'EXECUTED');
    await receiver.until(1);
    const departed = await moveToSecond(shards, project);
    const [waiting, ...others] = departed.deliveries();
    assert.deepEqual([waiting?.state, others.length], ['waiting', 0]);
    const refused = waiting?.attempts ?? 0;
    assert.ok(refused > 0);

    isDown = false;
    const headers = { cookie: await signIn(proxy.url, project.wallet) };
    const path = `${hooks}/${webhook.webhookId}/deliveries`;
    const readNewest = async (): Promise<WebhookDelivery> => {
      const { deliveries } = requireOk(await send(proxy.url, 'GET', path, { headers }));
      return deliveries[0];
    };
    const delivered = await waitUntil('the delivery', readNewest, ({ state }) => state === 'delivered');
    assert.ok(delivered.attempts > refused);
    const again = `${path}/${delivered.deliveryId}/redeliver`;
    requireOk(await send(proxy.url, 'POST', again, { headers, body: {} }));
    await waitUntil('the repetition', readNewest, ({ state, attempts }) => {
      return state === 'delivered' && attempts > delivered.attempts;
    });
    for (const each of receiver.received) {
      assert.equal(each.id, waiting?.event_id);
      const { data } = verifyWebhook(each, secret);
      assert.equal('batchId' in data && data.batchId, batch.id);
    }
  });

  /** Takes steps of a rotation in a shard: the person approves, and then the company. */
  async function takeSteps(
    shard: World,
    project: TestProject,
    batchId: string,
    { from, to }: { readonly from: number; readonly to: number },
  ): Promise<void> {
    if (from <= 0 && to > 0) requireOk(await approve(shards.proxy, project, batchId));
    if (from <= 1 && to > 1) {
      await (await decideIn(shards, shard))(batchId);
    }
    if (to <= 1) return;
    // Another reason may be shown before this one.
    const readRow = () =>
      shard.db.selectFrom('batches').select('execution_error').where('id', '=', batchId).executeTakeFirstOrThrow();
    await waitUntil('the rotation to wait for the open batch', readRow, ({ execution_error }) =>
      WAITS_FOR_BATCH.test(execution_error?.reason ?? ''),
    );
  }

  async function executes(owner: TestProject): Promise<void> {
    const batch = await setUpBatch(shards.proxy, owner, [burnPipeline()]);
    assert.equal(requireOk(await executeSigned(shards.proxy, owner, batch)).status, 'EXECUTED');
    await assertRentBack(shards.proxy, owner, batch, 'EXECUTED');
  }

  async function untilPutOff(world: World, { id }: OpenBatch): Promise<void> {
    const count = () => countPutOff(world, 'execute', id);
    await waitUntil('the execution to be put off', count, (putOff) => putOff === 1);
  }
});

/** The person's approval, and the company's. */
const STEPS = 2;
