import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { BatchDetail, BatchPage, BatchProgress } from '@flywheel/api';
import { assertError, waitUntil } from '@flywheel/testing/batches';
import { type Answer, airdropPipeline, burnPipeline, getBatch, send } from '@flywheel/testing/client';
import { createProject, requireOk, signIn, signWith, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { address, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';

const NOT_THERE = '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d';

let world: World;
let operator: KeyPairSigner;
before(async () => {
  operator = await generateKeyPairSigner();
  world = await openWorld({ COMPANY_OPERATORS: operator.address });
});
after(() => world.stop());

describe('a batch of the console', () => {
  it('shows its whole timeline, with times and signatures, until its rent is returned', async () => {
    const project = await createProject(world);
    const recipient = await generateKeyPairSigner();
    const pipelines = [burnPipeline(2), airdropPipeline(recipient.address, 3)];
    const { batch, proposalApproveTx } = requireOk(await init(project, pipelines));
    const finalized = await untilProgress(project, batch.id, ({ waitsFor }) => waitsFor === 'wallet');
    assert.deepEqual(statesOf(finalized), ['done', 'done', 'waiting', 'upcoming', 'upcoming', 'upcoming']);
    const expiresAt = Date.parse(finalized.expiresAt ?? '');
    assert.ok(expiresAt > Date.parse(finalized.batch.dateCreated));

    const again = requireOk(await call(project, 'GET', `/${batch.id}/approval`));
    assert.equal(again.proposalApproveTx, proposalApproveTx);
    const signedTx = await signWith(project.wallet, proposalApproveTx);
    const taken = BatchProgress.parse(requireOk(await call(project, 'POST', `/${batch.id}/execute`, { signedTx })));
    assert.equal(taken.timeline[2]?.state, 'done');
    await untilProgress(project, batch.id, ({ waitsFor }) => waitsFor === 'nothing');

    const whole = await detail(project, batch.id);
    assert.deepEqual(statesOf(whole), ['done', 'done', 'done', 'done', 'done', 'done']);
    const [compiled, setUp, wallet, company, executed, rent] = whole.timeline;
    assert.equal(compiled?.note, '2 pipelines, 2 actions');
    assert.equal(compiled?.at, whole.batch.dateCreated);
    assert.equal(executed?.note, '2 of 2 pipelines');
    assert.match(rent?.note ?? '', /^0\.0\d+ SOL$/);
    const times = whole.timeline.map(({ at }) => Date.parse(at ?? ''));
    assert.ok(
      times.every((time) => Number.isFinite(time)),
      JSON.stringify(whole.timeline),
    );
    assert.ok((setUp?.signatures.length ?? 0) > 0);
    assert.equal(wallet?.signatures.length, 1);
    assert.deepEqual(company?.signatures, wallet?.signatures);
    assert.ok(!executed?.signatures.includes(wallet?.signatures[0] ?? ''));
    assert.equal(whole.failure, undefined);
    assert.equal(whole.expiresAt, undefined);
    assert.equal(whole.executedPipelines, 2);
    assert.equal(whole.batch.ledger?.isComplete, true);
    assert.deepEqual(
      whole.bundles.map(({ phase, state }) => `${phase} ${state}`),
      ['setup landed', 'execution landed', 'close landed'],
    );
    for (const [i, pipeline] of whole.pipelines.entries()) {
      assert.equal(pipeline.state, 'executed');
      assert.match(pipeline.memo, new RegExp(`^flywheel:v1:${pipelines[i]?.type}:[0-9a-f]{64}$`));
      assert.ok(executed?.signatures.includes(pipeline.signature ?? ''));
      assert.ok(pipeline.bytes > 0 && pipeline.bytes <= pipeline.maxBytes);
    }

    const { batches } = await list(project);
    assert.equal(batches.length, 1);
    const { dateCreated, dateUpdated, dateEnded, operatorLamports, lockedLamports, ...row } =
      batches[0] ?? assert.fail();
    assert.deepEqual(row, {
      id: batch.id,
      kind: 'pipelines',
      batchIndex: '1',
      status: 'EXECUTED',
      endCause: 'executed',
      waitsFor: 'nothing',
      pipelines: 2,
      types: ['PRODUCT_PURCHASE', 'WATCH_AD'],
      actions: { burn: 1, airdrop: 1, memo: 0 },
      burned: '2',
      airdropped: '3',
      executedPipelines: 2,
    });
    assert.equal(operatorLamports, whole.batch.ledger?.operatorNetLamports);
    const { feeLamports = '', tipLamports = '' } = whole.batch.ledger ?? {};
    assert.equal(BigInt(operatorLamports) - BigInt(lockedLamports), BigInt(feeLamports) + BigInt(tipLamports));
    assert.ok(dateCreated <= (dateEnded ?? '') && dateUpdated >= dateCreated);
    assert.deepEqual(await audited(project), ['batch.initialized', 'batch.executed']);
  });

  it('is initialized once for an idempotency key, which it shares with API clients', async () => {
    const project = await createProject(world);
    const pipelines = [burnPipeline()];
    const key = randomUUID();
    const first = requireOk(await init(project, pipelines, key));
    const second = await init(project, pipelines, key.toUpperCase());
    assert.equal(requireOk(second).batch.id, first.batch.id);
    assert.equal(second.headers.get('idempotency-replayed'), 'true');
    assert.deepEqual(await audited(project), ['batch.initialized']);
    assert.equal(requireOk(await getBatch(world.url, project.apiKey, first.batch.id)).id, first.batch.id);
  });

  it('is rejected with the errors of /v1, and previewed with the project’s scopes', async () => {
    const project = await createProject(world, { scopes: ['burn'] });
    const { address: to } = await generateKeyPairSigner();
    const refused = await init(project, [airdropPipeline(to)]);
    assertError(refused, 403, 'ERR_KEY_SCOPES_UNAUTHORIZED');
    const preview = await call(project, 'POST', '/preview', { pipelines: [burnPipeline()] });
    assert.deepEqual(requireOk(preview).problems, []);
    assertError(await call(project, 'POST', `/${NOT_THERE}/cancel`, {}), 404, 'ERR_BATCH_NOT_FOUND');
  });
});

describe('a batch that is not executed', () => {
  it('shows what is missing and the next step, and can still be approved', async () => {
    const project = await createProject(world, { vaultBaseUnits: 1_000_000n });
    const { batch, proposalApproveTx } = requireOk(await init(project, [burnPipeline(3)]));
    await untilProgress(project, batch.id, ({ waitsFor }) => waitsFor === 'wallet');
    const signedTx = await signWith(project.wallet, proposalApproveTx);
    assertError(await call(project, 'POST', `/${batch.id}/execute`, { signedTx }), 409, 'ERR_VAULT_UNDERFUNDED');
    // The worker reports this if the vault is emptied after the first check.
    const context = { problems: ['The vault holds 1; this batch needs 3: 2 more.'] };
    const issue = JSON.stringify({ code: 'ERR_VAULT_UNDERFUNDED', context });
    await world.db.updateTable('batches').set({ execution_error: issue }).where('id', '=', batch.id).execute();
    const { failure, waitsFor } = await progress(project, batch.id);
    assert.equal(waitsFor, 'wallet');
    assert.deepEqual(failure, {
      message: 'The vault holds 1; this batch needs 3: 2 more.',
      remedy: `Deposit the missing amount into ${project.vaultAddress}, then execute again: the approval stays valid.`,
      code: 'ERR_VAULT_UNDERFUNDED',
      isFinal: false,
    });
    assert.equal((await list(project)).batches[0]?.problem, failure?.message);

    await world.localnet.bank.mintTo(project.mint, address(project.vaultAddress), 2_000_000n);
    requireOk(await call(project, 'POST', `/${batch.id}/execute`, { signedTx }));
    const executed = await untilProgress(project, batch.id, ({ batch }) => batch.status === 'EXECUTED');
    assert.equal(executed.failure, undefined);
  });

  it('has an audit log entry of who cancelled it, and shows the step at which it ended', async () => {
    const project = await createProject(world);
    const { batch } = requireOk(await init(project, [burnPipeline()]));
    await untilProgress(project, batch.id, ({ waitsFor }) => waitsFor === 'wallet');
    const { status } = requireOk(await call(project, 'POST', `/${batch.id}/cancel`, {}));
    assert.equal(status, 'FAILED');
    const ended = await untilProgress(project, batch.id, ({ waitsFor }) => waitsFor === 'nothing');
    assert.deepEqual(statesOf(ended), ['done', 'done', 'failed', 'skipped', 'skipped', 'done']);
    assert.equal(ended.timeline[2]?.note, 'The batch was cancelled.');
    assert.match(ended.failure?.remedy ?? '', /^The pipelines that were not executed will not run\./);
    assert.equal(ended.batch.endCause, 'cancelled');
    assert.equal((await list(project)).batches[0]?.endCause, 'cancelled');
    assert.equal(ended.failure?.code, 'ERR_BATCH_NOT_EXECUTABLE');
    const { pipelines } = await detail(project, batch.id);
    assert.deepEqual(
      pipelines.map(({ state }) => state),
      ['skipped'],
    );
    assert.deepEqual(await audited(project), ['batch.initialized', 'batch.cancelled']);
  });

  it('has one audit log entry of simultaneous cancellations', async () => {
    const project = await createProject(world);
    const { batch } = requireOk(await init(project, [burnPipeline()]));
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => call(project, 'POST', `/${batch.id}/cancel`, {})),
    );
    for (const answer of answers) assert.equal(requireOk(answer).status, 'FAILED');
    assert.deepEqual(await audited(project), ['batch.initialized', 'batch.cancelled']);
    assertError(await call(project, 'GET', `/${batch.id}/approval`), 409, 'ERR_BATCH_NOT_EXECUTABLE');
  });
});

