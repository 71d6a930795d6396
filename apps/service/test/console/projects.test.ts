import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertError, setUpBatch } from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline } from '@flywheel/testing/client';
import { createProject, requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type ConsoleWorld, openConsoleWorld } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';

let world: World;
let ask: ConsoleWorld['ask'];
let companyCookie: string;
let project: TestProject;
let stranger: TestProject;
before(async () => {
  ({ world, ask, companyCookie } = await openConsoleWorld());
  [project, stranger] = await Promise.all([createProject(world, { decimals: 2 }), createProject(world)]);
});
after(() => world.stop());

const get = (path: string, cookie = project.cookie) => ask('GET', path, cookie);
const put = (path: string, body: unknown, cookie = project.cookie) => ask('PUT', path, cookie, body);
const pathOf = ({ projectId }: TestProject) => `/projects/${projectId}`;
const overviewOf = async (of: TestProject) => requireOk(await get(pathOf(of), of.cookie));
const kindsOf = ({ attention }: { attention: { kind: string }[] }) => attention.map(({ kind }) => kind);

describe('the list of projects', () => {
  it('has the wallet’s own projects, newest first', async () => {
    const { projects } = requireOk(await get('/projects'));
    assert.equal(projects.length, 1);
    assert.deepEqual(projects[0], {
      id: project.projectId,
      wallet: project.wallet.address,
      token: { id: project.tokenId, mint: project.mint, decimals: 2, program: 'spl-token' },
      vaultAddress: project.vaultAddress,
      approvalMode: 'automatic',
      isPaused: false,
      isAdmitted: false,
      openBatches: 0,
      dateCreated: projects[0].dateCreated,
    });
    const newcomer = await signIn(world.url, await generateKeyPairSigner());
    assert.deepEqual(requireOk(await get('/projects', newcomer)), { projects: [] });
  });

  it('does not reveal that other projects exist, and needs a session', async () => {
    const paths = ['', '/usage', '/settings', '/history'];
    for (const path of paths) {
      const theirs = await get(`${pathOf(project)}${path}`, stranger.cookie);
      const missing = randomUUID();
      const none = await get(`/projects/${missing}${path}`, stranger.cookie);
      assertError(theirs, 404, 'ERR_PROJECT_NOT_FOUND');
      const sameWords = theirs.body.message.replace(project.projectId, missing);
      assert.deepEqual({ ...theirs.body, message: sameWords }, none.body);
      assertError(await get(`${pathOf(project)}${path}`, ''), 401, 'ERR_UNAUTHORIZED');
    }
    for (const path of ['/limits', '/proof-types']) {
      const body = path === '/limits' ? { burnLimit: '1', airdropLimit: '1' } : { proofTypes: [] };
      assertError(await put(`${pathOf(project)}${path}`, body, stranger.cookie), 404, 'ERR_PROJECT_NOT_FOUND');
    }
  });

  it('can be read by the company; only its own wallet changes a project', async () => {
    for (const path of ['', '/usage', '/settings', '/history']) {
      requireOk(await get(`${pathOf(project)}${path}`, companyCookie));
    }
    assert.deepEqual(requireOk(await get('/projects', companyCookie)), { projects: [] });
    const limits = await put(`${pathOf(project)}/limits`, { burnLimit: '1', airdropLimit: '1' }, companyCookie);
    assertError(limits, 404, 'ERR_PROJECT_NOT_FOUND');
    const types = await put(`${pathOf(project)}/proof-types`, { proofTypes: [] }, companyCookie);
    assertError(types, 404, 'ERR_PROJECT_NOT_FOUND');
  });

  it('finds a project by its id in any case, and rejects an invalid id', async () => {
    requireOk(await get(`/projects/${project.projectId.toUpperCase()}`));
    assertError(await get('/projects/none'), 400, 'ERR_INVALID_REQUEST', /params\.projectId/);
  });
});

