import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { CompanyTerms } from '@flywheel/api';
import { assertError, executeSigned, openBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, init, preview, send } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { ADMISSION_TERMS, changeAdmission, signAdmission } from '@flywheel/testing/decisions';
import { type GatedWorld, holdBundles } from '@flywheel/testing/gate';
import { startTestJobs } from '@flywheel/testing/jobs';
import { quietLog, TEST_ROLES } from '@flywheel/testing/postgres';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { setUpWithdrawal } from '@flywheel/testing/treasury';
import { type Address, address, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';
import { readSignature } from '../../src/batches/decisions.ts';
import { parseTerms } from '../../src/projects/settings.ts';
import { findUnreviewedChanges, insertChange, isAdmitted } from '../../src/store/company/changes.ts';
import { findTerms } from '../../src/store/company/terms.ts';
import { closeDb, openDb } from '../../src/store/db.ts';
import { requireProject } from '../../src/store/projects/projects.ts';
import { takeOnRole } from '../../src/store/roles.ts';
import { askCompany, type Operator, openCompanyWorld } from './operators.ts';

/** Registrations of one wallet that may be pending. */
const MAX_PENDING = 5;

describe('with REGISTRATION=approval, the admission of a project', () => {
  let world: GatedWorld;
  let operator: Operator;
  before(async () => {
    const opened = await openCompanyWorld({ REGISTRATION: 'approval' });
    world = opened.world;
    [operator] = opened.operators;
  });
  after(() => world.stop());

  const isAdmittedNow = ({ multisig }: TestProject) => isAdmitted(world.db, address(multisig));

  it('follows what an operator signed, once, and nothing that somebody else wrote', async () => {
    const [project, other] = await Promise.all([createProject(world), createProject(world)]);
    const stranger = await generateKeyPairSigner();
    const path = `projects/${project.projectId}/admission`;
    const put = (body: unknown) => askCompany(world, operator, 'PUT', path, body);
    const forged = await signAdmission(world, stranger, project, ADMISSION_TERMS);
    assertError(await put(forged), 400, 'ERR_INVALID_REQUEST', /signed bytes/);
    const ofOther = await signAdmission(world, operator.wallet, other, ADMISSION_TERMS);
    assertError(await put(ofOther), 400, 'ERR_INVALID_REQUEST', /signed bytes/);
    const early = await signAdmission(world, operator.wallet, project, null);
    assertError(await put(early), 400, 'ERR_INVALID_REQUEST', /not admitted/);
    assert.equal(await isAdmittedNow(project), false);

    const withheld = await signAdmission(world, operator.wallet, project, ADMISSION_TERMS);
    const used = await signAdmission(world, operator.wallet, project, ADMISSION_TERMS);
    assert.deepEqual(requireOk(await put(used)), { isAdmitted: true });
    assert.deepEqual(await listAdmissions(), { [project.projectId]: true, [other.projectId]: false });
    assertError(
      await changeAdmission(world, operator, project, 'admit'),
      400,
      'ERR_INVALID_REQUEST',
      /admitted already/,
    );
    assert.deepEqual(requireOk(await changeAdmission(world, operator, project, 'withdraw')), { isAdmitted: false });
    assertError(await put(used), 400, 'ERR_INVALID_REQUEST', /used before/);
    assertError(await put(withheld), 400, 'ERR_INVALID_REQUEST', /expires later was applied before/);

    const attempts: Readonly<Record<string, () => Promise<void>>> = {
      'signed by a stranger': () => insert(project, stranger),
      'signed by a stranger in an operator’s name': () =>
        insert(project, stranger, { operator: operator.wallet.address }),
      'signed for another project': () => insert(project, operator.wallet, { signedFor: other }),
      'the end of an admission, signed': () => insert(project, operator.wallet, { signed: null }),
      'signed with lower terms': () =>
        insert(project, operator.wallet, { signed: { ...ADMISSION_TERMS, burnLimit: '1' } }),
      'a nonce that was used': async () => {
        const rename = { nonce: 'another' };
        await world.db.updateTable('company_changes').set(rename).where('nonce', '=', used.nonce).execute();
        await insert(project, operator.wallet, { nonce: used.nonce });
      },
    };
    for (const [attempt, make] of Object.entries(attempts)) {
      await make();
      await review();
      assert.deepEqual([await isAdmittedNow(project), await isAdmittedNow(other)], [false, false], attempt);
    }
  });

  it('is refused unless the wallet in its text is the one that votes on chain, beside the company alone', async () => {
    const project = await createProject(world);
    const { address: reputable } = await generateKeyPairSigner();
    const multisig = address(project.multisig);
    await world.db.updateTable('flywheels').set({ wallet: reputable }).where('multisig', '=', multisig).execute();
    const answer = await changeAdmission(world, operator, project, 'admit');
    assertError(answer, 400, 'ERR_INVALID_REQUEST', new RegExp(`${project.wallet.address} .*vote.*, not ${reputable}`));
    assert.equal(await isAdmittedNow(project), false);
  });

  it('is logged with the operator who signed it, and not given by the project’s own wallet', async () => {
    const project = await createProject(world, { wallet: operator.wallet });
    assertError(await changeAdmission(world, operator, project, 'admit'), 400, 'ERR_INVALID_REQUEST', /approves with/);
    const { body } = await askCompany(world, operator, 'GET', 'audit');
    const entries = body.entries.filter(({ action }: { action: string }) => /admi/.test(action));
    assert.deepEqual(
      entries.map(({ action, actor }: { action: string; actor: string }) => [action, actor]),
      [
        ['project.admission-withdrawn', operator.address],
        ['project.admitted', operator.address],
      ],
    );
  });

  it('is applied a moment later if the node does not show the multisig yet', async () => {
    const project = await createProject(world);
    let unseen = 0;
    world.gate.intercept('getMultipleAccounts', ({ params: [asked] }, pass) => {
      const addresses = asked as readonly string[]; // the method's first parameter
      if (unseen > 0 || !addresses.includes(project.multisig)) return pass();
      unseen += 1;
      const result = { context: { slot: 1 }, value: addresses.map(() => null) };
      return Promise.resolve({ status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result }) });
    });
    requireOk(await changeAdmission(world, operator, project, 'admit'));
    world.gate.clear();
    await waitUntil('the admission', () => isAdmittedNow(project), Boolean);
    assert.equal(unseen, 1);
  });

  it('sets what the company approves by itself to what the operator has signed', async () => {
    const project = await createProject(world);
    const terms = { approvalMode: 'manual', burnLimit: '3', airdropLimit: '0' } as const;
    const body = await signAdmission(world, operator.wallet, project, terms);
    requireOk(await askCompany(world, operator, 'PUT', `projects/${project.projectId}/admission`, body));
    assert.deepEqual(await findTerms(world.db, address(project.multisig), { isKept: false }), {
      approvalMode: 'manual',
      burnBaseUnits: 3_000_000n,
      airdropBaseUnits: 0n,
    });
  });

  it('is needed for init and preview, which answer 403 without it and take nothing', async () => {
    const project = await createProject(world);
    const { apiKey: key, cookie, projectId } = project;
    const pipelines = [burnPipeline()];
    const idempotencyKey = randomUUID();
    const before = await readTaken();
    const ofWallet = (path: string) => {
      const headers = { cookie, 'x-idempotency-key': idempotencyKey };
      return send(world.url, 'POST', `/console/api/projects/${projectId}/batches${path}`, {
        headers,
        body: { pipelines },
      });
    };
    for (const answer of [
      await init(world.url, key, pipelines, idempotencyKey),
      await preview(world.url, key, pipelines),
      await ofWallet(''),
      await ofWallet('/preview'),
      await init(world.url, key, [{ notEven: 'valid' }]),
    ]) {
      assertError(answer, 403, 'ERR_PROJECT_NOT_ADMITTED', new RegExp(project.flywheelId));
    }
    assert.deepEqual(await readTaken(), before);
    requireOk(await changeAdmission(world, operator, project, 'admit'));
    requireOk(await init(world.url, key, pipelines, idempotencyKey));
  });

  it(
    'keeps a batch whose setup has begun when it ends; later batches are not set up, and withdrawals still are',
    WITH_BUNDLES,
    async () => {
      const project = await createProject(world);
      requireOk(await changeAdmission(world, operator, project, 'admit'));
      const sending = holdBundles(world, 'setup');
      const begun = await openBatch(world, project, [burnPipeline()]);
      await sending.reached;
      const next = await openBatch(world, project, [burnPipeline()]);
      requireOk(await changeAdmission(world, operator, project, 'withdraw'));
      sending.release();
      await waitForBatch(world, project, begun.id, ({ status }) => status === 'FINALIZED');
      assert.equal(requireOk(await executeSigned(world, project, begun)).status, 'EXECUTED');
      const { executeResult } = await waitForBatch(world, project, next.id, ({ status }) => status === 'FAILED');
      assert.match(executeResult?.failedTxMsg ?? '', /does not admit this project/);
      const asset = { asset: 'SOL', amount: '0.01', to: project.wallet.address } as const;
      await setUpWithdrawal(world, project, asset);
    },
  );

  it(
    'is needed for the company’s signature, whatever a thief of serve writes about a batch',
    WITH_BUNDLES,
    async () => {
      const project = await createProject(world);
      requireOk(await changeAdmission(world, operator, project, 'admit'));
      const sending = holdBundles(world, 'setup');
      await openBatch(world, project, [burnPipeline()]);
      await sending.reached;
      const [finalized, requested] = [
        await openBatch(world, project, [burnPipeline()]),
        await openBatch(world, project, [burnPipeline()]),
      ];
      requireOk(await changeAdmission(world, operator, project, 'withdraw'));
      const poolConfig = takeOnRole({ connectionString: world.databaseUrl }, TEST_ROLES.DATABASE_SERVE_ROLE);
      const serve = openDb(poolConfig, quietLog);
      const jobs = await startTestJobs({ poolConfig });
      for (const { id, signedTx } of [finalized, requested]) {
        await sql`update batches set signed_tx = ${signedTx}, signed_at = now() where id = ${id}`.execute(serve);
      }
      await sql`update batches set status = 'FINALIZED' where id = ${finalized.id}`.execute(serve);
      // The jobs of setup do not come first.
      const isSetup = sql`data->>'type' = 'setup' and data->>'batchId' in (${finalized.id}, ${requested.id})`;
      await sql`update jobs.job set start_after = now() + interval '1 day' where ${isSetup}`.execute(serve);
      for (const { id: batchId } of [finalized, requested]) {
        await jobs.enqueue(serve, { type: 'execute', batchId, multisig: address(project.multisig) });
      }
      await jobs.stop();
      await closeDb(serve);
      sending.release();
      for (const { id } of [finalized, requested]) {
        const { status, executeResult } = await waitForBatch(world, project, id, ({ status }) =>
          /EXEC|FAIL/.test(status),
        );
        assert.equal(status, 'FAILED', JSON.stringify(executeResult));
        assert.match(executeResult?.failedTxMsg ?? '', /does not admit this project/);
      }
      const isCompanys = sql`select from bundles where phase = 'execution' and batch_id in (${finalized.id}, ${requested.id})`;
      assert.deepEqual((await isCompanys.execute(world.db)).rows, []);
    },
  );

  it('bounds how many registrations of a wallet are pending, and frees their places', async () => {
    const wallet = await generateKeyPairSigner();
    const project = await createProject(world, { wallet });
    const { cookie, mint } = project;
    const body = { mint, burnLimit: '1', airdropLimit: '1', scopes: ['burn'] };
    const prepare = () => send(world.url, 'POST', '/console/api/registrations', { headers: { cookie }, body });
    const answers = await Promise.all(Array.from({ length: MAX_PENDING + 3 }, prepare));
    assert.equal(answers.filter(({ status }) => status === 200).length, MAX_PENDING - 1);
    assertError(
      await prepare(),
      429,
      'ERR_TOO_MANY_REGISTRATIONS',
      /^5 registrations of this wallet .* maximum is 5\./,
    );
    requireOk(await changeAdmission(world, operator, project, 'admit'));
    requireOk(await prepare());
    assert.equal((await prepare()).status, 429);
    // What was not paid can no longer be.
    await sql`update registrations set created_at = created_at - interval '121 s'`.execute(world.db);
    requireOk(await prepare());
  });

  it('is still needed with REGISTRATION=closed, and nothing is registered', async () => {
    const [admitted, pending] = [await createProject(world), await createProject(world)];
    requireOk(await changeAdmission(world, operator, admitted, 'admit'));
    await world.restart({ REGISTRATION: 'closed' });
    const { registration } = requireOk(await send(world.url, 'GET', '/console/api/environment'));
    assert.equal(registration, 'closed');
    const body = { mint: admitted.mint, burnLimit: '1', airdropLimit: '1', scopes: ['burn'] };
    const headers = { cookie: admitted.cookie };
    const refused = await send(world.url, 'POST', '/console/api/registrations', { headers, body });
    assertError(refused, 403, 'ERR_REGISTRATION_CLOSED', /has paid nothing/);
    requireOk(await init(world.url, admitted.apiKey, [burnPipeline()]));
    assertError(await init(world.url, pending.apiKey, [burnPipeline()]), 403, 'ERR_PROJECT_NOT_ADMITTED');
  });

  /** Counts all that init takes. */
  async function readTaken(): Promise<unknown> {
    const { rows } = await sql`
      select (select count(*) from batches) as batches, (select count(*) from daily_amounts) as limits,
        (select sum(last_batch_index) from flywheels) as indices,
        (select count(*) from nonces where batch_id is not null) as nonces,
        (select count(*) from jobs.job where data->>'batchId' is not null) as jobs
    `.execute(world.db);
    return rows;
  }

  async function listAdmissions(): Promise<unknown> {
    const { projects } = requireOk(await askCompany(world, operator, 'GET', 'projects'));
    return Object.fromEntries(
      projects.map(({ id, isAdmitted: state }: { id: string; isAdmitted: boolean }) => [id, state]),
    );
  }

  /** What a thief of the database writes in place of what was signed. */
  interface Forgery {
    readonly operator?: Address;
    readonly signedFor?: TestProject;
    readonly signed?: CompanyTerms | null;
    readonly nonce?: string;
  }

  /** Writes an admission as a thief of the database would. */
  async function insert(
    project: TestProject,
    wallet: KeyPairSigner,
    { operator: claimed = wallet.address, signedFor = project, signed = ADMISSION_TERMS, nonce }: Forgery = {},
  ): Promise<void> {
    const changes = nonce === undefined ? {} : { nonce };
    const signature = readSignature(await signAdmission(world, wallet, signedFor, signed, changes));
    const { token } = await requireProject(world.db, project.projectId);
    const terms = parseTerms('terms', ADMISSION_TERMS, token);
    const change = { type: 'admission', projectId: project.projectId, terms } as const;
    assert.notEqual(await insertChange(world.db, { ...signature, operator: claimed, change }, new Date()), null);
  }

  /** Has a worker review the changes; resolves when none is left. */
  async function review(): Promise<void> {
    const jobs = await startTestJobs({ poolConfig: { connectionString: world.databaseUrl } });
    await jobs.enqueue(world.db, { type: 'review-changes' });
    await jobs.stop();
    await waitUntil(
      'the review',
      () => findUnreviewedChanges(world.db),
      ({ length }) => length === 0,
    );
  }
});
