import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pipeline } from '@flywheel/api';
import { associatedTokenAddress, NO_POLICY } from '@flywheel/protocol';
import {
  assertError,
  executeSigned,
  type OpenBatch,
  openBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline, init, preview, send } from '@flywheel/testing/client';
import type { GatedWorld } from '@flywheel/testing/gate';
import { makeDue } from '@flywheel/testing/jobs';
import { countLockWaits } from '@flywheel/testing/postgres';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { storeUses } from '@flywheel/testing/records';
import { address, generateKeyPairSigner } from '@solana/kit';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { sql } from 'kysely';
import { unusedOf } from '../../src/batches/policy/facts.ts';
import { compilePipelines } from '../../src/compile/compile-pipeline.ts';
import { lockFlywheel } from '../../src/store/batches/new-batches.ts';
import { insertPolicy } from '../../src/store/company/policies.ts';
import { requireProject } from '../../src/store/projects/projects.ts';
import { askCompany, type Operator, openCompanyWorld, setRules } from './operators.ts';

/** The answer of an execution that cannot end now comes at once. */
const NO_WAIT = { prefer: 'wait=0' } as const;
const FULL = /It needs 1 new token account, and today’s batches have 2\. The vault pays for at most 2 /;

describe('what the company’s rules count of a day', () => {
  let world: GatedWorld;
  let operator: Operator;
  before(async () => {
    const opened = await openCompanyWorld({ LOG_LEVEL: 'fatal' });
    world = opened.world;
    [operator] = opened.operators;
  });
  after(() => world.stop());

  it('is each new token account once, at init, also for simultaneous requests, and what ends unexecuted is given back', async () => {
    const project = await createProject(world);
    await setRules(world, operator, project, { newTokenAccounts: 2 });
    const [shared = '', ...strangers] = await newAddresses(5);
    assert.equal(requireOk(await preview(world.url, project.apiKey, [airdropPipeline(shared)])).rules, undefined);
    const attempts = await Promise.all(
      strangers.map((each) => init(world.url, project.apiKey, [airdropPipeline(each)])),
    );
    const [created, refused] = [200, 429].map((wanted) => attempts.filter(({ status }) => status === wanted));
    assert.deepEqual([created?.length, refused?.length], [2, 2]);
    for (const each of refused ?? []) assertError(each, 429, 'ERR_POLICY_CAP_REACHED', FULL);

    const seen = requireOk(await preview(world.url, project.apiKey, [airdropPipeline(shared)]));
    assert.deepEqual([seen.rules?.[0]?.rule, seen.rules?.[0]?.effect], ['newTokenAccounts', 'capped']);
    assert.ok(seen.problems.some(({ code }: { code: string }) => code === 'ERR_POLICY_CAP_REACHED'));
    const counted = strangers[attempts.findIndex(({ status }) => status === 200)] ?? '';
    const again = requireOk(await init(world.url, project.apiKey, [airdropPipeline(counted), burnPipeline()]));

    const [first, second] = (created ?? []).map(({ body }) => body.batch.id as string);
    for (const _ of [1, 2]) await cancel(project, first);
    // A third batch still pays the first one's recipient.
    assertError(await init(world.url, project.apiKey, [airdropPipeline(shared)]), 429, 'ERR_POLICY_CAP_REACHED', FULL);
    await makeDue(world, 'expire', second ?? '');
    await waitForBatch(world, project, second ?? '', ({ status }) => status === 'FAILED');
    const idempotencyKey = crypto.randomUUID();
    const body = [airdropPipeline(shared)];
    const retried = await Promise.all([1, 2, 3].map(() => init(world.url, project.apiKey, body, idempotencyKey)));
    assert.equal(new Set(retried.map((answer) => requireOk(answer).batch.id)).size, 1);
    const stranger = newPayments(await newAddresses(1));
    assertError(await init(world.url, project.apiKey, stranger), 429, 'ERR_POLICY_CAP_REACHED', FULL);
    await cancel(project, again.batch.id);
    requireOk(await init(world.url, project.apiKey, [airdropPipeline(counted)]));
    assertError(await init(world.url, project.apiKey, stranger), 429, 'ERR_POLICY_CAP_REACHED', FULL);
  });

  it('binds a request that began before an operator set the first rules', async () => {
    const project = await createProject(world);
    const [recipient = ''] = await newAddresses(1);
    const { projectId } = project;
    const { id, multisig } = await world.db
      .selectFrom('flywheels')
      .select(['id', 'multisig'])
      .where('project_id', '=', projectId)
      .executeTakeFirstOrThrow();
    const { asked } = await world.db.transaction().execute(async (trx) => {
      await lockFlywheel(trx, id);
      const begun = init(world.url, project.apiKey, [airdropPipeline(recipient, 1)]);
      await waitUntil(
        'the request to wait',
        () => countLockWaits(world.db),
        (waits) => waits > 0,
      );
      const policy = { ...NO_POLICY, capPerRecipient: 1_500_000n };
      const by = { mint: project.mint, operator: address(operator.address), appliedAt: new Date() };
      await insertPolicy(trx, multisig, { version: 1, policy, ...by });
      const uses = [{ kind: 'recipient', subject: recipient, amount: 1_000_000n }] as const;
      const day = new Date().toISOString().slice(0, 10);
      await storeUses(trx, { batchId: crypto.randomUUID(), projectId, day }, { uses, isRead: true });
      return { asked: begun };
    });
    assertError(await asked, 429, 'ERR_POLICY_CAP_REACHED', /receives 2 tokens/);
  });

  it('is read from the chain only where the cap has no room for all recipients; an account that exists does not count', async () => {
    const project = await createProject(world);
    const paid = await newAddresses(2);
    const earlier = await setUpBatch(world, project, newPayments(paid));
    requireOk(await executeSigned(world, project, earlier));
    await sql`delete from created_token_accounts where batch_id = ${earlier.id}`.execute(world.db);
    await setRules(world, operator, project, { newTokenAccounts: 3 });
    const known = associatedTokenAddress({
      owner: address(paid[0] ?? ''),
      tokenProgram: TOKEN_PROGRAM_ADDRESS,
      mint: project.mint,
    });
    let asked = 0;
    world.gate.intercept('getMultipleAccounts', async ({ params: [accounts] }, pass) => {
      if (Array.isArray(accounts) && accounts.includes(known)) asked += 1;
      return pass();
    });
    requireOk(await init(world.url, project.apiKey, newPayments(paid)));
    assert.deepEqual([asked, await sumOf(project)], [0, 2n]);
    // Two of these four exist, and the two of the batch before do: it asks about both batches.
    requireOk(await init(world.url, project.apiKey, newPayments([...paid, ...(await newAddresses(2))])));
    assert.deepEqual([asked, await sumOf(project)], [2, 2n]);
    const [alice = '', bob = ''] = await newAddresses(2);
    assertError(await init(world.url, project.apiKey, newPayments([alice, bob])), 429, 'ERR_POLICY_CAP_REACHED');
    requireOk(await init(world.url, project.apiKey, newPayments([alice])));
    assert.equal(await sumOf(project), 3n);
    world.gate.clear();
  });

  it('is what a worker has found, as soon as it has checked the batch', async () => {
    const project = await createProject(world);
    await setRules(world, operator, project, { newTokenAccounts: 9 });
    const recipients = await newAddresses(2);
    const first = await setUp(project, 0, recipients);
    assert.equal(await sumOf(project), 2n);
    requireOk(await executeSigned(world, project, first));
    const second = await setUp(project, 1, recipients);
    requireOk(await executeSigned(world, project, second));
    assert.equal(await sumOf(project), 3n);
    assert.deepEqual((await countedOf(project)).map(({ is_read, amount }) => [is_read, amount]).toSorted(), [
      [true, 0n],
      [true, 0n],
      [true, 1n],
      [true, 1n],
      [true, 1n],
    ]);
  });

  it('needs an answer of the chain before it refuses: without one nothing is counted, and a retry counts once', async () => {
    const [project, other] = await Promise.all([createProject(world), createProject(world)]);
    await setRules(world, operator, project, { newTokenAccounts: 1 });
    requireOk(await init(world.url, project.apiKey, newPayments(await newAddresses(1))));
    const pipelines = newPayments(await newAddresses(1));
    const key = crypto.randomUUID();
    world.gate.intercept('getMultipleAccounts', async () => ({ status: 200, body: '<html></html>' }));
    assertError(await init(world.url, project.apiKey, pipelines, key), 500, 'ERR_BATCH_INIT_FAILED');
    requireOk(await init(world.url, other.apiKey, newPayments(await newAddresses(1))));
    world.gate.clear();
    assert.equal((await countedOf(project)).length, 1);
    for (const _ of [1, 2])
      assertError(await init(world.url, project.apiKey, pipelines, key), 429, 'ERR_POLICY_CAP_REACHED');
    assert.equal((await countedOf(project)).length, 1);
  });

  it('counts new token accounts again on the day of the signature: a batch of yesterday leaves the next one waiting', async () => {
    const project = await createProject(world);
    await setRules(world, operator, project, { newTokenAccounts: 1 });
    const [yesterdays, tooMany] = [await setUp(project, 1), await setUp(project, 2)];
    assert.equal((await executeSigned(world, project, tooMany, NO_WAIT)).status, 202);
    await waitForDecision(tooMany);
    const { rules } = requireOk(await askCompany(world, operator, 'GET', `batches/${tooMany.id}/review`));
    assert.match(rules[0]?.message, /^It needs 2 new token accounts, and today’s batches have 1\./);
    assert.equal(rules[0].effect, 'person');
    await sql`update policy_uses set day = day - 1 where project_id = ${project.projectId}`.execute(world.db);
    const todays = await setUp(project, 1);
    assert.equal(requireOk(await executeSigned(world, project, yesterdays)).status, 'EXECUTED');
    assert.equal((await executeSigned(world, project, todays, NO_WAIT)).status, 202);
    const read = () =>
      world.db.selectFrom('batches').select('execution_error').where('id', '=', todays.id).executeTakeFirstOrThrow();
    const { execution_error } = await waitUntil('the hold-up', read, (row) => row.execution_error !== null);
    assert.match(execution_error?.reason ?? '', /needs 1 new token account, and today’s batches have 1\./);
  });

  it('includes what was paid earlier on the day on which a cap is set', async () => {
    const project = await createProject(world);
    const [alice = '', bob = ''] = await newAddresses(2);
    const pay = (to: string, amount: number) => [airdropPipeline(to, amount)];
    const paid = await setUpBatch(world, project, pay(alice, 6));
    assert.equal(requireOk(await executeSigned(world, project, paid)).status, 'EXECUTED');
    const open = await setUpBatch(world, project, pay(alice, 3));
    const cancelled = await openBatch(world, project, pay(alice, 5));
    await cancel(project, cancelled.id);
    await setRules(world, operator, project, {
      capPerRecipient: '10',
      capsPerType: [{ type: 'WATCH_AD', cap: '12' }],
      newTokenAccounts: 1,
    });
    assertError(
      await init(world.url, project.apiKey, pay(alice, 2)),
      429,
      'ERR_POLICY_CAP_REACHED',
      /receives 11 tokens on /,
    );
    assertError(
      await init(world.url, project.apiKey, pay(bob, 1)),
      429,
      'ERR_POLICY_CAP_REACHED',
      /today’s batches have 1\./,
    );
    assertError(
      await init(world.url, project.apiKey, pay(alice, 4)),
      429,
      'ERR_POLICY_CAP_REACHED',
      /WATCH_AD moves 13 tokens on /,
    );
    requireOk(await init(world.url, project.apiKey, pay(alice, 1)));
    await cancel(project, open.id);
    requireOk(await init(world.url, project.apiKey, pay(alice, 3)));
    await setRules(world, operator, project, { capPerRecipient: '10' });
    assertError(
      await init(world.url, project.apiKey, pay(alice, 1)),
      429,
      'ERR_POLICY_CAP_REACHED',
      /receives 11 tokens on /,
    );
  });

  it('includes what the company signed earlier on the day: a batch that was open when a cap was set needs a person', async () => {
    const project = await createProject(world);
    const [alice = ''] = await newAddresses(1);
    const paid = await setUpBatch(world, project, [airdropPipeline(alice, 6)]);
    assert.equal(requireOk(await executeSigned(world, project, paid)).status, 'EXECUTED');
    const [within, above] = [
      await setUpBatch(world, project, [airdropPipeline(alice, 4)]),
      await setUpBatch(world, project, [airdropPipeline(alice, 1)]),
    ];
    await setRules(world, operator, project, { capPerRecipient: '10' });
    assert.equal(requireOk(await executeSigned(world, project, within)).status, 'EXECUTED');
    assert.equal((await executeSigned(world, project, above, NO_WAIT)).status, 202);
    await waitForDecision(above);
  });

  it('gives back what no executed pipeline has used, and no token account that one has created', async () => {
    const project = await requireProject(world.db, (await createProject(world)).projectId);
    const [alice = '', bob = ''] = await newAddresses(2);
    const request = [airdropPipeline(alice), airdropPipeline(alice, 2), airdropPipeline(bob, 3)];
    const pipelines = await compilePipelines(request, project);
    const unused = unusedOf(pipelines, 1, project.token);
    assert.deepEqual(
      unused.filter(({ kind }) => kind !== 'token-account').map(({ subject, amount }) => [subject, amount]),
      [
        [alice, 2_000_000n],
        [bob, 3_000_000n],
        ['WATCH_AD', 5_000_000n],
      ],
    );
    assert.equal(unused.filter(({ kind }) => kind === 'token-account').length, 1);
    assert.equal(unusedOf(pipelines, 0, project.token).filter(({ kind }) => kind === 'token-account').length, 2);
    assert.deepEqual(unusedOf(pipelines, 3, project.token), []);
  });

  it('is deleted by workers once no batch of its day can be open', async () => {
    const project = await createProject(world);
    await setRules(world, operator, project, { newTokenAccounts: 9, capPerRecipient: '9' });
    const { id } = await setUp(project, 1);
    const old = await openBatch(world, project, newPayments(await newAddresses(1)));
    await sql`update policy_uses set day = day - 9 where batch_id = ${old.id}`.execute(world.db);
    await sql`
      insert into company_uses (multisig, batch_index, day, kind, subject, amount)
      values (${project.multisig}, 1000, now() - interval '9 days', 'type', 'WATCH_AD', 1)
    `.execute(world.db);
    await world.restart();
    const read = () => world.db.selectFrom('policy_uses').select('kind').where('batch_id', '=', old.id).execute();
    await waitUntil('the deletion', read, (rows) => rows.length === 0);
    const left = () =>
      world.db.selectFrom('company_uses').select('day').where('multisig', '=', address(project.multisig)).execute();
    await waitUntil('the deletion of what workers counted', left, (rows) => rows.length === 0);
    assert.deepEqual(new Set((await countedOf(project)).map(({ batch_id }) => batch_id)), new Set([id]));
  });

  async function cancel({ apiKey: key }: TestProject, batchId = ''): Promise<void> {
    requireOk(await send(world.url, 'POST', `/v1/flywheel/batch/${batchId}/cancel`, { key }));
  }

  /** Sets up a batch that pays so many new recipients. */
  async function setUp(project: TestProject, recipients: number, known: readonly string[] = []): Promise<OpenBatch> {
    return setUpBatch(world, project, newPayments([...known, ...(await newAddresses(recipients))]));
  }

  /** The token accounts that the day has, as init reads them. */
  async function sumOf({ projectId }: TestProject): Promise<bigint | undefined> {
    const row = await world.db
      .selectFrom('policy_sums')
      .select('amount')
      .where('project_id', '=', projectId)
      .where('kind', '=', 'token-accounts')
      .executeTakeFirst();
    return row?.amount;
  }

  function countedOf({ projectId }: TestProject) {
    return world.db.selectFrom('policy_uses').selectAll().where('project_id', '=', projectId).execute();
  }

  async function waitForDecision({ id }: OpenBatch): Promise<void> {
    const read = () =>
      world.db
        .selectFrom('batches')
        .select(['company_asked_at', 'company_decided_at'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
    await waitUntil(`batch ${id} to wait for the company`, read, (row) => row.company_asked_at !== null);
  }
});

function newPayments(recipients: readonly string[]): Pipeline[] {
  return recipients.map((each) => airdropPipeline(each));
}

function newAddresses(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, async () => (await generateKeyPairSigner()).address));
}