describe('the list of batches', () => {
  it('pages newest first, filtered by status or by who has to act', async () => {
    const project = await createProject(world);
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.unshift(requireOk(await init(project, [burnPipeline()])).batch.id);
    for (const id of ids) await untilProgress(project, id, ({ waitsFor }) => waitsFor === 'wallet');
    requireOk(await call(project, 'POST', `/${ids[1]}/cancel`, {}));
    const idsOf = ({ batches }: BatchPage) => batches.map(({ id }) => id);

    const first = await list(project, '?limit=2');
    const second = await list(project, `?limit=2&cursor=${first.nextCursor}`);
    assert.deepEqual([idsOf(first), idsOf(second)], [ids.slice(0, 2), ids.slice(2)]);
    assert.equal(second.nextCursor, undefined);
    assert.deepEqual(idsOf(await list(project, '?status=FAILED')), [ids[1]]);
    assert.deepEqual(idsOf(await list(project, '?waitsFor=wallet')), [ids[0], ids[2]]);
    assert.deepEqual(idsOf(await list(project, '?waitsFor=wallet&limit=1')), [ids[0]]);
    await world.db
      .updateTable('batches')
      .set({ company_asked_at: new Date() })
      .where('id', '=', ids[2] ?? '')
      .execute();
    assert.deepEqual(idsOf(await list(project, '?waitsFor=company')), [ids[2]]);
    assert.deepEqual(idsOf(await list(project, '?waitsFor=wallet')), [ids[0]]);
    assert.deepEqual((await list(project, '?status=EXECUTED')).batches, []);
    assertError(await call(project, 'GET', '?cursor=nonsense'), 400, 'ERR_INVALID_REQUEST', /query\.cursor/);
  });

  it('finds a batch by its batch index or its id, and only of its own project', async () => {
    const [project, other] = [await createProject(world), await createProject(world)];
    const ids: string[] = [];
    for (const each of [project, project, other]) ids.push(requireOk(await init(each, [burnPipeline()])).batch.id);
    const [id = '', next, theirs] = ids;
    const found = async (query: string) => (await list(project, query)).batches.map((batch) => batch.id);
    assert.deepEqual(await found('?batchIndex=1'), [id]);
    assert.deepEqual(await found('?batchIndex=2'), [next]);
    assert.deepEqual(await found('?batchIndex=3'), []);
    assert.deepEqual(await found(`?batchIndex=${'9'.repeat(18)}`), []);
    assert.deepEqual(await found(`?batchId=${id.toUpperCase()}`), [id]);
    assert.deepEqual(await found(`?batchId=${id}&batchIndex=2`), []);
    assert.deepEqual(await found(`?batchId=${theirs}`), []);
    for (const wrong of ['0', '01', '-1', '1.5', '1e3', '9'.repeat(19), '']) {
      const answer = await call(project, 'GET', `?batchIndex=${wrong}`);
      assertError(answer, 400, 'ERR_INVALID_REQUEST', /query\.batchIndex must be a batch index/);
    }
    assertError(await call(project, 'GET', '?batchId=7'), 400, 'ERR_INVALID_REQUEST', /query\.batchId/);
  });
});

