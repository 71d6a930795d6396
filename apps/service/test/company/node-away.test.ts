import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Fault } from '@flywheel/localnet';
import {
  assertError,
  executeSigned,
  openBatch,
  readBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { type Answer, burnPipeline, send } from '@flywheel/testing/client';
import { onlyLocal, WITH_BUNDLES } from '@flywheel/testing/cluster';
import { decide, signDecision } from '@flywheel/testing/decisions';
import { holdBundles } from '@flywheel/testing/gate';
import { makeDue } from '@flywheel/testing/jobs';
import { requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { findJobs } from '../../src/store/jobs/job-records.ts';
import { createManualProject, type Operator, openCompanyWorld } from './operators.ts';

/** The node refuses what lies after its own slot, which is far below that of the project's last bundle. */
const BEHIND: Fault = { kind: 'behind', method: '*', slots: [500] };
const AWAY: Fault = { kind: 'error', method: '*', status: 500 };

describe('while no node can answer', () => {
  let world: World;
  let operator: Operator;
  let project: TestProject;
  before(async () => {
    const opened = await openCompanyWorld();
    world = opened.world;
    [operator] = opened.operators;
    project = await createManualProject(world);
    await world.localnet.warp({ slots: 500n });
  });
  after(() => world.stop());

  it('what a wallet signs is answered 503 with a time, and succeeds later', onlyLocal('fail calls'), async () => {
    const { id, signedTx } = await setUpBatch(world, project, [burnPipeline()]);
    const path = `batches/${id}`;
    for (const fault of [AWAY, BEHIND]) {
      const answers = await during(fault, [
        () => ask('POST', `${path}/execute`, { signedTx }),
        () => ask('POST', 'withdrawals', { asset: 'SOL', amount: '0.01', to: project.wallet.address }),
      ]);
      for (const answer of answers) assertAway(answer);
    }
    for (const answer of await during(AWAY, [() => ask('GET', `${path}/approval`)])) assertAway(answer);
    requireOk(await ask('POST', `${path}/execute`, { signedTx }));

    const approval = await signDecision(world, operator.wallet, id);
    const reason = 'Not ordered.';
    const rejection = { ...(await signDecision(world, operator.wallet, id, { reason })), reason };
    const approve = () => decide(world, operator, `${id}/approve`, approval);
    const answers = await during(AWAY, [approve, () => decide(world, operator, `${id}/reject`, rejection)]);
    for (const answer of [...answers, ...(await during(BEHIND, [approve]))]) assertAway(answer);
    assert.equal('executionError' in (await readBatch(world, project, id)), false);
    requireOk(await approve());
    await waitForBatch(world, project, id, ({ status }) => status === 'EXECUTED');
  });

  it('the cancel vote of a batch that was cancelled is answered 503 with a time', onlyLocal('fail calls'), async () => {
    const { id } = await setUpBatch(world, project, [burnPipeline()]);
    const cancel = () => ask('POST', `batches/${id}/cancel`, {});
    assert.equal(requireOk(await cancel()).status, 'FAILED');
    for (const answer of await during(AWAY, [cancel])) assertAway(answer);
    assert.equal(requireOk(await cancel()).status, 'FAILED');
  });

  it('the last look at a setup fails without a word on its batch', onlyLocal('fail calls'), async () => {
    // A look at an earlier batch of the same multisig, if it falls into the fault, would be tried again and again before this one.
    const another = await createManualProject(world);
    const { id } = await setUpBatch(world, another, [burnPipeline()]);
    world.localnet.faults.set(AWAY);
    await makeDue(world, 'setup', id);
    await waitUntil(
      'the look that fails',
      () => findJobs(world.db, { withCompleted: false }),
      (jobs) => jobs.some(({ batchId, type, error }) => batchId === id && type === 'setup' && error !== null),
    );
    world.localnet.faults.clear();
    assert.equal('executionError' in (await readBatch(world, another, id)), false);
  });

  async function during(fault: Fault, requests: readonly (() => Promise<Answer>)[]): Promise<Answer[]> {
    world.localnet.faults.set(fault);
    const answers = await Promise.all(requests.map((request) => request()));
    world.localnet.faults.clear();
    return answers;
  }

  function ask(method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
    return send(world.url, method, `/console/api/projects/${project.projectId}/${path}`, {
      headers: { cookie: project.cookie, 'x-idempotency-key': randomUUID() },
      ...(body && { body }),
    });
  }
});

it('a node that has not seen the nonce of a batch makes no wallet sign again', WITH_BUNDLES, async () => {
  const { world, operators } = await openCompanyWorld();
  try {
    const project = await createManualProject(world);
    const setup = holdBundles(world, 'setup');
    const { id, signedTx } = await openBatch(world, project, [burnPipeline()]);
    await setup.reached;
    assert.equal((await executeSigned(world, project, { id, signedTx })).status, 202);
    const row = world.db.selectFrom('nonces').select(['address', 'read_slot']).where('batch_id', '=', id);
    const { address, read_slot: readSlot } = await row.executeTakeFirstOrThrow();
    world.gate.intercept('getMultipleAccounts', ({ params: [asked, config] }, pass) => {
      const addresses = asked as readonly string[]; // the method's first parameter
      if (!addresses.includes(address) || BigInt(Object(config).minContextSlot ?? 0) >= readSlot) return pass();
      const result = { context: { slot: Number(readSlot) - 1 }, value: addresses.map(() => null) };
      return Promise.resolve({ status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result }) });
    });
    const approval = await signDecision(world, operators[0].wallet, id);
    requireOk(await decide(world, operators[0], `${id}/approve`, approval));
    setup.release();
    await waitForBatch(world, project, id, ({ status }) => status === 'EXECUTED');
  } finally {
    await world.stop();
  }
});

function assertAway(answer: Answer): void {
  assertError(answer, 503, 'ERR_NODE_UNAVAILABLE', /No Solana node .* Nothing is lost\. Try again in 2 s\.$/);
  assert.equal(answer.headers.get('retry-after'), '2');
}
