import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { assertError, executeSigned, setUpBatch } from '@flywheel/testing/batches';
import { burnPipeline, getBatch } from '@flywheel/testing/client';
import { ENGINES, type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { setTransactionMessageComputeUnitLimit } from '@solana/kit';
import { MAX_FAILED_APPROVALS } from '../../src/batches/jobs/end.ts';
import { findLedgerEntries } from '../../src/store/batches/ledger.ts';
import { type ApprovalMessage, editApproval } from '../execution/edit-approval.ts';

// An engine drops a bundle that fails, and it costs nothing.
const [, OVER_RPC] = ENGINES;

let world: GatedWorld;
before(async () => {
  world = await openGatedWorld({ ...OVER_RPC.environment, RATE_LIMIT_EXECUTE: '1000/60' }, OVER_RPC.options);
});
after(() => world.stop());

it('approvals that hold in simulation and fail on chain are charged at once, and the fifth ends the batch', async () => {
  world.gate.intercept('simulateTransaction', async ({ params }, pass) => {
    const answer = await pass();
    return isApproval(params) ? { ...answer, body: hold(answer.body) } : answer;
  });
  await Promise.all([failUntilTheEnd(), failAndSignWell()]);
});

async function failUntilTheEnd(): Promise<void> {
  const { project, batch } = await openTest();
  for (let failed = 1; failed < MAX_FAILED_APPROVALS; failed += 1) await failOnce(project, batch, failed);
  const { status, result } = requireOk(await executeFailing(project, batch));
  assert.equal(status, 'FAILED');
  assert.match(result.failedTxMsg, /^Its approval failed on chain 5 times\. Nothing was executed; send it as a new/);
  assert.equal(result.totalSuccessful, 0);
}

async function failAndSignWell(): Promise<void> {
  const { project, batch } = await openTest();
  for (let failed = 1; failed < MAX_FAILED_APPROVALS; failed += 1) await failOnce(project, batch, failed);
  const signedTx = await editApproval(await readApproval(project, batch), project.wallet, (message) => message);
  const { status } = requireOk(await executeSigned(world, project, { id: batch.id, signedTx }, { prefer: 'wait=120' }));
  assert.equal(status, 'EXECUTED');
}

async function openTest() {
  const project = await createProject(world);
  return { project, batch: await setUpBatch(world, project, [burnPipeline()]) };
}

/** @param failed number of approvals that have failed with this one. */
async function failOnce(project: TestProject, batch: { readonly id: string }, failed: number): Promise<void> {
  assertError(await executeFailing(project, batch), 400, 'ERR_SIGNED_TX_INVALID');
  const charged = (await findLedgerEntries(world.db, batch.id)).filter(({ phase }) => phase === 'execution');
  assert.equal(charged.length, failed);
}

/** Executes with an approval whose votes lack compute units: it stands for one with an assertion about the slot. */
async function executeFailing(project: TestProject, batch: { readonly id: string }) {
  const approval = await readApproval(project, batch);
  const signedTx = await editApproval(
    approval,
    project.wallet,
    (message) => setTransactionMessageComputeUnitLimit(500, message) as ApprovalMessage,
  );
  return executeSigned(world, project, { id: batch.id, signedTx }, { prefer: 'wait=120' });
}

async function readApproval({ apiKey }: TestProject, { id }: { readonly id: string }): Promise<string> {
  return requireOk(await getBatch(world.url, apiKey, `${id}?include=approval`)).proposalApproveTx;
}

/** The worker simulates an approval with its signatures, and nothing else. */
function isApproval([, options]: readonly unknown[]): boolean {
  return (options as { readonly sigVerify: boolean }).sigVerify;
}

/** Hides that an instruction failed, but not that the nonce has advanced. */
function hold(body: string): string {
  const answer = JSON.parse(body);
  if (JSON.stringify(answer.result.value.err).includes('InstructionError')) answer.result.value.err = null;
  return JSON.stringify(answer);
}
