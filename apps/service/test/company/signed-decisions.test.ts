import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { memoMessageBytes } from '@flywheel/protocol';
import { assertError, executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { decide, signDecision } from '@flywheel/testing/decisions';
import { countOpenJobs, startTestJobs } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { approve as approveByWallet, setUpWithdrawal } from '@flywheel/testing/treasury';
import type { World } from '@flywheel/testing/world';
import {
  address,
  generateKeyPairSigner,
  getOffchainMessageEncoder,
  type KeyPairSigner,
  type ReadonlyUint8Array,
  signBytes,
} from '@solana/kit';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { approve, countRefusals, createManualProject, type Operator, openCompanyWorld, reject } from './operators.ts';

const HOUR_MS = 3_600_000;

describe('the company’s signature', () => {
  let world: World;
  let operator: Operator;
  let other: Operator;
  before(async () => {
    const opened = await openCompanyWorld({ METRICS_PORT: '0' });
    world = opened.world;
    [operator, other] = opened.operators;
  });
  after(() => world.stop());

  it('is not given for a decision whose row nobody signed, and the batch waits again', async () => {
    const { project, batchId } = await makeWithdrawal();
    const forged = { company_decided_at: new Date(), company_operator: address(operator.address) };
    const began = { ...forged, execution_began_at: new Date() };
    const signed = await signDecision(world, operator.wallet, batchId);
    const stranger = await generateKeyPairSigner();
    const strangers = await signDecision(world, stranger, batchId);
    const inAnHour = new Date(Date.now() + HOUR_MS);
    const attempts: Readonly<Record<string, () => Promise<unknown>>> = {
      'decided without a signature': () => change(batchId, forged),
      'begun without a signature': () => change(batchId, began),
      'signed by a stranger': () => insert(batchId, { ...strangers, operator: stranger.address }),
      'signed by a stranger in an operator’s name': () => insert(batchId, { ...strangers, operator: operator.address }),
      expired: async () => {
        const expiresAt = new Date(Date.now() - 1_000);
        return insert(batchId, { ...(await signDecision(world, operator.wallet, batchId, { expiresAt })) });
      },
      'of another multisig': async () =>
        insert(batchId, await signDecision(world, operator.wallet, batchId, { multisig: stranger.address })),
      'of another cluster': async () =>
        insert(batchId, await signDecision(world, operator.wallet, batchId, { genesisHash: stranger.address })),
      'of another batch': async () =>
        insert(batchId, await signDecision(world, operator.wallet, batchId, { batchIndex: 2n })),
      'a rejection that is stored as an approval': async () =>
        insert(batchId, await signDecision(world, operator.wallet, batchId, { reason: 'No.' })),
      'with another expiry than the signed one': () =>
        insert(batchId, { ...signed, expiresAt: inAnHour.toISOString() }),
    };
    for (const [attempt, make] of Object.entries(attempts)) {
      const counted = await countRefusals(world, 'undecided');
      await make();
      await change(batchId, forged);
      await work(project, batchId);
      // An operator's approval may expire before it is used.
      assert.equal((await countRefusals(world, 'undecided')) > counted, attempt !== 'expired', attempt);
      await world.db.deleteFrom('company_decisions').where('batch_id', '=', batchId).execute();
      assert.deepEqual(await findBundles(world.db, batchId, 'execution'), [], attempt);
      assert.equal((await readRow(batchId)).company_decided_at, null, attempt);
    }
    await change(batchId, { execution_began_at: null });
    requireOk(await approve(world, operator, batchId));
    await waitUntil(
      'the execution',
      () => readRow(batchId),
      ({ status }) => status === 'EXECUTED',
    );
  });

  it('is not given for a decision of the wallet that approves for the project, although it is an operator’s', async () => {
    const project = await createManualProject(world, { wallet: other.wallet });
    const { id, signedTx } = await setUpBatch(world, project, [burnPipeline()]);
    assert.equal((await executeSigned(world, project, { id, signedTx })).status, 202);
    await insert(id, { ...(await signDecision(world, other.wallet, id)), operator: other.address });
    await change(id, { company_decided_at: new Date(), company_operator: address(other.address) });
    await work(project, id);
    assert.deepEqual(await findBundles(world.db, id, 'execution'), []);
    assert.equal((await readRow(id)).company_decided_at, null);
  });

  it('is not given for a withdrawal that is stored as pipelines, nor for a message that its request does not compile to', async () => {
    const disguised = await makeWithdrawal();
    await change(disguised.batchId, { kind: 'pipelines', company_asked_at: null });
    await workToEnd(disguised, /is stored as pipelines and is withdrawal.* Send it as a new batch/);
    const { project, batchId } = await makeWithdrawal();
    const forged = { company_decided_at: new Date(), company_operator: address(operator.address) };
    await change(batchId, { company_asked_at: new Date() });
    const actions = [{ action: 'WITHDRAW', asset: 'SOL', toAddress: operator.address, amount: '0.5' }];
    const signed = await signDecision(world, operator.wallet, batchId);
    await setActions(batchId, actions);
    const answer = await decide(world, operator, `${batchId}/approve`, signed);
    assertError(answer, 409, 'ERR_BATCH_WOULD_FAIL', /actions compile to/);
    await change(batchId, forged);
    await workToEnd({ project, batchId }, /its message is not what its actions compile to.* Send it as a new batch/);
    assert.ok((await countRefusals(world, 'uncompiled')) >= 2);
  });

  it('is never given for a batch that an operator has rejected, even if it reads open and is approved later', async () => {
    const project = await createProject(world);
    const open = async () => {
      const batch = await setUpBatch(world, project, [burnPipeline()]);
      await change(batch.id, { signed_tx: batch.signedTx, signed_at: new Date() });
      return { project, batchId: batch.id, batchIndex: batch.batchIndex };
    };
    const [signed, recorded, requested] = [await open(), await open(), await open()];
    const reason = 'Not this one.';
    const expiresAt = new Date(Date.now() - 1_000);
    await insert(signed.batchId, {
      ...(await signDecision(world, operator.wallet, signed.batchId, { reason, expiresAt })),
      reason,
    });
    await insert(signed.batchId, await signDecision(world, operator.wallet, signed.batchId));
    const multisig = address(project.multisig);
    await world.db
      .insertInto('company_rejections')
      .values({ multisig, batch_index: recorded.batchIndex, reason })
      .execute();
    await insert(recorded.batchId, await signDecision(world, operator.wallet, recorded.batchId));
    for (const rejected of [signed, recorded])
      await workToEnd(rejected, /The company rejected the batch: Not this one\./);
    await change(requested.batchId, { company_asked_at: new Date() });
    requireOk(await reject(world, operator, requested.batchId, reason));
    const rejections = () =>
      world.db.selectFrom('company_rejections').select('batch_index').where('multisig', '=', multisig).execute();
    await waitUntil('a record of each rejection', rejections, ({ length }) => length === 3);
  });

  it('is given for a batch whose rejection no operator has signed, and none is recorded', async () => {
    const project = await createProject(world);
    const { id, signedTx } = await setUpBatch(world, project, [burnPipeline()]);
    const stranger = await generateKeyPairSigner();
    const reason = 'Not this one.';
    const sign = (wallet: KeyPairSigner, changes: object) => signDecision(world, wallet, id, changes);
    const forged: Parameters<typeof insert>[1][] = [
      { ...(await sign(stranger, { reason })), operator: stranger.address },
      // In an operator's name.
      await sign(stranger, { reason }),
      // By an operator, about something else.
      await sign(operator.wallet, { reason: 'Another one.' }),
      await sign(operator.wallet, { reason, batchIndex: 2n }),
      await sign(operator.wallet, {}),
    ];
    for (const rejection of forged) await insert(id, { ...rejection, reason });
    assert.equal(requireOk(await executeSigned(world, project, { id, signedTx })).status, 'EXECUTED');
    const multisig = address(project.multisig);
    const recorded = world.db.selectFrom('company_rejections').select('reason').where('multisig', '=', multisig);
    assert.deepEqual(await recorded.execute(), []);
  });

  it('is given for a decision that is signed as a memo transaction or an off-chain message, and each is used once', async () => {
    const project = await createManualProject(world);
    const [first, second] = [
      await setUpBatch(world, project, [burnPipeline()]),
      await setUpBatch(world, project, [burnPipeline()]),
    ];
    for (const batch of [first, second]) assert.equal((await executeSigned(world, project, batch)).status, 202);
    const path = (batchId: string) => `${batchId}/approve`;
    const nonce = '0'.repeat(32);
    const body = await signDecision(world, operator.wallet, first.id, { nonce });
    assertError(await decide(world, operator, path(second.id), body), 400, 'ERR_INVALID_REQUEST', /body\.signature/);
    const expired = await signDecision(world, operator.wallet, first.id, { expiresAt: new Date(Date.now() - 1) });
    assertError(await decide(world, operator, path(first.id), expired), 400, 'ERR_INVALID_REQUEST', /expired/);
    const distant = await signDecision(world, operator.wallet, first.id, {
      expiresAt: new Date(Date.now() + 31 * 24 * HOUR_MS),
    });
    assertError(await decide(world, operator, path(first.id), distant), 400, 'ERR_INVALID_REQUEST', /at most 30 days/);
    const wrapped = await signAs(body, (content) => {
      const requiredSignatories = [{ address: operator.wallet.address }];
      return getOffchainMessageEncoder().encode({ version: 1, content, requiredSignatories });
    });
    requireOk(await decide(world, operator, path(first.id), wrapped));
    const again = await signDecision(world, operator.wallet, second.id, { nonce });
    assertError(await decide(world, operator, path(second.id), again), 400, 'ERR_INVALID_REQUEST', /used before/);
    const unused = await signDecision(world, operator.wallet, second.id);
    const memo = await signAs(unused, (text) => memoMessageBytes(text, operator.wallet.address));
    requireOk(await decide(world, operator, path(second.id), memo));
    for (const { id } of [first, second]) {
      await waitForBatch(world, project, id, ({ status }) => status === 'EXECUTED');
    }
  });

  /** Signs the text of a decision in another form. */
  async function signAs(
    decision: Awaited<ReturnType<typeof signDecision>>,
    encode: (text: string) => ReadonlyUint8Array,
  ): Promise<typeof decision> {
    const signedMessage = encode(Buffer.from(decision.signedMessage, 'base64').toString());
    const signature = await signBytes(operator.wallet.keyPair.privateKey, signedMessage);
    return {
      ...decision,
      signedMessage: Buffer.from(signedMessage).toString('base64'),
      signature: Buffer.from(signature).toString('base64'),
    };
  }

  async function makeWithdrawal(): Promise<{ readonly project: TestProject; readonly batchId: string }> {
    const project = await createProject(world);
    const { address: to } = await generateKeyPairSigner();
    const batchId = await setUpWithdrawal(world, project, { asset: 'SOL', to, amount: '1' });
    requireOk(await approveByWallet(world, project, batchId));
    return { project, batchId };
  }

  /** Writes as a thief of the database would. */
  async function change(batchId: string, row: object): Promise<void> {
    await world.db.updateTable('batches').set(row).where('id', '=', batchId).execute();
  }

  async function setActions(batchId: string, actions: unknown): Promise<void> {
    await world.db
      .updateTable('pipelines')
      .set({ actions: JSON.stringify(actions) })
      .where('batch_id', '=', batchId)
      .execute();
  }

  async function insert(
    batchId: string,
    signed: Awaited<ReturnType<typeof signDecision>> & { readonly operator?: string; readonly reason?: string },
  ): Promise<void> {
    await world.db
      .insertInto('company_decisions')
      .values({
        batch_id: batchId,
        decision: signed.reason === undefined ? 'approve' : 'reject',
        reason: signed.reason ?? null,
        operator: address(signed.operator ?? operator.address),
        nonce: signed.nonce,
        expires_at: new Date(signed.expiresAt),
        signed_message: Buffer.from(signed.signedMessage, 'base64'),
        signature: Buffer.from(signed.signature, 'base64'),
        decided_at: new Date(),
      })
      .onConflict((conflict) =>
        conflict.column('nonce').doUpdateSet({ operator: address(signed.operator ?? operator.address) }),
      )
      .execute();
  }

  function readRow(batchId: string) {
    return world.db
      .selectFrom('batches')
      .select(['status', 'company_decided_at', 'execute_result'])
      .where('id', '=', batchId)
      .executeTakeFirstOrThrow();
  }

  /** Enqueues the execution as a request would; resolves when the job is done. */
  async function work(project: TestProject, batchId: string): Promise<void> {
    await enqueue(project, batchId);
    await waitUntil(
      `the execution of ${batchId}`,
      () => countOpenJobs(world, 'execute', batchId),
      (open) => open === 0,
    );
  }

  /** Enqueues the execution, waits for an attempt that fails with this error, and removes the job. */
  async function workToEnd(
    { project, batchId }: Awaited<ReturnType<typeof makeWithdrawal>>,
    reason: RegExp,
  ): Promise<void> {
    await work(project, batchId);
    const { status, execute_result } = await readRow(batchId);
    assert.equal(status, 'FAILED');
    assert.match(execute_result?.failedTxMsg ?? '', reason);
    assert.deepEqual(await findBundles(world.db, batchId, 'execution'), []);
  }

  async function enqueue(project: TestProject, batchId: string): Promise<void> {
    const jobs = await startTestJobs({ poolConfig: { connectionString: world.databaseUrl } });
    await jobs.enqueue(world.db, { type: 'execute', batchId, multisig: address(project.multisig) });
    await jobs.stop();
  }
});
