import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { ExecuteBatchPending, ExecuteBatchResponse } from '@flywheel/api';
import { assertError, executeSigned, openBatch, readBatch, setUpBatch, waitForBatch } from '@flywheel/testing/batches';
import { readBatchOnChain, tokenBalance, tokenSupply } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline, getBatch, send } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { createProject, signWith, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';

const PATH = '/v1/flywheel/batch/execute';

describe('POST /v1/flywheel/batch/execute', () => {
  let world: World;
  let project: TestProject;

  before(async () => {
    world = await openWorld();
    project = await createProject(world);
  });
  after(() => world.stop());

  describe('200', () => {
    it('answers id, status and the result that the batch then has', async () => {
      const recipient = await generateKeyPairSigner();
      const supply = await tokenSupply(world, project.mint);
      const batch = await setUpBatch(world, project, [
        burnPipeline(5),
        airdropPipeline(recipient.address, 2.5),
        burnPipeline(1),
        airdropPipeline(recipient.address, 0.000001),
        burnPipeline(2),
        burnPipeline(3),
      ]);
      const { status, body, headers } = await executeSigned(world, project, batch);
      assert.equal(status, 200, JSON.stringify(body));
      ExecuteBatchResponse.strict().parse(body);
      assert.deepEqual(Object.keys(body).toSorted(), ['batchId', 'result', 'status']);
      assert.equal(body.batchId, batch.id);
      assert.equal(body.status, 'EXECUTED');
      const { total, totalSuccessful, totalFailed, successfulExecutions, ...rest } = body.result;
      assert.deepEqual({ total, totalSuccessful, totalFailed }, { total: 6, totalSuccessful: 6, totalFailed: 0 });
      assert.deepEqual(rest, {});
      // One transaction has the approval, one all six pipelines; over RPC they are not a bundle.
      const hashes = successfulExecutions.map(({ txHashes }: { txHashes: string[] }) => txHashes.length);
      assert.deepEqual(hashes, world.environment.JITO_BLOCK_ENGINE_URL ? [2] : [1, 1]);
      assert.equal(headers.get('location'), null);
      assert.equal(headers.get('retry-after'), null);

      const read = await readBatch(world, project, batch.id);
      assert.equal(read.status, 'EXECUTED');
      assert.deepEqual(read.executeResult, body.result);
      assert.equal(await tokenBalance(world, project.mint, recipient.address), 2_500_001n);
      assert.equal(await tokenSupply(world, project.mint), supply - 11_000_000n);
    });

    it('waits for a batch that is still being set up', onlyLocal('fail calls'), async () => {
      world.localnet.faults.set({ kind: 'delay', method: 'sendBundle', delayMs: 400 });
      const batch = await openBatch(world, project, [burnPipeline()]);
      assert.equal((await readBatch(world, project, batch.id)).status, 'AVAILABLE_TO_QUEUE');
      const { status, body } = await executeSigned(world, project, batch);
      world.localnet.faults.clear();
      assert.deepEqual([status, body.status], [200, 'EXECUTED']);
      const { initResult } = await readBatch(world, project, batch.id);
      assert.equal(initResult?.totalFailed, 0);
    });

    it('applies the wait of Prefer, up to 120 s, and ignores an invalid one', async () => {
      const batch = await setUpBatch(world, project, [burnPipeline()]);
      const applied = async (prefer?: string) => {
        const answer = await executeSigned(world, project, batch, prefer === undefined ? {} : { prefer });
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        return answer.headers.get('preference-applied');
      };
      assert.equal(await applied('wait=20'), 'wait=20');
      assert.equal(await applied(), null);
      assert.equal(await applied('wait=120'), 'wait=120');
      assert.equal(await applied('wait=121'), 'wait=120');
      assert.equal(await applied('wait=999999999'), 'wait=120');
      assert.equal(await applied('respond-async, WAIT = "7"'), 'wait=7');
      for (const nonsense of ['wait', 'wait=', 'wait=-1', 'wait=soon', 'wait=1.5', 'wait=1e3', 'await=3', ',;=']) {
        assert.equal(await applied(nonsense), null, nonsense);
      }
    });

    it('accepts the batch’s id in capitals', async () => {
      const batch = await setUpBatch(world, project, [burnPipeline()]);
      const { status, body } = await executeSigned(world, project, { ...batch, id: batch.id.toUpperCase() });
      assert.deepEqual([status, body.batchId, body.status], [200, batch.id, 'EXECUTED']);
    });
  });

  describe('202', () => {
    it('answers where to poll after the wait, and the execution continues', onlyLocal('fail calls'), async () => {
      const batch = await setUpBatch(world, project, [burnPipeline()]);
      world.localnet.faults.set({ kind: 'delay', method: 'sendBundle', delayMs: 500 });
      const { status, body, headers } = await executeSigned(world, project, batch, { prefer: 'wait=0' });
      assert.equal(status, 202);
      ExecuteBatchPending.strict().parse(body);
      assert.deepEqual(body, { batchId: batch.id, status: 'FINALIZED' });
      assert.equal(headers.get('preference-applied'), 'wait=0');
      assert.equal(headers.get('location'), `/v1/flywheel/batch/${batch.id}`);
      assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);

      const polled = await send(world.url, 'GET', headers.get('location') ?? '', { key: project.apiKey });
      assert.equal(polled.body.status, 'FINALIZED');
      assert.equal('executeResult' in polled.body, false);
      world.localnet.faults.clear();
      const { executeResult } = await waitForBatch(world, project, batch.id, (it) => it.status === 'EXECUTED');
      assert.equal(executeResult?.totalSuccessful, 1);
    });

    it('answers AVAILABLE_TO_QUEUE for a batch that is not on chain yet', onlyLocal('fail calls'), async () => {
      world.localnet.faults.set({ kind: 'delay', method: 'sendBundle', delayMs: 300 });
      const batch = await openBatch(world, project, [burnPipeline()]);
      const { status, body } = await executeSigned(world, project, batch, { prefer: 'wait=0' });
      assert.deepEqual([status, body.status], [202, 'AVAILABLE_TO_QUEUE']);
      world.localnet.faults.clear();
      await waitForBatch(world, project, batch.id, (it) => it.status === 'EXECUTED');
    });
  });

  describe('400', () => {
    it('answers ERR_INVALID_REQUEST with the position for a malformed body', async () => {
      const [batchId, signedTx] = [randomUUID(), 'AA=='];
      const faults: readonly (readonly [body: unknown, place: RegExp])[] = [
        [{ signedTx }, /^body\.batchId /],
        [{ batchId }, /^body\.signedTx /],
        [{ batchId: 'no uuid', signedTx }, /^body\.batchId /],
        [{ batchId: 7, signedTx }, /^body\.batchId /],
        [{ batchId, signedTx: '' }, /^body\.signedTx /],
        [{ batchId, signedTx: null }, /^body\.signedTx /],
        [{ batchId, signedTx, dryRun: true }, /dryRun/],
        [[], /body/],
        ['text', /body/],
        [null, /body/],
      ];
      for (const [body, place] of faults) {
        const answer = await send(world.url, 'POST', PATH, { key: project.apiKey, body });
        assertError(answer, 400, 'ERR_INVALID_REQUEST', place);
      }
      const broken = await send(world.url, 'POST', PATH, { key: project.apiKey, text: '{"batchId":' });
      assertError(broken, 400, 'ERR_INVALID_REQUEST');
    });
  });

  describe('401', () => {
    it('answers ERR_UNAUTHORIZED without a key and for a malformed key', async () => {
      const body = { batchId: randomUUID(), signedTx: 'AA==' };
      assertError(await send(world.url, 'POST', PATH, { body }), 401, 'ERR_UNAUTHORIZED');
      assertError(await send(world.url, 'POST', PATH, { key: 'nonsense', body }), 401, 'ERR_UNAUTHORIZED');
    });
  });

  describe('404', () => {
    it('answers ERR_KEY_NOT_FOUND for an unknown key', async () => {
      const { projectId, apiKey } = await createProject(world);
      await world.db.deleteFrom('api_keys').where('project_id', '=', projectId).execute();
      assertError(
        await executeSigned(world, { apiKey }, { id: randomUUID(), signedTx: 'AA==' }),
        404,
        'ERR_KEY_NOT_FOUND',
      );
    });

    it('answers ERR_BATCH_NOT_FOUND for an unknown batch', async () => {
      const id = randomUUID();
      const answer = await executeSigned(world, project, { id, signedTx: 'garbage' });
      assertError(answer, 404, 'ERR_BATCH_NOT_FOUND', new RegExp(id));
    });

    it('answers the same for another project’s batch, whatever its state, and does not change it', async () => {
      const stranger = await createProject(world);
      const batch = await setUpBatch(world, project, [burnPipeline()]);
      const attempt = () => executeSigned(world, stranger, batch);
      const unknown = await executeSigned(world, stranger, { ...batch, id: randomUUID() });
      const refusal = await attempt();
      assertError(refusal, 404, 'ERR_BATCH_NOT_FOUND');
      assert.equal(refusal.body.message.replace(batch.id, 'ID'), unknown.body.message.replace(/[0-9a-f-]{36}/, 'ID'));
      // Signing it with another wallet does not help either.
      const signedTx = await signWith(stranger.wallet, batch.proposalApproveTx).catch(() => batch.proposalApproveTx);
      assertError(await executeSigned(world, stranger, { ...batch, signedTx }), 404, 'ERR_BATCH_NOT_FOUND');
      assert.equal((await readBatch(world, project, batch.id)).status, 'FINALIZED');
      const { proposal } = await readBatchOnChain(world, project, batch.batchIndex);
      assert.deepEqual([proposal.status, proposal.approved], ['Active', []]);
      assert.equal((await executeSigned(world, project, batch)).body.status, 'EXECUTED');
      assertError(await attempt(), 404, 'ERR_BATCH_NOT_FOUND');
    });
  });

  describe('429', () => {
    it('answers ERR_RATE_LIMITED with Retry-After over the limit, also for repeats of the same batch', async () => {
      await world.restart({ RATE_LIMIT_EXECUTE: '2/60' });
      // A new key: requests that were counted before belong to another one.
      const [own, other] = [await createProject(world), await createProject(world)];
      const batch = await setUpBatch(world, own, [burnPipeline()]);
      const first = await executeSigned(world, own, batch);
      assert.equal(first.status, 200, JSON.stringify(first.body));
      assert.match(first.headers.get('ratelimit-policy') ?? '', /^"execute";q=2;w=60$/);
      assert.match(first.headers.get('ratelimit') ?? '', /^"execute";r=1;t=\d+$/);
      assert.equal((await executeSigned(world, own, batch)).status, 200);
      const refused = await executeSigned(world, own, batch);
      assertError(refused, 429, 'ERR_RATE_LIMITED', /The limit of 2 requests in 60 s/);
      const retryAfter = Number(refused.headers.get('retry-after'));
      assert.ok(retryAfter >= 1 && retryAfter <= 60, String(retryAfter));
      // Another key and another operation have limits of their own.
      const unknown = { id: randomUUID(), signedTx: 'AA==' };
      assertError(await executeSigned(world, other, unknown), 404, 'ERR_BATCH_NOT_FOUND');
      assert.equal((await getBatch(world.url, own.apiKey, batch.id)).status, 200);
    });

    after(() => world.restart());
  });

  describe('500', () => {
    it(
      'answers ERR_BATCH_EXECUTE_FAILED while the cluster does not answer; the same request succeeds later',
      onlyLocal('fail calls'),
      async () => {
        const batch = await setUpBatch(world, project, [burnPipeline()]);
        world.localnet.faults.set({ kind: 'error', method: 'getMultipleAccounts', status: 500 });
        const answer = await executeSigned(world, project, batch);
        world.localnet.faults.clear();
        assertError(answer, 500, 'ERR_BATCH_EXECUTE_FAILED', /never executed twice/);
        assert.equal(answer.headers.get('retry-after'), '5');
        assert.doesNotMatch(JSON.stringify(answer.body), /127\.0\.0\.1|getMultipleAccounts|\bat \//);
        const { status, ...read } = await readBatch(world, project, batch.id);
        assert.equal(status, 'FINALIZED');
        assert.equal('executionError' in read, false);
        assert.equal((await executeSigned(world, project, batch)).body.status, 'EXECUTED');
      },
    );
  });
});
