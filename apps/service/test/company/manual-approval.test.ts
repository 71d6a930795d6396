import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  assertError,
  executeSigned,
  openBatch,
  readBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { land, readBatchOnChain, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, getBatch, init } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { changeTerms } from '@flywheel/testing/decisions';
import { type GatedWorld, holdSigned } from '@flywheel/testing/gate';
import { countOpenJobs, makeDue } from '@flywheel/testing/jobs';
import { createFreezableMint, createSeizableMint, freezeNewAccounts, mintTo, seize } from '@flywheel/testing/mints';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { address } from '@solana/kit';
import { getAdvanceNonceAccountInstruction } from '@solana-program/system';
import { createLog } from '../../src/log.ts';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { type Job, startJobs } from '../../src/store/jobs/jobs.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { approve, askCompany, createManualProject, type Operator, openCompanyWorld, reject } from './operators.ts';

describe('a batch of a project with manual approval', () => {
  let world: GatedWorld;
  let [first, second]: Operator[] = [];
  before(async () => {
    let operators: readonly Operator[];
    ({ world, operators } = await openCompanyWorld());
    [first, second] = operators;
  });
  after(() => world.stop());

  it('is shown with what the issuer has made of the mint', async () => {
    const mint = await createFreezableMint(world);
    const project = await createManualProject(world, { mint: mint.address, vaultBaseUnits: 0n });
    const { id } = await setUpBatch(world, project, [burnPipeline(1)]);
    await freezeNewAccounts(world, mint);
    const { unusual } = requireOk(await askCompany(world, operator(first), 'GET', `batches/${id}/review`));
    const message = 'The mint freezes new token accounts: airdrops to new recipients cannot arrive.';
    assert.deepEqual(unusual.slice(1), [{ kind: 'RISKY_MINT', message }]);
  });

  it('answers execute with 202 at once, sends nothing, and is executed after an operator approves', async () => {
    const project = await createManualProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(2), burnPipeline(3)]);
    const supply = await tokenSupply(world, project.mint);
    assert.ok(!('awaitsCompany' in (await readBatch(world, project, batch.id))));
    await ask(project, batch);
    await ask(project, batch);
    const asked = await world.db
      .selectFrom('batch_events')
      .select('type')
      .where('batch_id', '=', batch.id)
      .where('type', 'in', ['batch.approval_received', 'batch.awaiting_company_approval'])
      .orderBy('type')
      .execute();
    assert.deepEqual(
      asked.map(({ type }) => type),
      ['batch.approval_received', 'batch.awaiting_company_approval'],
    );
    const waiting = await readBatch(world, project, batch.id);
    assert.deepEqual([waiting.status, waiting.awaitsCompany], ['FINALIZED', true]);
    await assertUntouched(project, batch);

    assert.deepEqual(requireOk(await approve(world, operator(first), batch.id)), {
      batchId: batch.id,
      status: 'FINALIZED',
    });
    const executed = await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
    assert.equal(executed.executeResult?.totalSuccessful, 2);
    assert.ok(!('awaitsCompany' in executed));
    assert.equal(await tokenSupply(world, project.mint), supply - 5_000_000n);
    // A repeated decision returns the same answer, also to the other operator, and changes nothing.
    for (const each of [first, second]) {
      assert.equal(requireOk(await approve(world, operator(each), batch.id)).status, 'EXECUTED');
    }
    assertError(await reject(world, operator(second), batch.id, 'Too late.'), 409, 'ERR_BATCH_NOT_WAITING', /approved/);
    assert.deepEqual(await auditOf(batch.id), [['batch.approved', operator(first).address, null]]);
    const rows = await company(batch.id);
    assert.deepEqual([rows.company_operator, rows.company_reason], [operator(first).address, null]);
  });

  it('cannot be approved for the company by the project’s own wallet, even if that wallet is an operator of the company', async () => {
    const project = await createManualProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    await ask(project, batch);
    const own = { wallet: address(operator(first).address) };
    await world.db.updateTable('projects').set(own).where('id', '=', project.projectId).execute();
    assertError(await approve(world, operator(first), batch.id), 403, 'ERR_OWN_BATCH', /Another operator/);
    await assertUntouched(project, batch);
    requireOk(await approve(world, operator(second), batch.id));
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
  });

  it('can be requested and approved before it is set up', WITH_BUNDLES, async () => {
    const project = await createManualProject(world);
    const sending = world.gate.hold('sendBundle');
    const batch = await openBatch(world, project, [burnPipeline()]);
    await ask(project, batch, 'AVAILABLE_TO_QUEUE');
    assert.equal(requireOk(await approve(world, operator(first), batch.id)).status, 'AVAILABLE_TO_QUEUE');
    sending.release();
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
  });

  it('is FAILED with the reason after an operator rejects it: limits and rent return, and nothing is executed', async () => {
    const project = await createManualProject(world, { burnLimit: '5' });
    const batch = await setUpBatch(world, project, [burnPipeline(5)]);
    await ask(project, batch);
    // Most people type it without a full stop; the message ends it as a sentence.
    const reason = 'The order was placed twice';
    const verdict = requireOk(await reject(world, operator(second), batch.id, reason));
    assert.deepEqual(verdict, { batchId: batch.id, status: 'FAILED' });
    assert.deepEqual(requireOk(await reject(world, operator(first), batch.id, 'Another reason.')), verdict);

    const refused = await executeSigned(world, project, batch);
    assertError(
      refused,
      409,
      'ERR_BATCH_NOT_EXECUTABLE',
      /The company rejected the batch: The order was placed twice\./,
    );
    const ended = await readBatch(world, project, batch.id);
    assert.deepEqual(ended.executeResult, {
      total: 1,
      totalSuccessful: 0,
      totalFailed: 1,
      successfulExecutions: [],
      failedTxMsg: `The company rejected the batch: ${reason}.`,
    });
    assertError(
      await approve(world, operator(first), batch.id),
      409,
      'ERR_BATCH_NOT_WAITING',
      /rejected it at .*twice\.$/,
    );
    assert.deepEqual(await auditOf(batch.id), [['batch.rejected', operator(second).address, reason]]);

    requireOk(await init(world.url, project.apiKey, [burnPipeline(5)]));
    const { ledger } = await waitUntil(
      `the closing of ${batch.id}`,
      async () => requireOk(await getBatch(world.url, project.apiKey, batch.id, '?include=ledger')),
      (seen) => seen.ledger.isComplete,
    );
    assert.equal(ledger.rentBackLamports, ledger.rentOutLamports);
    assert.notEqual(ledger.rentOutLamports, '0');
  });

  it('is decided once if several operators decide at the same time', async () => {
    const project = await createManualProject(world);
    for (let i = 0; i < 4; i++) {
      const batch = await setUpBatch(world, project, [burnPipeline()]);
      await ask(project, batch);
      const [one, other] = await Promise.all([
        approve(world, operator(first), batch.id),
        i % 2 === 0
          ? approve(world, operator(second), batch.id)
          : reject(world, operator(second), batch.id, 'Not this one.'),
      ]);
      const isApproved = one.status === 200;
      if (i % 2 === 0) {
        assert.deepEqual([one.status, other.status], [200, 200]);
      } else {
        assertError(isApproved ? other : one, 409, 'ERR_BATCH_NOT_WAITING');
        requireOk(isApproved ? one : other);
      }
      assert.equal((await auditOf(batch.id)).length, 1);
      const wanted = isApproved ? 'EXECUTED' : 'FAILED';
      await waitForBatch(world, project, batch.id, ({ status }) => status === wanted);
    }
  });

  it('is checked again at the approval: 409 if the vault is underfunded, and the batch keeps waiting', async () => {
    const mint = await createSeizableMint(world);
    const project = await createManualProject(world, { mint: mint.address, vaultBaseUnits: 0n });
    const vault = address(project.vaultAddress);
    await mintTo(world, mint, vault, 2_000_000n);
    const batch = await setUpBatch(world, project, [burnPipeline(2)]);
    await ask(project, batch);
    await seize(world, mint, vault, 2_000_000n);
    const refused = await approve(world, operator(first), batch.id);
    assertError(refused, 409, 'ERR_VAULT_UNDERFUNDED', /holds 0 tokens.* 2 more/);
    const stuck = await readBatch(world, project, batch.id);
    assert.deepEqual([stuck.status, stuck.executionError?.code], ['FINALIZED', 'ERR_VAULT_UNDERFUNDED']);
    assert.equal((await company(batch.id)).company_decided_at, null);
    await assertUntouched(project, batch);

    await mintTo(world, mint, vault, 2_000_000n);
    requireOk(await approve(world, operator(first), batch.id));
    const executed = await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
    assert.equal('executionError' in executed, false);
  });

  it('needs a new signature of the wallet after its nonce has advanced, and then waits for the operator again', async () => {
    const project = await createManualProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    await ask(project, batch);
    const { nonce_address: nonceAccount } = await world.db
      .selectFrom('batches')
      .select('nonce_address')
      .where('id', '=', batch.id)
      .executeTakeFirstOrThrow();
    await land(world, world.operator, [
      getAdvanceNonceAccountInstruction({ nonceAccount, nonceAuthority: world.operator }),
    ]);
    assertError(
      await approve(world, operator(first), batch.id),
      400,
      'ERR_SIGNED_TX_INVALID',
      /its nonce has advanced/,
    );
    const given = await readBatch(world, project, batch.id);
    assert.deepEqual([given.status, given.executionError?.code], ['FINALIZED', 'ERR_SIGNED_TX_INVALID']);
    assertError(
      await approve(world, operator(first), batch.id),
      409,
      'ERR_BATCH_NOT_WAITING',
      /has not sent a signed approval/,
    );

    const rebuilt = requireOk(await getBatch(world.url, project.apiKey, batch.id, '?include=approval'));
    const signedTx = await signWith(project.wallet, rebuilt.proposalApproveTx);
    await ask(project, { id: batch.id, signedTx });
    requireOk(await approve(world, operator(first), batch.id));
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
  });

  it('keeps waiting when its project becomes automatic, and later batches do not wait', async () => {
    const project = await createManualProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    await ask(project, batch);
    await setMode(project, 'automatic');
    await ask(project, batch);
    await work(project, batch.id);
    await assertUntouched(project, batch);
    const later = await setUpBatch(world, project, [burnPipeline()]);
    assert.equal(requireOk(await executeSigned(world, project, later)).status, 'EXECUTED');
    requireOk(await approve(world, operator(first), batch.id));
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
  });

  it('does not execute from a signature that was made just before the project became manual', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    const signed = holdSigned(world);
    const answered = executeSigned(world, project, batch, { prefer: 'wait=0' });
    await signed.reached;
    await setMode(project, 'manual');
    signed.release();
    assert.equal((await answered).status, 202);
    await waitUntil(
      `a person being asked about ${batch.id}`,
      () => company(batch.id),
      ({ company_asked_at }) => company_asked_at !== null,
    );
    await waitUntil(
      `the job of ${batch.id}`,
      () => countOpenJobs(world, 'execute', batch.id),
      (count) => count === 0,
    );
    await assertUntouched(project, batch);
    world.gate.clear();
    requireOk(await approve(world, operator(first), batch.id));
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
  });

  it('still waits if the operator, whose fee the check needs, has no SOL: 503', async () => {
    const project = await createManualProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    await ask(project, batch);
    const value = { err: 'AccountNotFound', logs: [], unitsConsumed: 0 };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { context: { slot: 1_000_000_000 }, value } });
    world.gate.intercept('simulateTransaction', async () => ({ status: 200, body }));
    assertError(await approve(world, operator(first), batch.id), 503, 'ERR_OPERATOR_UNFUNDED');
    world.gate.clear();
    await assertUntouched(project, batch);
    requireOk(await approve(world, operator(first), batch.id));
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
  });

  it('is not signed by any worker before an operator decides, whatever record is missing', async () => {
    const project = await createManualProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    await ask(project, batch);
    await work(project, batch.id);
    await assertUntouched(project, batch);
    // A request handler of a release without manual approval would leave this row.
    await world.db.updateTable('batches').set({ company_asked_at: null }).where('id', '=', batch.id).execute();
    await work(project, batch.id);
    await assertUntouched(project, batch);
    assert.notEqual((await company(batch.id)).company_asked_at, null);
    requireOk(await approve(world, operator(first), batch.id));
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
  });

  it('expires or can be cancelled while it waits, and then cannot be approved', async () => {
    const project = await createManualProject(world, { burnLimit: '2' });
    for (const ending of ['expire', 'cancel'] as const) {
      const batch = await setUpBatch(world, project, [burnPipeline(2)]);
      await ask(project, batch);
      if (ending === 'expire') await makeDue(world, 'expire', batch.id);
      else await work(project, batch.id, 'cancel');
      await waitForBatch(world, project, batch.id, ({ status }) => status === 'FAILED');
      assertError(await approve(world, operator(first), batch.id), 409, 'ERR_BATCH_NOT_WAITING', /it is FAILED/);
      assertError(await reject(world, operator(first), batch.id, 'No.'), 409, 'ERR_BATCH_NOT_WAITING', /it is FAILED/);
    }
    requireOk(await init(world.url, project.apiKey, [burnPipeline(2)]));
  });

  it('can be decided only by operators of the company', async () => {
    const project = await createManualProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    await ask(project, batch);
    assertError(await approve(world, project, batch.id), 403, 'ERR_COMPANY_ONLY', new RegExp(project.wallet.address));
    assertError(await reject(world, project, batch.id, 'Mine.'), 403, 'ERR_COMPANY_ONLY');
    const unknown = '6f2e9a54-0c1f-4f6b-9d2c-3a5a0e6c1b7d';
    assertError(await approve(world, operator(first), unknown), 404, 'ERR_BATCH_NOT_FOUND');
    assertError(await reject(world, operator(first), unknown, 'No.'), 404, 'ERR_BATCH_NOT_FOUND');
    assertError(await reject(world, operator(first), batch.id, ''), 400, 'ERR_INVALID_REQUEST', /reason/);
    const automatic = await createProject(world);
    const { id } = await setUpBatch(world, automatic, [burnPipeline()]);
    assertError(
      await approve(world, operator(first), id),
      409,
      'ERR_BATCH_NOT_WAITING',
      /has not sent a signed approval/,
    );
    assert.equal((await company(batch.id)).company_decided_at, null);
  });

  /** Calls execute, which answers at once for a batch that waits for an operator. */
  async function ask(
    project: TestProject,
    batch: { readonly id: string; readonly signedTx: string },
    status = 'FINALIZED',
  ): Promise<void> {
    const asked = await executeSigned(world, project, batch, { prefer: 'wait=60' });
    assert.deepEqual([asked.status, asked.body], [202, { batchId: batch.id, status }]);
  }

  /** Asserts that neither party has voted on chain and that no execution was recorded. */
  async function assertUntouched(project: TestProject, { id, batchIndex }: { id: string; batchIndex: bigint }) {
    assert.deepEqual(await findBundles(world.db, id, 'execution'), []);
    const { proposal } = await readBatchOnChain(world, project, batchIndex);
    assert.deepEqual([proposal.status, proposal.approved], ['Active', []]);
  }

  /** Enqueues a job as a request would; resolves when the job is done. */
  async function work(project: TestProject, batchId: string, type: 'execute' | 'cancel' = 'execute'): Promise<void> {
    const jobs = await startJobs({
      poolConfig: { connectionString: world.databaseUrl },
      log: createLog('error'),
      metrics: createMetrics(),
    });
    const job: Job = { type, batchId, multisig: address(project.multisig) };
    await jobs.enqueue(world.db, job);
    await jobs.stop();
    await waitUntil(
      `job ${type} of ${batchId}`,
      () => countOpenJobs(world, type, batchId),
      (count) => count === 0,
    );
  }

  async function company(batchId: string) {
    return world.db
      .selectFrom('batches')
      .select(['company_asked_at', 'company_decided_at', 'company_operator', 'company_reason'])
      .where('id', '=', batchId)
      .executeTakeFirstOrThrow();
  }

  async function auditOf(batchId: string) {
    const rows = await world.db
      .selectFrom('audit_log')
      .select(['action', 'actor', 'reason'])
      .where('batch_id', '=', batchId)
      .orderBy('id')
      .execute();
    return rows.map(({ action, actor, reason }) => [action, actor, reason]);
  }

  async function setMode(project: TestProject, approvalMode: 'manual' | 'automatic'): Promise<void> {
    requireOk(await changeTerms(world, operator(first), project, { approvalMode }));
  }
});

function operator(each: Operator | undefined): Operator {
  assert.ok(each);
  return each;
}