describe('the overview of a project', () => {
  it('shows the vault’s balance, the rest of today’s limits, and that nothing needs attention', async () => {
    const overview = await overviewOf(project);
    assert.deepEqual(overview.funds, {
      tokens: { available: '10000000000000', needed: '0', missing: '0' },
      lamports: { available: '10000000000', needed: '0', missing: '0' },
    });
    assert.deepEqual(overview.batches, { AVAILABLE_TO_QUEUE: 0, FINALIZED: 0, EXECUTED: 0, FAILED: 0 });
    const { burn } = overview.limits;
    assert.deepEqual([burn.cap, burn.used, burn.left], ['1000000', '0', '1000000']);
    assert.match(burn.resetsAt, /T00:00:00\.000Z$/);
    assert.deepEqual(overview.attention, []);
    assert.equal(overview.multisig.address, project.multisig);
    assert.equal(overview.multisig.wallet, project.wallet.address);
    assert.equal(overview.flywheelId, project.flywheelId);
    assert.deepEqual(overview.scopes, ['burn', 'airdrop']);
  });

  it('needs attention while the vault is empty, before any batch needs what it lacks', async () => {
    const empty = await createProject(world, { vaultBaseUnits: 0n, vaultLamports: 0n });
    assert.deepEqual((await overviewOf(empty)).attention, [
      {
        kind: 'UNDERFUNDED',
        message: 'The vault has no SOL and no tokens. Deposit SOL and tokens so that batches can execute.',
      },
    ]);
  });

  it('counts open batches, the amounts that they need and lack, and says who has to act', async () => {
    const poor = await createProject(world, { decimals: 2, vaultBaseUnits: 150n, vaultLamports: 0n });
    const recipient = (await generateKeyPairSigner()).address;
    const oldest = await setUpBatch(world, poor, [burnPipeline(1), airdropPipeline(recipient, 0.5)]);
    await setUpBatch(world, poor, [airdropPipeline(recipient, 0.25)]);
    const overview = await overviewOf(poor);
    assert.equal(overview.openBatches, 2);
    assert.equal(overview.batches.FINALIZED, 2);
    assert.deepEqual(overview.funds, {
      tokens: { available: '1.5', needed: '1.75', missing: '0.25' },
      // The recipient's token account is paid once, and the vault must keep its own rent.
      lamports: { available: '0', needed: '2930160', missing: '2930160' },
    });
    assert.deepEqual(overview.limits.airdrop.used, '0.75');
    assert.deepEqual(kindsOf(overview), ['UNDERFUNDED', 'UNDERFUNDED', 'APPROVE', 'APPROVE']);
    const [tokens, lamports, first] = overview.attention;
    assert.equal(tokens.message, 'The vault holds 1.5 tokens; the open batches need 1.75. Deposit 0.25 more.');
    assert.match(lamports.message, /holds 0 SOL; the open batches need 0\.00293016\./);
    assert.equal(first.batchId, oldest.id);
    assert.match(first.message, /^Batch 1: .* Without it the batch ends at 20\d\d-/);
  });

  it('shows what holds a batch up, a pause, an almost used limit, and a key that expires soon', async () => {
    const stuck = await createProject(world, { burnLimit: '10' });
    const batch = await setUpBatch(world, stuck, [burnPipeline(9)]);
    const { db } = world;
    await db
      .updateTable('batches')
      .set({
        execution_error: JSON.stringify({ code: 'ERR_VAULT_UNDERFUNDED', context: { problems: ['It is empty.'] } }),
      })
      .where('id', '=', batch.id)
      .execute();
    await db
      .updateTable('projects')
      .set({ paused_at: new Date(), pause_reason: 'an audit' })
      .where('id', '=', stuck.projectId)
      .execute();
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const key = requireOk(await ask('POST', `${pathOf(stuck)}/keys`, stuck.cookie, { name: 'ads', expiresAt }));
    const overview = await overviewOf(stuck);
    assert.deepEqual(kindsOf(overview), ['PAUSED', 'TROUBLE', 'LIMIT', 'KEY_EXPIRES']);
    const [paused, issue, limit, expiring] = overview.attention;
    assert.match(paused.message, /an audit/);
    assert.deepEqual([overview.isPaused, overview.pauseReason], [true, 'an audit']);
    assert.match(issue.message, /^Batch 1: .*It is empty\./);
    assert.match(limit.message, /burn limit is nearly used up: 9 of 10 tokens/);
    assert.equal(expiring.keyId, key.keyId);
    assert.match(expiring.message, /ads/);
  });

  it('shows a replaced key that expires soon only while its successor has ended and was not replaced', async () => {
    const project = await createProject(world);
    const keys = `${pathOf(project)}/keys`;
    const post = async (path: string, body: object) =>
      requireOk(await ask('POST', `${keys}${path}`, project.cookie, body));
    const rotate = (keyId: string) => post(`/${keyId}/rotate`, { overlapSeconds: 3_600 });
    const revoke = async (keyId: string) => requireOk(await ask('DELETE', `${keys}/${keyId}`, project.cookie));
    const old = await post('', { name: 'ads' });
    const next = await rotate(old.keyId);
    assert.deepEqual(kindsOf(await overviewOf(project)), []);
    await revoke(next.keyId);
    const [expiring, ...others] = (await overviewOf(project)).attention;
    assert.deepEqual([expiring.kind, expiring.keyId, others], ['KEY_EXPIRES', old.keyId, []]);
    assert.match(expiring.message, /ads stops working at .* replaces it has ended already: create a new one/);

    const { keyId } = await post('', { name: 'shop' });
    const second = await rotate(keyId);
    await rotate(second.keyId);
    await revoke(second.keyId);
    const { attention } = await overviewOf(project);
    assert.deepEqual(attention, [expiring], 'the third works');
  });

  it('counts only the rest of a partly executed batch', async () => {
    const halfway = await createProject(world, { decimals: 0 });
    const batch = await setUpBatch(world, halfway, [burnPipeline(1), burnPipeline(2), burnPipeline(4)]);
    await world.db
      .insertInto('bundles')
      .values({
        batch_id: batch.id,
        phase: 'execution',
        bundle_id: 'f00d',
        transactions: [],
        signatures: ['first', 'second'],
        last_valid_block_height: 1n,
        first_pipeline: 0,
        pipeline_counts: [2, 1],
        is_atomic: false,
        tip_lamports: 0n,
        state: 'failed',
        landed_signatures: ['first'],
        created_at: new Date(),
      })
      .execute();
    assert.equal((await overviewOf(halfway)).funds.tokens.needed, '4');
    await world.db.deleteFrom('bundles').where('bundle_id', '=', 'f00d').execute();
  });

  it('works while the cluster does not answer', async () => {
    const { faults } = world.localnet;
    faults.set({ kind: 'error', method: 'getMultipleAccounts', status: 500 });
    try {
      const overview = await overviewOf(project);
      assert.equal(overview.funds, null);
      assert.deepEqual(kindsOf(overview), ['CLUSTER']);
    } finally {
      faults.clear();
    }
  });
});