describe('another wallet', () => {
  it('finds nothing of another project, except as an operator of the company', async () => {
    const [project, stranger] = [await createProject(world), await createProject(world)];
    const { batch } = requireOk(await init(project, [burnPipeline()]));
    const forCompany = { projectId: project.projectId, cookie: await signIn(world.url, operator) };
    const crossed = { projectId: project.projectId, cookie: stranger.cookie };
    const through = { projectId: stranger.projectId, cookie: stranger.cookie };
    for (const path of ['', `/${batch.id}`, `/${batch.id}/progress`, `/${batch.id}/approval`]) {
      assertError(await call(crossed, 'GET', path), 404, 'ERR_PROJECT_NOT_FOUND');
      if (path !== '') assertError(await call(through, 'GET', path), 404, 'ERR_BATCH_NOT_FOUND');
      requireOk(await call(forCompany, 'GET', path));
      assert.equal((await call({ ...crossed, cookie: '' }, 'GET', path)).status, 401);
    }
    for (const [path, body] of [
      ['/preview', { pipelines: [burnPipeline()] }],
      [`/${batch.id}/execute`, { signedTx: 'AA==' }],
      [`/${batch.id}/cancel`, {}],
    ] as const) {
      for (const caller of [crossed, forCompany]) {
        assertError(await call(caller, 'POST', path, body), 404, 'ERR_PROJECT_NOT_FOUND');
      }
    }
    for (const caller of [crossed, forCompany]) {
      assertError(await init(caller, [burnPipeline()]), 404, 'ERR_PROJECT_NOT_FOUND');
    }
    assert.deepEqual((await list(through)).batches, []);
  });
});

