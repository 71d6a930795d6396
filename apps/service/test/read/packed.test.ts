import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pipeline } from '@flywheel/api';
import {
  executeSigned,
  type OpenBatch,
  openBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline, heavyBurnPipeline, send } from '@flywheel/testing/client';
import { ENGINES, type GatedWorld, holdSends } from '@flywheel/testing/gate';
import { countOpenJobs, makeDue } from '@flywheel/testing/jobs';
import { createOwnMint, freeze, mintTo } from '@flywheel/testing/mints';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { approve, setUpWithdrawal, waitForWithdrawal } from '@flywheel/testing/treasury';
import { address, generateKeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';
import { approve as approveForCompany, type Operator, openCompanyWorld } from '../company/operators.ts';

/** More pipelines than one bundle holds, and the position of the one whose recipient's account is frozen meanwhile. */
const [PIPELINES, FAILING] = [20, 18];
const [ENGINE] = ENGINES;

interface Sent extends OpenBatch {
  readonly pipelines: readonly Pipeline[];
}

describe('a batch that a worker has packed', ENGINE.options, () => {
  let world: GatedWorld;
  let operator: Operator;
  let project: TestProject;
  const batches: { executed?: Sent; failed?: Sent; cancelled?: Sent; withdrawal?: { readonly id: string } } = {};
  before(async () => {
    const opened = await openCompanyWorld(ENGINE.environment);
    ({ world } = opened);
    [operator] = opened.operators;
    const mint = await createOwnMint(world, false);
    project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
    await mintTo(world, mint, address(project.vaultAddress), 10n ** 12n);
    batches.executed = await runExecuted();
    batches.failed = await runFailed(mint);
    batches.cancelled = await runCancelled();
    batches.withdrawal = { id: await runWithdrawal() };
    await waitUntil('what is left of the executed ones', countUnclosed, (count) => count === 0);
    // A second look at a setup records what it has cost.
    for (const { id } of Object.values(batches)) await lookAgain(id);
  });
  after(() => world.stop());

  it('answers every request with the same bytes as before', async () => {
    await sql`
      update batches set end_finalized_at = end_finalized_at - interval '100 days', ended_at = ended_at - interval '100 days'
    `.execute(world.db);
    const before = await readAll();
    const company = { COMPANY_OPERATORS: operator.address, ...ENGINE.environment };
    await world.restart({ ...world.gate.environment, ...company, ARCHIVE_AFTER_DAYS: '90' });
    await waitUntil(
      'the job that packs',
      () => world.db.selectFrom('batch_archives').select('batch_id').execute(),
      (archives) => archives.length === Object.keys(batches).length,
    );
    const left = await sql`
      select from pipelines where num_nulls(payload, actions, instructions, vault_message) < 4
      union all select from bundles where transactions is not null
    `.execute(world.db);
    assert.deepEqual(left.rows, []);
    const packed = await readAll();
    assert.deepEqual(Object.keys(packed), Object.keys(before));
    for (const [request, text] of Object.entries(packed)) assert.equal(text, before[request], request);
  });

  it('is proven by its payload and by its transaction, from the database and the chain', async () => {
    const { id, pipelines } = batches.executed ?? assert.fail();
    const { type, payload } = pipelines[0] ?? assert.fail();
    const byPayload = requireOk(await prove({ type, payload }));
    assert.equal(byPayload.verdict, 'proven');
    const [{ signature, batchId }] = byPayload.pipelines;
    assert.equal(batchId, id);
    assert.equal(requireOk(await prove({ signature })).verdict, 'proven');
  });

  it('lets another batch of its project be executed', async () => {
    const next = await setUpBatch(world, project, [burnPipeline()]);
    assert.equal(requireOk(await executeSigned(world, project, next, { prefer: 'wait=60' })).status, 'EXECUTED');
  });

  async function lookAgain(batchId: string): Promise<void> {
    await waitUntil(
      'the second look',
      async () => {
        await makeDue(world, 'setup', batchId);
        return countOpenJobs(world, 'setup', batchId);
      },
      (count) => count === 0,
    );
  }

  async function runExecuted(): Promise<Sent> {
    const recipient = (await generateKeyPairSigner()).address;
    const items = Array.from({ length: 40 }, (_, i) => ({
      sku: `SKU-${i}`,
      text: 'é🎉 "quoted" \\ \u2028',
      price: i / 3,
    }));
    const pipelines: Pipeline[] = [
      { type: 'ORDER', payload: JSON.stringify({ items }), actions: [{ action: 'MEMO', message: 'one "memo" \\ 🎉' }] },
      { ...burnPipeline(2), payload: '{"a" :  1e2,\n"b":2}' },
      airdropPipeline(recipient, 0.000001),
      airdropPipeline(recipient, 3),
    ];
    const batch = await setUpBatch(world, project, pipelines);
    const answer = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    assert.equal(answer.status, 'EXECUTED');
    return { ...batch, pipelines };
  }

  async function runFailed(mint: Awaited<ReturnType<typeof createOwnMint>>): Promise<Sent> {
    const recipient = (await generateKeyPairSigner()).address;
    const tokenAccount = await mintTo(world, mint, recipient, 1n);
    const pipelines = Array.from({ length: PIPELINES }, (_, i) =>
      i === FAILING ? airdropPipeline(recipient) : heavyBurnPipeline(),
    );
    const batch = await setUpBatch(world, project, pipelines);
    const hold = holdSends(world, ENGINE, project, batch.batchIndex);
    const answer = executeSigned(world, project, batch, { prefer: 'wait=60' });
    await hold.reached;
    await freeze(world, mint, tokenAccount);
    hold.release();
    assert.equal(requireOk(await answer).result.totalSuccessful, FAILING);
    return { ...batch, pipelines };
  }

  async function runCancelled(): Promise<Sent> {
    const pipelines = Array.from({ length: 1_000 }, (_, i) => burnPipeline(1 + (i % 7)));
    const batch = await openBatch(world, project, pipelines);
    const options = { key: project.apiKey, body: {}, headers: { prefer: 'wait=60' } };
    requireOk(await send(world.url, 'POST', `/v1/flywheel/batch/${batch.id}/cancel`, options));
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'FAILED');
    return { ...batch, pipelines };
  }

  async function runWithdrawal(): Promise<string> {
    const to = (await generateKeyPairSigner()).address;
    const batchId = await setUpWithdrawal(world, project, { asset: 'SOL', to, amount: '1.5' });
    requireOk(await approve(world, project, batchId));
    requireOk(await approveForCompany(world, operator, batchId));
    await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'EXECUTED');
    return batchId;
  }

  async function countUnclosed(): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from batches where status = 'EXECUTED' and closed_at is null
    `.execute(world.db);
    return rows[0]?.count ?? assert.fail();
  }

  function prove(body: object) {
    return send(world.url, 'POST', '/console/api/proof', { body });
  }

  /** Bytes of the answers to all requests that read batches, by request. */
  async function readAll(): Promise<Record<string, string>> {
    const key = { 'x-service-api-key': project.apiKey };
    const [owner, company] = [{ cookie: project.cookie }, { cookie: operator.cookie }];
    const own = `/console/api/projects/${project.projectId}`;
    const answers: Record<string, string> = {};
    const read = async (path: string, headers: Readonly<Record<string, string>>, body?: object) => {
      const answer = await fetch(new URL(path, world.url), {
        headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { method: 'POST', body: JSON.stringify(body) }),
      });
      assert.ok(answer.status < 500, `${path} answers ${answer.status}`);
      // A trial says when its 30 days began.
      const text = (await answer.text()).replace(/"since":"[^"]+"/, '');
      answers[`${path} ${JSON.stringify(body ?? null).slice(0, 200)}`] = `${answer.status} ${text}`;
    };
    for (const query of ['', '?status=FAILED', '?status=EXECUTED']) await read(`/v1/flywheel/batches${query}`, key);
    await read('/v1/flywheel/batch/current', key);
    for (const path of ['', '/batches', '/batches?status=FAILED', '/rotations', '/history', '/usage', '/policy']) {
      await read(`${own}${path}`, owner);
    }
    await read('/console/api/company/audit', company);
    const policy = { personPerBatch: '5', capPerRecipient: '2' };
    await read(`/console/api/company/projects/${project.projectId}/policy/try`, company, { policy });
    for (const { id } of Object.values(batches)) {
      for (const query of ['', '?include=pipelines']) await read(`/v1/flywheel/batch/${id}${query}`, key);
      await read(`/console/api/company/batches/${id}/review`, company);
      for (const path of ['', '/progress', '/approval']) await read(`${own}/batches/${id}${path}`, owner);
    }
    for (const { idempotencyKey, pipelines } of [batches.executed, batches.failed, batches.cancelled].flatMap(
      (each) => each ?? [],
    )) {
      const headers = { ...key, 'x-idempotency-key': idempotencyKey };
      await read('/v1/flywheel/batch/init', headers, { pipelines });
      await read('/v1/flywheel/batch/init', headers, { pipelines: pipelines.slice(1) });
      const { type, payload } = pipelines.at(-1) ?? assert.fail();
      await read('/console/api/proof', {}, { type, payload });
    }
    await read(`/v1/flywheel/batch/${batches.executed?.id}/events`, key);
    return answers;
  }
});
