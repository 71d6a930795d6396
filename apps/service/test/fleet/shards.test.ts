import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { ProjectSummary } from '@flywheel/api';
import { assertError, executeSigned, openBatch, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { type Answer, burnPipeline, getBatch, init, send } from '@flywheel/testing/client';
import { approveForCompany, changeAdmission, rejectForCompany } from '@flywheel/testing/decisions';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import { createProjectIn, mergeCookies, openTwoShards, type TwoShards } from '@flywheel/testing/two-shards';
import { openReceiver, type Receiver } from '@flywheel/testing/webhook-receiver';
import type { World } from '@flywheel/testing/world';
import { sql } from 'kysely';
import { systemClock as clock } from '../../src/clock.ts';
import { type MoveStep, moveProject } from '../../src/projects/move-project.ts';
import { isOf } from '../../src/store/jobs/lanes.ts';
import { isHere } from '../../src/store/shards/directory.ts';
import { findUnsettled } from '../../src/store/shards/past.ts';
import { findLive, readProjectRows, startInits } from './two-shards.ts';

const MAX_REFUSED_MS = 30_000;

describe('two shards behind one URL', WITH_HAPROXY, () => {
  let shards: TwoShards;
  let one: TestProject;
  let two: TestProject;
  let receiver: Receiver;

  before(async () => {
    receiver = await openReceiver();
    shards = await openTwoShards();
    one = await createProjectIn(shards.first, shards.proxy);
    two = await createProjectIn(shards.second, shards.proxy);
  });
  after(async () => {
    await shards?.stop();
    await receiver?.close();
  });

  it('serve each API key where its project is', async () => {
    for (const [project, shard] of placed()) {
      const batch = await openBatch(shards.proxy, project, [burnPipeline()]);
      assert.equal(await countBatches(shard, project), 1);
      assert.equal(requireOk(await executeSigned(shards.proxy, project, batch)).status, 'EXECUTED');
    }
    const unknown = one.apiKey.replace(/.{6}$/, '000000');
    assert.equal((await getBatch(shards.proxy.url, unknown, randomUUID())).status, 401);
  });

  it('sign a wallet in where its project is, and keep a session for each', async () => {
    for (const [project, , number] of placed()) {
      assert.match(project.cookie, new RegExp(`flywheel_session_${number}=.*flywheel_shard=${number}`));
      const headers = { cookie: project.cookie };
      const { projects } = requireOk(await send(shards.proxy.url, 'GET', '/console/api/projects', { headers }));
      assert.deepEqual(
        projects.map(({ id }: ProjectSummary) => id),
        [project.projectId],
      );
      const path = `/console/api/projects/${project.projectId}/settings`;
      requireOk(await send(shards.proxy.url, 'GET', path, { headers }));
    }
    const headers = { cookie: one.cookie };
    const others = await send(shards.proxy.url, 'GET', `/console/api/projects/${two.projectId}/settings`, { headers });
    assert.equal(others.status, 401, 'a session of one shard is none of the other');
  });

  it('find proofs and vaults wherever they are', async () => {
    for (const [project] of placed()) {
      const pipeline = burnPipeline();
      const batch = await openBatch(shards.proxy, project, [pipeline]);
      const { result } = requireOk(await executeSigned(shards.proxy, project, batch));
      const { type, payload } = pipeline;
      const [signature] = result.successfulExecutions.at(-1).txHashes.slice(-1);
      for (const body of [{ type, payload }, { signature }]) {
        const { verdict, pipelines } = requireOk(await send(shards.proxy.url, 'POST', '/console/api/proof', { body }));
        assert.deepEqual([verdict, pipelines[0].batchId], ['proven', batch.id]);
      }
      const vault = await send(shards.proxy.url, 'GET', `/console/api/vaults/${project.vaultAddress}`);
      assert.equal(requireOk(vault).address, project.vaultAddress);
    }
  });

  it('have a desk of the company each, and a switch between them', async () => {
    let jar = '';
    for (const [project, , number] of placed()) {
      const switched = await fetch(`${shards.proxy.url}/shard/${number}`, { redirect: 'manual' });
      jar = mergeCookies(jar, switched.headers.getSetCookie());
      jar = mergeCookies(jar, (await signIn(shards.proxy.url, shards.operator, jar)).split('; '));
      const headers = { cookie: jar };
      const listed = requireOk(await send(shards.proxy.url, 'GET', '/console/api/company/projects', { headers }));
      assert.deepEqual(
        listed.projects.map(({ id }: ProjectSummary) => id),
        [project.projectId],
      );
    }
    // A project leads to its own desk, whichever was last.
    for (const [project] of placed()) {
      const path = `/console/api/projects/${project.projectId}/settings`;
      requireOk(await send(shards.proxy.url, 'GET', path, { headers: { cookie: jar } }));
    }
  });

  it('move a project without losing, repeating or renaming anything, whatever step is interrupted', async (test) => {
    const { first, second, proxy, operator } = shards;
    const cookie = await signIn(first.url, operator);
    requireOk(await changeAdmission(first, { wallet: operator, cookie }, one, 'admit'));
    const hooks = `/console/api/projects/${one.projectId}/webhooks`;
    const asked = { headers: { cookie: one.cookie }, body: { url: receiver.url, events: ['batch.executed'] } };
    requireOk(await send(proxy.url, 'POST', hooks, asked));
    const waiting = await setUpBatch(proxy, one, [burnPipeline()]);
    await untilUnsettled(first, one, 1);
    const client = startInits(proxy, one);
    test.after(() => client.stop());
    await client.until(2);

    for (const step of ['copied', 'refusing', 'departed', 'arrived'] as const) {
      await assert.rejects(moveProject({ from: first.db, to: second.db, clock }, one.projectId, interruptAt(step)), {
        message: step,
      });
      const expected = { copied: ['first'], refusing: ['first'], departed: [], arrived: ['second'] }[step];
      assert.deepEqual(await findLive(shards, one), expected, `after ${step}`);
      if (step === 'copied') {
        assert.equal(await countBatches(second, one), 2, 'those that had ended before');
        const { refusals, created } = client;
        await client.until(created.size + 2);
        assert.equal(client.refusals, refusals);
        await assertUnknownCopies();
      }
      if (step === 'refusing') {
        assertMoving(await init(proxy.url, one.apiKey, [burnPipeline()]));
        requireOk(await getBatch(proxy.url, one.apiKey, waiting.id));
      }
      if (step === 'departed') assertMoving(await getBatch(proxy.url, one.apiKey, waiting.id));
    }
    const { moveId } = await moveProject({ from: first.db, to: second.db, clock }, one.projectId, none);
    assert.equal((await moveProject({ from: first.db, to: second.db, clock }, one.projectId, none)).moveId, moveId);
    await client.until(client.created.size + 2);
    await client.stop();

    assert.deepEqual(await findLive(shards, one), ['second']);
    assert.ok(client.refusals > 0 && client.longestMs < MAX_REFUSED_MS, `refused for ${client.longestMs} ms`);
    test.diagnostic(`inits were refused for ${Math.round(client.longestMs)} ms at most, ${client.refusals} times`);
    for (const [key, { id, pipelines }] of client.created) {
      const again = requireOk(await init(proxy.url, one.apiKey, pipelines, key));
      assert.equal(again.batch.id, id, 'an idempotency key has the batch that it had');
    }
    // Two batches are of the earlier tests, and one waits.
    assert.equal(await countBatches(second, one), client.created.size + 3);
    assert.equal(requireOk(await executeSigned(proxy, one, waiting)).status, 'EXECUTED');
    await receiver.until(1);
    const { rows } = await readProjectRows(first, one.projectId);
    assert.deepEqual(rows, {}, 'nothing is left');
    const { body } = await init(proxy.url, one.apiKey, [burnPipeline()]);
    for (const { id } of [...client.created.values(), body.batch]) {
      const path = `/v1/flywheel/batch/${id}/cancel`;
      await send(proxy.url, 'POST', path, { key: one.apiKey, headers: { prefer: 'wait=0' }, body: {} });
    }
  });

  it('move a project back as it is, with a nonce, a job and a number for each of its rows', async () => {
    const { first, second } = shards;
    // A batch that was cancelled before it was on chain stays unclosed until the setup of a later one uses up its index.
    const batch = await setUpBatch(shards.proxy, one, [burnPipeline()]);
    await untilClosed(second, one);
    const before = await readProjectRows(second, one.projectId);
    await moveProject({ from: second.db, to: first.db, clock }, one.projectId, none);
    const moved = await readProjectRows(first, one.projectId);
    assert.deepEqual(moved.rows, before.rows);
    assert.ok(Object.keys(moved.rows).length > 15);
    const refused = await executeSigned(shards.proxy, one, batch);
    assert.deepEqual(
      [refused.status, refused.body.error],
      [503, 'ERR_PROJECT_MOVING'],
      'the proxy remembers the old shard',
    );
    const repeated = await executeSigned(shards.proxy, one, batch);
    assert.equal(requireOk(repeated).status, 'EXECUTED', 'and has asked again');
    const events = await readProjectRows(first, one.projectId);
    assert.ok(events.lastEventId > moved.lastEventId && moved.lastEventId >= before.lastEventId);
  });

  /** Asserts that the second shard knows no batch of the first one's project, although it has copies. */
  async function assertUnknownCopies(): Promise<void> {
    const { second, operator } = shards;
    const decider = { wallet: operator, cookie: await signIn(second.url, operator) };
    const headers = { cookie: decider.cookie };
    const copies = await second.db.selectFrom('batches').select('id').where('project_id', '=', one.projectId).execute();
    for (const { id } of copies) {
      assert.equal(await isHere(second.db, { kind: 'batch', batchId: id }), false);
      assert.equal(await isHere(shards.first.db, { kind: 'batch', batchId: id }), true);
      const path = `/console/api/company/batches/${id}/review`;
      assertError(await send(second.url, 'GET', path, { headers }), 404, 'ERR_BATCH_NOT_FOUND');
      const { url, rpc } = second;
      const signedBy = { url, rpc, db: shards.first.db };
      assertError(await approveForCompany(signedBy, decider, id), 404, 'ERR_BATCH_NOT_FOUND');
      assertError(await rejectForCompany(signedBy, decider, id, 'Not here'), 404, 'ERR_BATCH_NOT_FOUND');
    }
  }

  function placed(): readonly (readonly [TestProject, World, 1 | 2])[] {
    return [
      [one, shards.first, 1],
      [two, shards.second, 2],
    ];
  }
});

function assertMoving({ status, body, headers }: Answer): void {
  assert.deepEqual([status, body.error, headers.get('retry-after')], [503, 'ERR_PROJECT_MOVING', '2']);
}

const none = async () => undefined;

function interruptAt(step: MoveStep) {
  return async (taken: MoveStep) => {
    if (taken === step) throw new Error(step);
  };
}

async function countBatches({ db }: World, { projectId }: TestProject): Promise<number> {
  return (await db.selectFrom('batches').select('id').where('project_id', '=', projectId).execute()).length;
}

/** Waits until a number of batches are not settled. */
async function untilUnsettled({ db }: World, { projectId, multisig }: TestProject, wanted: number): Promise<void> {
  await waitUntil(
    `${wanted} unsettled batches`,
    async () => {
      await hastenLooks(db, multisig);
      return (await findUnsettled(db, { projectId, multisig })).indices.length;
    },
    (count) => count === wanted,
  );
}

/** Waits until no batch that has ended has anything to be done, and no other one but its expiry. */
async function untilClosed({ db }: World, { projectId, multisig }: TestProject): Promise<void> {
  await waitUntil(
    'the last looks at all setups and ended batches',
    async () => {
      const unclosed = db.selectFrom('batches').select('id').where('project_id', '=', projectId);
      const ended = await unclosed.where('ended_at', 'is not', null).where('closed_at', 'is', null).execute();
      return ended.length + (await hastenLooks(db, multisig));
    },
    (count) => count === 0,
  );
}

/** Lets the last looks at setups and closings, a minute later, happen now. Returns the number of those that are not done. */
async function hastenLooks(db: World['db'], multisig: string): Promise<number> {
  const look = sql`${isOf(multisig)} and data->>'type' in ('setup', 'close')`;
  await sql`update jobs.job set start_after = now() where ${look} and state < 'active'`.execute(db);
  const { rows } = await sql`select id from jobs.job where ${look} and state <= 'active'`.execute(db);
  return rows.length;
}