type Caller = Pick<TestProject, 'projectId' | 'cookie'>;

function call(caller: Caller, method: string, path: string, body?: unknown, headers = {}): Promise<Answer> {
  const { projectId, cookie } = caller;
  return send(world.url, method, `/console/api/projects/${projectId}/batches${path}`, {
    headers: { cookie, ...headers },
    body,
  });
}

function init(caller: Caller, pipelines: readonly unknown[], key: string = randomUUID()): Promise<Answer> {
  return call(caller, 'POST', '', { pipelines }, { 'x-idempotency-key': key });
}

async function list(caller: Caller, query = ''): Promise<BatchPage> {
  return BatchPage.parse(requireOk(await call(caller, 'GET', query)));
}

async function detail(caller: Caller, batchId: string): Promise<BatchDetail> {
  return BatchDetail.parse(requireOk(await call(caller, 'GET', `/${batchId}`)));
}

async function progress(caller: Caller, batchId: string): Promise<BatchProgress> {
  return BatchProgress.parse(requireOk(await call(caller, 'GET', `/${batchId}/progress`)));
}

function untilProgress(caller: Caller, batchId: string, isWanted: (seen: BatchProgress) => boolean) {
  return waitUntil(`batch ${batchId}`, () => progress(caller, batchId), isWanted);
}

function statesOf({ timeline }: BatchProgress): string[] {
  return timeline.map(({ state }) => state);
}

async function audited({ projectId, wallet }: TestProject): Promise<string[]> {
  const entries = await world.db
    .selectFrom('audit_log')
    .select(['action', 'actor'])
    .where('project_id', '=', projectId)
    .orderBy('id')
    .execute();
  assert.ok(entries.every(({ actor }) => actor === wallet.address));
  return entries.map(({ action }) => action).filter((action) => action.startsWith('batch.'));
}
