import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pipeline } from '@flywheel/api';
import {
  assertError,
  executeSigned,
  type OpenBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline, init, preview, send } from '@flywheel/testing/client';
import { decide, setPolicy, signDecision, signPolicy } from '@flywheel/testing/decisions';
import { countOpenJobs } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { approve, askCompany, type Operator, openCompanyWorld, setRules } from './operators.ts';

/** The answer of an execution that cannot end now comes at once. */
const NO_WAIT = { prefer: 'wait=0' } as const;

describe('the company’s rules for a project', () => {
  let world: World;
  let operators: readonly [Operator, Operator];
  let operator: Operator;
  let alice: string;
  let bob: string;
  before(async () => {
    const opened = await openCompanyWorld();
    world = opened.world;
    operators = opened.operators;
    [operator] = operators;
    [alice, bob] = await Promise.all([newAddress(), newAddress()]);
  });
  after(() => world.stop());

  it('are set by an operator’s signature, in order, and read by the project and no other tenant', async () => {
    const [project, other] = await Promise.all([createProject(world), createProject(world)]);
    assert.deepEqual(requireOk(await read(project)).rules, []);
    const first = await signPolicy(world, operator.wallet, project, { version: 1, policy: { personPerBatch: '10' } });
    const stranger = await signPolicy(world, project.wallet, project, { version: 1, policy: {} });
    assertError(await put(project, stranger), 400, 'ERR_INVALID_REQUEST', /signed bytes|not accepted/);
    const ahead = await signPolicy(world, operator.wallet, project, { version: 2, policy: {} });
    assertError(await put(project, ahead), 400, 'ERR_INVALID_REQUEST', /the next version is 1/);
    assertError(await put(project, { ...first, policy: {} }), 400, 'ERR_INVALID_REQUEST', /signed bytes/);
    const set = requireOk(await put(project, first));
    assert.deepEqual(set.rules, [
      { rule: 'personPerBatch', sentence: 'An operator of the company approves a batch of more than 10 tokens.' },
    ]);
    assert.deepEqual(requireOk(await put(project, first)), set, 'sent again after a lost answer');
    requireOk(await setPolicy(world, operator, project, { personPerBatch: '20', denied: [alice] }));
    assertError(await put(project, first), 400, 'ERR_INVALID_REQUEST');
    const { version, versions } = requireOk(await read(project));
    assert.equal(version, 2);
    assert.deepEqual(
      versions.map((each: { changes: string[] }) => each.changes.length),
      [3, 1],
    );
    assert.equal((await read(other, project.projectId)).status, 404);
    assert.deepEqual(requireOk(await read(other)).rules, []);
    const entry = await world.db
      .selectFrom('audit_log')
      .select('after')
      .where('action', '=', 'policy.changed')
      .where('project_id', '=', project.projectId)
      .orderBy('id', 'desc')
      .executeTakeFirstOrThrow();
    assert.deepEqual(entry.after, { version: 2, changes: versions[0].changes });
  });

  it('refuse recipients and caps at preview and init, count what init took, and give back what was cancelled', async () => {
    const project = await createProject(world);
    await setRules(world, operator, project, {
      capPerRecipient: '10',
      capsPerType: [{ type: 'PRODUCT_PURCHASE', cap: '25' }],
      denied: [bob],
    });
    const toBob = [airdropPipeline(bob, 1)];
    const refused = await init(world.url, project.apiKey, toBob);
    assertError(refused, 403, 'ERR_POLICY_REFUSED', /1 listed recipient may not be paid\./);
    assert.deepEqual(
      refused.body.problems.map(({ recipient, place }: { recipient: string; place: string }) => [recipient, place]),
      [[bob, 'pipelines[0].actions[0].toAddress']],
    );
    const { problems, rules } = requireOk(await preview(world.url, project.apiKey, toBob));
    assert.ok(problems.some(({ code }: { code: string }) => code === 'ERR_POLICY_REFUSED'));
    assert.deepEqual(rules?.[0]?.effect, 'refused');

    const attempts = await Promise.all(
      [4, 4, 4, 4].map((amount) => init(world.url, project.apiKey, [airdropPipeline(alice, amount)])),
    );
    const created = attempts.filter(({ status }) => status === 200);
    assert.equal(created.length, 2, 'two batches of 4 fit into a cap of 10, four at once');
    for (const each of attempts.filter(({ status }) => status !== 200)) {
      assertError(each, 429, 'ERR_POLICY_CAP_REACHED', /receives 12 tokens on .* at most 10 tokens a day/);
    }
    const above = await init(world.url, project.apiKey, [burnPipeline(26)]);
    assertError(above, 429, 'ERR_POLICY_CAP_REACHED', /PRODUCT_PURCHASE moves 26 tokens .* at most 25 tokens a day/);
    const batchId = created[0]?.body.batch.id;
    requireOk(await send(world.url, 'POST', `/v1/flywheel/batch/${batchId}/cancel`, { key: project.apiKey }));
    requireOk(await init(world.url, project.apiKey, [airdropPipeline(alice, 6)]));
    requireOk(await init(world.url, project.apiKey, [burnPipeline(25)]));
    assertError(await init(world.url, project.apiKey, [burnPipeline(1)]), 429, 'ERR_POLICY_CAP_REACHED');
  });

  it('that are tightened bind batches that are open; loosened, only later ones', async () => {
    const project = await createProject(world);
    const [above, denied] = [await setUp(project, [burnPipeline(5)]), await setUp(project, [airdropPipeline(bob, 1)])];
    await setRules(world, operator, project, { personPerBatch: '4', denied: [bob] });
    await setRules(world, operator, project, {});
    assert.equal((await executeSigned(world, project, above, NO_WAIT)).status, 202);
    await untilWaiting(above);
    assertError(await executeSigned(world, project, denied), 409, 'ERR_BATCH_NOT_EXECUTABLE', /is a denied recipient/);
    const later = await setUp(project, [burnPipeline(5)]);
    assert.equal(requireOk(await executeSigned(world, project, later)).status, 'EXECUTED');
    requireOk(await approve(world, operator, above.id));
    await waitForBatch(world, project, above.id, ({ status }) => status === 'EXECUTED');
  });

  it('that need two operators count two wallets, not two signatures', async () => {
    const project = await createProject(world);
    await setRules(world, operator, project, { twoOperatorsPerBatch: '4' });
    const pipeline = burnPipeline(4);
    const small = await setUp(project, [pipeline]);
    assert.equal(requireOk(await executeSigned(world, project, small)).status, 'EXECUTED');
    const batch = await setUp(project, [{ ...pipeline, actions: [{ action: 'BURN', amount: 5 }] }]);
    assert.equal((await executeSigned(world, project, batch, NO_WAIT)).status, 202);
    await untilWaiting(batch);
    const signed = await signDecision(world, operator.wallet, batch.id);
    const once = () => decide(world, operator, `${batch.id}/approve`, signed);
    // Sent again as it was, signed again, and twice at the same time.
    const answers = [await once(), await once(), await approve(world, operator, batch.id)];
    answers.push(...(await Promise.all([once(), approve(world, operator, batch.id)])));
    for (const answer of answers) assert.deepEqual(requireOk(answer).approvals, { given: 1, required: 2 });
    const approved = await world.db
      .selectFrom('audit_log')
      .select(['action', 'actor', 'reason'])
      .where('batch_id', '=', batch.id)
      .execute();
    assert.deepEqual(approved, [{ action: 'batch.approved', actor: operator.address, reason: 'Approval 1 of 2.' }]);
    const { nonce } = signed;
    const expiresAt = new Date(Date.now() + 7_200_000);
    const other = await signDecision(world, operator.wallet, batch.id, { nonce, expiresAt });
    const used = await decide(world, operator, `${batch.id}/approve`, other);
    assertError(used, 400, 'ERR_INVALID_REQUEST', /used before/);
    const events = await world.db
      .selectFrom('batch_events')
      .select('data')
      .where('batch_id', '=', batch.id)
      .where('type', '=', 'batch.company_approval_received')
      .execute();
    const first = { operator: operator.address, approvals: { given: 1, required: 2 } };
    assert.deepEqual(events, [{ data: first }], 'the second signature of one operator is no second approval');
    assert.deepEqual(await companyStep(project, batch), {
      step: 'companyApproval',
      state: 'waiting',
      note: `1 of 2 operators have approved: ${operator.address}`,
      signatures: [],
    });
    const { batches } = requireOk(await askCompany(world, operator, 'GET', 'waiting'));
    const listed = batches.find(({ id }: { id: string }) => id === batch.id);
    assert.deepEqual(listed?.approvals, { given: 1, required: 2 });
    // A thief of serve says that it is decided.
    const decided = { company_decided_at: new Date(), company_operator: operator.wallet.address };
    await world.db.updateTable('batches').set(decided).where('id', '=', batch.id).execute();
    await executeSigned(world, project, batch, NO_WAIT);
    await untilWaiting(batch);
    assert.deepEqual(await findBundles(world.db, batch.id, 'execution'), []);
    const review = requireOk(await askCompany(world, operator, 'GET', `batches/${batch.id}/review`));
    assert.deepEqual(review.approvals, { given: 1, required: 2 });
    assert.deepEqual(
      review.rules.map(({ message }: { message: string }) => message),
      ['It moves 5 tokens. Two operators of the company approve a batch of more than 4 tokens.'],
    );
    const kinds = review.unusual.map(({ kind }: { kind: string }) => kind);
    assert.ok(kinds.includes('LARGEST_BATCH') && kinds.includes('REPEATED_PAYLOADS'), kinds.join());
    assert.equal(requireOk(await approve(world, operators[1], batch.id)).approvals, undefined);
    await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
    assert.equal((await companyStep(project, batch))?.note, `By ${operators[1].address}`);
  });

  it('need no two operators of whom one has the wallet of the project: that one approves none of its batches', async () => {
    const project = await createProject(world, { wallet: operators[1].wallet });
    const refused = await setPolicy(world, operator, project, { twoOperatorsPerBatch: '4' });
    assertError(refused, 400, 'ERR_INVALID_REQUEST', /COMPANY_OPERATORS has 1 besides the wallet of the project/);
    requireOk(await setPolicy(world, operator, project, { personPerBatch: '4' }));
  });

  it('make a batch wait outside of their hours, and say until when', async () => {
    const project = await createProject(world);
    const hour = (new Date().getUTCHours() + 2) % 24;
    const time = (each: number) => `${String(each % 24).padStart(2, '0')}:00`;
    const batch = await setUp(project, [burnPipeline()]);
    await setRules(world, operator, project, { hours: { from: time(hour), to: time(hour + 1) } });
    assert.equal((await executeSigned(world, project, batch, NO_WAIT)).status, 202);
    const read = () =>
      world.db.selectFrom('batches').select('execution_error').where('id', '=', batch.id).executeTakeFirstOrThrow();
    const { execution_error } = await waitUntil('the hold-up', read, (row) => row.execution_error !== null);
    assert.match(execution_error?.reason ?? '', /The company signs from .* only\. It continues at /);
    assert.deepEqual(await findBundles(world.db, batch.id, 'execution'), []);
    // The job that found out has recorded it before it ends itself.
    await waitUntil(
      'one job that waits for the hours',
      () => countOpenJobs(world, 'execute', batch.id),
      (jobs) => jobs === 1,
    );
  });

  it('can be tried on the batches of the last 30 days before they are saved', async () => {
    const project = await createProject(world);
    for (const pipelines of [[burnPipeline(3)], [airdropPipeline(alice, 6)], [airdropPipeline(alice, 6)]]) {
      requireOk(await init(world.url, project.apiKey, pipelines));
    }
    const path = `projects/${project.projectId}/policy/try`;
    const policy = { personPerBatch: '5', capPerRecipient: '10' };
    const trial = requireOk(await askCompany(world, operator, 'POST', path, { policy }));
    assert.deepEqual(
      [trial.batches, trial.untouched, trial.person, trial.refused],
      [3, 1, 1, 1],
      'the second airdrop is over the cap',
    );
    assert.deepEqual(
      trial.byRule.map(({ batches }: { batches: number }) => batches),
      [2, 1],
    );
    assert.deepEqual(
      trial.examples.map(({ batchIndex }: { batchIndex: string }) => batchIndex),
      ['3', '2'],
    );
    assert.equal(requireOk(await read(project)).version, 0);
  });

  it('that need two operators do not count the approval of one who has left the company', async () => {
    const project = await createProject(world);
    await setRules(world, operator, project, { twoOperatorsPerBatch: '0' });
    const batch = await setUp(project, [burnPipeline()]);
    assert.equal((await executeSigned(world, project, batch, NO_WAIT)).status, 202);
    await untilWaiting(batch);
    requireOk(await approve(world, operators[1], batch.id));
    await world.restart({ COMPANY_OPERATORS: `${operator.address},${await newAddress()}` });
    const listed = async () => {
      const { batches } = requireOk(await askCompany(world, operator, 'GET', `waiting?batchId=${batch.id}`));
      return [batches[0].approvals, (await companyStep(project, batch))?.note];
    };
    assert.deepEqual(await listed(), [undefined, undefined]);
    const first = { given: 1, required: 2 };
    assert.deepEqual(requireOk(await approve(world, operator, batch.id)).approvals, first);
    assert.deepEqual(await listed(), [first, `1 of 2 operators have approved: ${operator.address}`]);
    const review = requireOk(await askCompany(world, operator, 'GET', `batches/${batch.id}/review`));
    assert.deepEqual(review.approvals, first);
  });

  function read(reader: TestProject, projectId = reader.projectId) {
    const headers = { cookie: reader.cookie };
    return send(world.url, 'GET', `/console/api/projects/${projectId}/policy`, { headers });
  }

  function put({ projectId }: TestProject, body: unknown) {
    return askCompany(world, operator, 'PUT', `projects/${projectId}/policy`, body);
  }

  async function companyStep({ projectId, cookie }: TestProject, { id }: OpenBatch) {
    const path = `/console/api/projects/${projectId}/batches/${id}/progress`;
    const { timeline } = requireOk(await send(world.url, 'GET', path, { headers: { cookie } }));
    return timeline.find(({ step }: { step: string }) => step === 'companyApproval');
  }

  function setUp(project: TestProject, pipelines: readonly Pipeline[]): Promise<OpenBatch> {
    return setUpBatch(world, project, [...pipelines]);
  }

  async function untilWaiting({ id }: OpenBatch): Promise<void> {
    const read = () =>
      world.db
        .selectFrom('batches')
        .select(['company_asked_at', 'company_decided_at'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
    const isWaiting = (row: Awaited<ReturnType<typeof read>>) =>
      row.company_asked_at !== null && row.company_decided_at === null;
    await waitUntil(`batch ${id} to wait for the company`, read, isWaiting);
  }
});

async function newAddress(): Promise<string> {
  return (await generateKeyPairSigner()).address;
}
