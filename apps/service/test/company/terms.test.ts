import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { CompanyTerms } from '@flywheel/api';
import {
  assertError,
  executeSigned,
  type OpenBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { burnPipeline } from '@flywheel/testing/client';
import { changeTerms, setPolicy, signResumption, signTerms } from '@flywheel/testing/decisions';
import { countOpenJobs, makeDue, startTestJobs } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type Address, address, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';
import { readSignature } from '../../src/batches/decisions.ts';
import { utcDay } from '../../src/model/clock.ts';
import { parseTerms } from '../../src/projects/settings.ts';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { findUnreviewedChanges, insertChange } from '../../src/store/company/changes.ts';
import { approve, askCompany, createManualProject, type Operator, openCompanyWorld, setPause } from './operators.ts';

const LIMITS = { burnLimit: '10', airdropLimit: '10' };
const AUTOMATIC = { approvalMode: 'automatic', ...LIMITS } as const;
const RAISED = { ...AUTOMATIC, burnLimit: '1000' } as const;
const DAY_MS = 86_400_000;

/** Values of a row that differ from what was signed. */
interface Claims {
  readonly operator?: Address;
  readonly burnBaseUnits?: bigint;
  readonly nonce?: string;
}

describe('the company’s signature without a person', () => {
  let world: World;
  let operator: Operator;
  before(async () => {
    const opened = await openCompanyWorld();
    world = opened.world;
    [operator] = opened.operators;
  });
  after(() => world.stop());

  it('is not given for rows in which somebody raised a limit or emptied what the day has used', async () => {
    const project = await createProject(world, LIMITS);
    await executeAlone(project, 8);
    await change(project, { burn_limit: 1_000_000_000n });
    await world.db
      .updateTable('daily_amounts')
      .set({ burned: 0n })
      .where('project_id', '=', project.projectId)
      .execute();
    const above = await setUpBatch(world, project, [burnPipeline(3)]);
    await assertWaits(project, above);
    // Rows that say that nobody was asked, or that somebody has decided, change nothing.
    const rows = {
      company_asked_at: null,
      company_decided_at: new Date(),
      company_operator: address(operator.address),
    };
    await world.db.updateTable('batches').set(rows).where('id', '=', above.id).execute();
    await work(project, above);
    assert.deepEqual(await findBundles(world.db, above.id, 'execution'), []);
    await executeAlone(project, 2);
    requireOk(await approve(world, operator, above.id));
    await waitForBatch(world, project, above.id, ({ status }) => status === 'EXECUTED');
    // What a person has approved counts too.
    await assertWaits(project, await setUpBatch(world, project, [burnPipeline(1)]));
  });

  it('is not given for a row in which a manual project became automatic', async () => {
    const project = await createManualProject(world, LIMITS);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    await change(project, { approval_mode: 'automatic' });
    await assertWaits(project, batch);
  });

  it('is not given for a row in which a pause has ended', async () => {
    for (const table of ['projects', 'company'] as const) {
      const project = await createProject(world, LIMITS);
      const batch = await setUpBatch(world, project, [burnPipeline()]);
      const paused = table === 'projects' ? project : 'all';
      await setPause(world, operator, paused, true);
      await waitUntil(
        'the record of the pause',
        () => world.db.selectFrom('company_pauses').selectAll().execute(),
        ({ length }) => length === 1,
      );
      await world.db.updateTable(table).set({ paused_at: null }).execute();
      assert.equal((await executeSigned(world, project, batch, { prefer: 'wait=0' })).status, 202);
      await untilDone(batch);
      assert.deepEqual(await findBundles(world.db, batch.id, 'execution'), [], table);
      // An operator who sees the difference pauses and resumes.
      await setPause(world, operator, paused, true);
      await setPause(world, operator, paused, false);
      await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
    }
  });

  it('answers a decision that is sent again as the first time, until a later one or a later pause', async () => {
    const project = await createProject(world, LIMITS);
    const { projectId } = project;
    const put = async (to: CompanyTerms, from: CompanyTerms) => {
      const body = await signTerms(world, operator.wallet, project, { from, to });
      return () => askCompany(world, operator, 'PUT', `projects/${projectId}/terms`, body);
    };
    const raise = await put(RAISED, AUTOMATIC);
    const first = requireOk(await raise());
    assert.deepEqual(first.companyTerms, RAISED);
    for (const again of [await raise(), ...(await Promise.all([raise(), raise()]))])
      assert.deepEqual(again.body, first);
    const logged = world.db.selectFrom('audit_log').select('id').where('project_id', '=', projectId);
    assert.equal((await logged.where('action', '=', 'terms.changed').execute()).length, 1);
    const lower = await put(AUTOMATIC, RAISED);
    requireOk(await lower());
    assertError(await raise(), 400, 'ERR_INVALID_REQUEST', /used before/);

    for (const each of [project, 'all'] as const) {
      const path = each === 'all' ? '' : `projects/${projectId}/`;
      requireOk(await askCompany(world, operator, 'PUT', `${path}pause`, {}));
      const table = each === 'all' ? 'company' : 'projects';
      const { rows } = await sql<{ at: Date }>`
        select paused_at as at from ${sql.table(table)} where ${each === 'all' ? sql`true` : sql`id = ${projectId}`}
      `.execute(world.db);
      const id = each === 'all' ? null : projectId;
      const body = await signResumption(world, operator.wallet, id, rows[0]?.at ?? assert.fail());
      const resume = () => askCompany(world, operator, 'POST', `${path}resume`, body);
      for (let i = 0; i < 2; i += 1) assert.deepEqual(requireOk(await resume()), { isPaused: false });
      requireOk(await askCompany(world, operator, 'PUT', `${path}pause`, {}));
      assertError(await resume(), 400, 'ERR_INVALID_REQUEST', /used before/);
      await setPause(world, operator, each, false);
    }
  });

  it('follows a change of terms that an operator signed, once, and none that somebody else wrote', async () => {
    const project = await createManualProject(world, LIMITS);
    const MANUAL = { ...AUTOMATIC, approvalMode: 'manual' } as const;
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    const stranger = await generateKeyPairSigner();
    const forged = await signTerms(world, stranger, project, { from: MANUAL, to: RAISED });
    const used = await signTerms(world, operator.wallet, project, { from: MANUAL, to: RAISED });
    const path = `projects/${project.projectId}/terms`;
    assertError(await put(path, forged), 400, 'ERR_INVALID_REQUEST', /signed bytes/);
    const stale = await signTerms(world, operator.wallet, project, { from: AUTOMATIC, to: RAISED });
    assertError(await put(path, stale), 400, 'ERR_INVALID_REQUEST', /have changed meanwhile/);
    const settings = requireOk(await put(path, used));
    assert.deepEqual(settings.companyTerms, RAISED);
    assert.equal(settings.burnLimit, '10');
    requireOk(await changeTerms(world, operator, project, MANUAL));
    assertError(await put(path, used), 400, 'ERR_INVALID_REQUEST', /used before/);
    const attempts: Readonly<Record<string, () => Promise<void>>> = {
      'signed by a stranger': () => insert(project, stranger, { from: MANUAL, to: RAISED }),
      'signed by a stranger in an operator’s name': () =>
        insert(project, stranger, { from: MANUAL, to: RAISED }, { operator: operator.wallet.address }),
      'other limits than the signed ones': () =>
        insert(project, operator.wallet, { from: MANUAL, to: AUTOMATIC }, { burnBaseUnits: 1_000_000_000n }),
      'a nonce that was used': async () => {
        await world.db
          .updateTable('company_changes')
          .set({ nonce: 'another' })
          .where('nonce', '=', used.nonce)
          .execute();
        await insert(project, operator.wallet, { from: MANUAL, to: RAISED }, { nonce: used.nonce });
      },
    };
    for (const [attempt, make] of Object.entries(attempts)) {
      await make();
      await review();
      const terms = await world.db
        .selectFrom('company_terms')
        .select(['approval_mode', 'burn_limit'])
        .where('multisig', '=', address(project.multisig))
        .executeTakeFirstOrThrow();
      assert.deepEqual(terms, { approval_mode: 'manual', burn_limit: 10_000_000n }, attempt);
    }
    await assertWaits(project, batch);
  });

  it('follows no change that was withheld until the terms were again those that it replaces', async () => {
    const project = await createProject(world, LIMITS);
    const withheld = await signTerms(world, operator.wallet, project, { from: AUTOMATIC, to: RAISED });
    for (const approvalMode of ['manual', 'automatic'] as const) {
      requireOk(await changeTerms(world, operator, project, { approvalMode }));
    }
    const refused = await put(`projects/${project.projectId}/terms`, withheld);
    assertError(refused, 400, 'ERR_INVALID_REQUEST', /expires later was applied before/);
  });

  it('follows no change by the operator whose wallet approves for the project', async () => {
    const project = await createProject(world, { ...LIMITS, wallet: operator.wallet });
    const changes = [
      await changeTerms(world, operator, project, { burnLimit: '1000' }),
      await setPolicy(world, operator, project, {}),
    ];
    for (const change of changes) assertError(change, 400, 'ERR_INVALID_REQUEST', /the project approves with/);
  });

  it('ends the pause that the operator has signed for, and no other', async () => {
    const project = await createProject(world, LIMITS);
    await setPause(world, operator, project, true);
    const path = `projects/${project.projectId}/resume`;
    const other = await signResumption(world, operator.wallet, project.projectId, new Date(0));
    assertError(await askCompany(world, operator, 'POST', path, other), 400, 'ERR_INVALID_REQUEST', /No pause began/);
    await setPause(world, operator, project, false);
    await executeAlone(project, 1);
  });

  it('counts a batch for the day of its setup, and one of which nothing was executed for none', async () => {
    const project = await createProject(world, LIMITS);
    const ended = await setUpBatch(world, project, [burnPipeline(10)]);
    await world.db
      .updateTable('company_totals')
      .set({ burned: 10_000_000n })
      .where('multisig', '=', address(project.multisig))
      .execute();
    await makeDue(world, 'expire', ended.id);
    await waitForBatch(world, project, ended.id, ({ status }) => status === 'FAILED');
    // It counts until the chain has finalized what shows that nothing was executed.
    await waitUntil(
      'the batch to count for none',
      () =>
        world.db
          .selectFrom('company_totals')
          .select('burned')
          .where('multisig', '=', address(project.multisig))
          .execute(),
      (counted) => counted.every(({ burned }) => burned === 0n),
    );
    const yesterdays = await setUpBatch(world, project, [burnPipeline(10)]);
    const yesterday = utcDay(new Date(Date.now() - DAY_MS));
    await world.db
      .updateTable('company_totals')
      .set({ day: yesterday })
      .where('multisig', '=', address(project.multisig))
      .where('batch_index', '=', yesterdays.batchIndex)
      .execute();
    const todays = await executeOnNewDay(project, 10);
    for (const batch of [yesterdays, todays]) {
      assert.equal(requireOk(await executeSigned(world, project, batch)).status, 'EXECUTED');
    }
  });

  it('is not given for a day that a thief of serve has prepared: an index far ahead, or a batch that never expired', async () => {
    const project = await createProject(world, LIMITS);
    const multisig = address(project.multisig);
    const batch = await setUpBatch(world, project, [burnPipeline(1)]);
    // The job that ends the batch after a week never ran.
    const longAgo = utcDay(new Date(Date.now() - 9 * DAY_MS));
    await world.db.updateTable('company_totals').set({ day: longAgo }).where('multisig', '=', multisig).execute();
    await assertWaits(project, batch);
    const aheadId = randomUUID();
    await sql`
      insert into batches (id, project_id, flywheel_id, token_id, kind, batch_index, status, idempotency_key, request_hash,
        pipeline_count, burn_amount, airdrop_amount, reserved_day, nonce_address, nonce_value, warnings, types, burn_count,
        airdrop_count, memo_count, created_at, updated_at, locked_lamports, reserved_lamports)
      select ${aheadId}, project_id, flywheel_id, token_id, kind, 50, 'AVAILABLE_TO_QUEUE', gen_random_uuid(), request_hash,
        pipeline_count, burn_amount, airdrop_amount, reserved_day, nonce_address, nonce_value, warnings, types, burn_count,
        airdrop_count, memo_count, created_at, updated_at, locked_lamports, reserved_lamports
      from batches where id = ${batch.id}
    `.execute(world.db);
    await sql`
      insert into pipelines (batch_id, position, project_id, type, payload, actions, proof_hash, instructions, vault_message)
      select ${aheadId}, position, project_id, type, payload, actions, proof_hash, instructions, vault_message
      from pipelines where batch_id = ${batch.id}
    `.execute(world.db);
    const jobs = await startTestJobs({ poolConfig: { connectionString: world.databaseUrl } });
    await jobs.enqueue(world.db, { type: 'setup', batchId: aheadId, multisig });
    await jobs.stop();
    await waitUntil(
      'the setup to fail',
      () => sql`select from jobs.job where data->>'batchId' = ${aheadId} and output is not null`.execute(world.db),
      ({ rows }) => rows.length > 0,
    );
    const counted = () =>
      world.db.selectFrom('company_totals').select('batch_index').where('multisig', '=', multisig).execute();
    assert.deepEqual(await counted(), [{ batch_index: batch.batchIndex }]);
  });

  function put(path: string, body: unknown) {
    return askCompany(world, operator, 'PUT', path, body);
  }

  /** Writes a change as a thief of the database would: signed by this wallet, with other values than the signed ones. */
  async function insert(
    { projectId }: TestProject,
    wallet: KeyPairSigner,
    terms: { readonly from: CompanyTerms; readonly to: CompanyTerms },
    { operator: claimed = wallet.address, burnBaseUnits, nonce }: Claims = {},
  ): Promise<void> {
    const { from, to, ...signed } = await signTerms(world, wallet, { projectId }, terms, nonce ? { nonce } : {});
    const token = { decimals: 6 };
    const parsed = { from: parseTerms('from', from, token), to: parseTerms('to', to, token) };
    const changed = burnBaseUnits === undefined ? parsed.to : { ...parsed.to, burnBaseUnits };
    const change = { type: 'terms', projectId, from: parsed.from, to: changed } as const;
    const inserted = { ...readSignature(signed), operator: claimed, change };
    assert.notEqual(await insertChange(world.db, inserted, new Date()), null);
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

  async function work(project: TestProject, batch: OpenBatch): Promise<void> {
    const jobs = await startTestJobs({ poolConfig: { connectionString: world.databaseUrl } });
    await jobs.enqueue(world.db, { type: 'execute', batchId: batch.id, multisig: address(project.multisig) });
    await jobs.stop();
    await untilDone(batch);
  }

  /** Sets up and executes a batch that needs no person. */
  async function executeAlone(project: TestProject, amount: number): Promise<void> {
    const batch = await setUpBatch(world, project, [burnPipeline(amount)]);
    assert.equal(requireOk(await executeSigned(world, project, batch)).status, 'EXECUTED');
  }

  /** Sets up a batch as on a day on which init has reserved nothing yet. */
  async function executeOnNewDay(project: TestProject, amount: number): Promise<OpenBatch> {
    await world.db.deleteFrom('daily_amounts').where('project_id', '=', project.projectId).execute();
    return setUpBatch(world, project, [burnPipeline(amount)]);
  }

  async function change(project: TestProject, row: object): Promise<void> {
    await world.db.updateTable('projects').set(row).where('id', '=', project.projectId).execute();
  }

  /** Executes a batch and checks that a person is asked and nothing is sent. */
  async function assertWaits(project: TestProject, batch: OpenBatch): Promise<void> {
    assert.equal((await executeSigned(world, project, batch, { prefer: 'wait=0' })).status, 202);
    await waitUntil(
      `a person being asked about ${batch.id}`,
      () =>
        world.db.selectFrom('batches').select('company_asked_at').where('id', '=', batch.id).executeTakeFirstOrThrow(),
      ({ company_asked_at }) => company_asked_at !== null,
    );
    await untilDone(batch);
    assert.deepEqual(await findBundles(world.db, batch.id, 'execution'), []);
  }

  async function untilDone({ id }: OpenBatch): Promise<void> {
    await waitUntil(
      `the execution of ${id}`,
      () => countOpenJobs(world, 'execute', id),
      (open) => open === 0,
    );
  }
});
