import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { findMultisig, land } from '@flywheel/testing/chain';
import { approveForCompany, changeTerms, type Decider, resume } from '@flywheel/testing/decisions';
import { countOpenJobs } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { approve, rotateWallet, setUpWithdrawal, waitForWithdrawal } from '@flywheel/testing/treasury';
import { openConsoleWorld, type World } from '@flywheel/testing/world';
import { address, generateKeyPairSigner } from '@solana/kit';
import { createLog } from '../../src/log.ts';
import { locateBatch, proposalApprove } from '../../src/squads/instructions.ts';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { startJobs } from '../../src/store/jobs/jobs.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

describe('the company’s manual approval', () => {
  let world: World;
  let company: Decider;
  let ask: Awaited<ReturnType<typeof openConsoleWorld>>['ask'];
  before(async () => {
    ({ world, company, ask } = await openConsoleWorld());
  });
  after(() => world.stop());

  for (const kind of ['withdrawal', 'rotation'] as const) {
    it(`is required for a ${kind}, whatever else is done`, async () => {
      const project = await createProject(world);
      const batchId = kind === 'withdrawal' ? await makeWithdrawal(project) : await makeRotation(project);
      await voteOnChain(project, batchId);
      assert.equal(requireOk(await approve(world, project, batchId)).waitsFor, 'company');
      const path = `/company/projects/${project.projectId}`;
      const attempts: Readonly<Record<string, () => Promise<unknown>>> = {
        'handed in again': () => approve(world, project, batchId),
        'its job is run': async () => undefined,
        'it is forgotten who was asked': () =>
          world.db.updateTable('batches').set({ company_asked_at: null }).where('id', '=', batchId).execute(),
        'its project becomes manual': () => changeTerms(world, company, project, { approvalMode: 'manual' }),
        'its project becomes automatic': () => changeTerms(world, company, project, { approvalMode: 'automatic' }),
        'its project is paused': () => ask('PUT', `${path}/pause`, company.cookie, {}),
        'its project goes on': () => resume(world, company, project.projectId),
        'the service is restarted': () => world.restart(),
      };
      for (const [attempt, make] of Object.entries(attempts)) {
        await make();
        await work(project, batchId);
        assert.deepEqual(await findBundles(world.db, batchId, 'execution'), [], attempt);
      }
      requireOk(await approveForCompany(world, company, batchId));
      const isEnded = ({ status }: { status: string }) => status === 'EXECUTED';
      await waitUntil(`the end of ${kind} ${batchId}`, () => readRow(batchId), isEnded);
    });
  }

  it('is shown what a withdrawal does and what its creation warned of, and nothing about events', async () => {
    const project = await createProject(world);
    const { address: to } = await generateKeyPairSigner();
    const batchId = await setUpWithdrawal(world, project, { asset: 'SOL', to, amount: '1' });
    const { effects, unusual } = requireOk(await ask('GET', `/company/batches/${batchId}/review`, company.cookie));
    assert.match(effects.join(), /1 SOL/);
    const message = `${to} has no account on this chain yet. Compare the address character by character.`;
    assert.deepEqual(unusual, [{ kind: 'WARNING', message }]);
  });

  async function makeWithdrawal(project: TestProject): Promise<string> {
    const { address: to } = await generateKeyPairSigner();
    return setUpWithdrawal(world, project, { asset: 'SOL', to, amount: '1' });
  }

  async function makeRotation(project: TestProject): Promise<string> {
    const { batchId } = requireOk(await rotateWallet(world, project, await generateKeyPairSigner()));
    await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
    return batchId;
  }

  /** Casts the wallet's vote on chain, without the service. */
  async function voteOnChain(project: TestProject, batchId: string): Promise<void> {
    const { batch_index } = await readRow(batchId);
    const located = locateBatch(await findMultisig(world, project), batch_index);
    await land(world, project.wallet, [proposalApprove(located, project.wallet.address)]);
  }

  function readRow(batchId: string) {
    return world.db
      .selectFrom('batches')
      .select(['status', 'batch_index'])
      .where('id', '=', batchId)
      .executeTakeFirstOrThrow();
  }

  /** Enqueues the execution as a request would; resolves when the job is done. */
  async function work(project: TestProject, batchId: string): Promise<void> {
    const jobs = await startJobs({
      poolConfig: { connectionString: world.databaseUrl },
      log: createLog('error'),
      metrics: createMetrics(),
    });
    await jobs.enqueue(world.db, { type: 'execute', batchId, multisig: address(project.multisig) });
    await jobs.stop();
    const isDone = (undone: number) => undone === 0;
    await waitUntil(`the execution of ${batchId}`, () => countOpenJobs(world, 'execute', batchId), isDone);
  }
});
