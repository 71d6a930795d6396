import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { decodeMultisig } from '@flywheel/squads';
import { assertError, executeSigned, setUpBatch, waitUntil as untilSeen } from '@flywheel/testing/batches';
import { findMultisig, land } from '@flywheel/testing/chain';
import { burnPipeline, getCurrent, init, send } from '@flywheel/testing/client';
import { approveForCompany, type Decider } from '@flywheel/testing/decisions';
import { createProject, requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import {
  approve,
  rotateCompany,
  rotateWallet,
  waitForWithdrawal as untilBatch,
  withdraw,
} from '@flywheel/testing/treasury';
import type { World } from '@flywheel/testing/world';
import { openConsoleWorld } from '@flywheel/testing/world';
import {
  type Address,
  addSignersToInstruction,
  fetchEncodedAccount,
  generateKeyPairSigner,
  type KeyPairSigner,
  type TransactionSigner,
} from '@solana/kit';
import { createSignerFile, loadSigner } from '../../src/solana/signer.ts';
import { locateBatch, proposalApprove } from '../../src/squads/instructions.ts';
import { configTransactionExecute } from '../../src/squads/rotation.ts';
import { readDatabaseDiagnostics } from '../../src/store/diagnostics.ts';

let world: World;
let company: Decider;
before(async () => {
  ({ world, company } = await openConsoleWorld());
});
after(() => world.stop());

describe('the rotation of the wallet', () => {
  it('replaces the wallet after both sides approved: the new one sees the project and approves its batches', async () => {
    const project = await createProject(world);
    const to = await generateKeyPairSigner();
    const rotation = await setUp(project, to);
    assert.deepEqual([rotation.from, rotation.to, rotation.approver], [project.wallet.address, to.address, 'wallet']);
    await execute(project, rotation.batchId);
    assert.deepEqual(await membersOf(project), await expectedMembers(project, { wallet: to.address }));

    assertError(await readProject(project.cookie, project), 404, 'ERR_PROJECT_NOT_FOUND');
    const moved = { ...project, wallet: to, cookie: await signIn(world.url, to) };
    assert.equal(requireOk(await readProject(moved.cookie, moved)).wallet, to.address);
    await executesBatch(moved);
  });

  it('returns its rent, and is in the list and the audit log', async () => {
    const project = await createProject(world);
    const to = await generateKeyPairSigner();
    const { batchId } = await setUp(project, to);
    await execute(project, batchId);
    const moved = { ...project, wallet: to, cookie: await signIn(world.url, to) };
    const { batch } = await untilBatch(world, moved, batchId, (seen) => seen.batch.ledger?.isComplete === true);
    assert.ok(BigInt(batch.ledger?.rentOutLamports ?? 0) > 0n);
    assert.equal(batch.ledger?.rentOutLamports, batch.ledger?.rentBackLamports);
    const { rotations } = requireOk(await listRotations(moved));
    assert.deepEqual(
      rotations.map((each: (typeof rotations)[number]) => [each.batchId, each.from, each.to, each.status]),
      [[batchId, project.wallet.address, to.address, 'EXECUTED']],
    );
    const audit = await world.db.selectFrom('audit_log').selectAll().where('batch_id', '=', batchId).execute();
    assert.ok(audit.some(({ action, actor }) => action === 'rotation.requested' && actor === project.wallet.address));
  });

  it('needs the new wallet’s signature, and a wallet that is not a member', async () => {
    const project = await createProject(world);
    const [to, other] = [await generateKeyPairSigner(), await generateKeyPairSigner()];
    assertError(await rotateWallet(world, project, to, other), 400, 'ERR_INVALID_REQUEST', /signature is not/);
    const elsewhere = await createProject(world);
    const forElsewhere = { ...project, projectId: elsewhere.projectId };
    assertError(await rotateWallet(world, forElsewhere, to), 404, 'ERR_PROJECT_NOT_FOUND');
    assertError(await rotateWallet(world, project, project.wallet), 409, 'ERR_ROTATION_REFUSED', /already/);
  });

  it('lets batches go on until both sides have approved it, rejects new ones from then, and ends what stays open', async () => {
    const project = await createProject(world);
    const to = await generateKeyPairSigner();
    const [first, abandoned] = [
      await setUpBatch(world, project, [burnPipeline()]),
      await setUpBatch(world, project, [burnPipeline()]),
    ];
    const { batchId } = await setUp(project, to);
    assertError(await rotateWallet(world, project, to), 409, 'ERR_ROTATION_REFUSED', new RegExp(batchId));
    const second = await setUpBatch(world, project, [burnPipeline()]);
    requireOk(await approve(world, project, batchId));
    requireOk(await approveForCompany(world, company, batchId));
    const rejected = await init(world.url, project.apiKey, [burnPipeline()]);
    assertError(rejected, 409, 'ERR_ROTATION_OPEN', new RegExp(batchId));
    const waits = await untilBatch(world, project, batchId, ({ failure }) => failure !== undefined);
    const { isFinal, message } = waits.failure ?? {};
    assert.equal(isFinal, false);
    assert.match(message ?? '', /held up: it waits for 3 open batches of the project, until 20\S+Z at the latest\. /);
    const { service } = await readDatabaseDiagnostics(world.db, { serve: null, work: null });
    assert.deepEqual(
      service?.waitingRotations.map((each) => [each.batchId, each.message.includes('waits for 3 open batches')]),
      [[batchId, true]],
    );
    assert.equal(rejected.headers.get('retry-after'), '5');
    const withdrawal = await withdraw(world, project, { asset: 'SOL', to: to.address, amount: '1' });
    assertError(withdrawal, 409, 'ERR_ROTATION_OPEN');
    assert.notEqual(requireOk(await getCurrent(world.url, project.apiKey))?.id, batchId);
    for (const batch of [first, second]) {
      assert.equal(requireOk(await executeSigned(world, project, batch)).status, 'EXECUTED');
    }
    // As if its ten minutes were over.
    const longAgo = new Date(Date.now() - 3_600_000);
    const ready = { signed_at: longAgo, company_decided_at: longAgo };
    await world.db.updateTable('batches').set(ready).where('id', '=', batchId).execute();
    await untilMoved(project, to.address);
    const ended = await world.db
      .selectFrom('batches')
      .selectAll()
      .where('id', '=', abandoned.id)
      .executeTakeFirstOrThrow();
    assert.equal(ended.status, 'FAILED');
    assert.match(ended.execute_result?.failedTxMsg ?? '', /Send it as a new batch/);
    await waitUntil(
      () => world.db.selectFrom('batches').select('id').where('closed_at', 'is', null).execute(),
      (open) => open.length === 0,
    );
  });

  it('leaves everything unchanged if it is cancelled', async () => {
    const project = await createProject(world);
    const { batchId } = await setUp(project, await generateKeyPairSigner());
    const cancel = `/console/api/projects/${project.projectId}/batches/${batchId}/cancel`;
    requireOk(await send(world.url, 'POST', cancel, { headers: { cookie: project.cookie }, body: {} }));
    const next = await setUpBatch(world, project, [burnPipeline()]);
    assert.equal(requireOk(await executeSigned(world, project, next)).status, 'EXECUTED');
    assert.deepEqual(await membersOf(project), await expectedMembers(project, {}));
  });

  it('returns the rent of a batch that ended before and that can no longer be voted on', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    await endUnclosed(batch.id);
    await closesAfterRotation(project, batch.id);
  });

  it('returns the rent of a rotation before it that was approved and can no longer be executed', async () => {
    const project = await createProject(world);
    const { batchId } = await setUp(project, await generateKeyPairSigner());
    const approver = await loadSigner(world.environment.COMPANY_SIGNER ?? '');
    const located = locateBatch(await findMultisig(world, project), 1n);
    await landSigned([proposalApprove(located, project.wallet.address)], project.wallet);
    await landSigned([proposalApprove(located, approver.address)], approver);
    await endUnclosed(batchId);
    await closesAfterRotation(project, batchId);
  });

  it('continues after the service was stopped in the middle of it', async () => {
    const project = await createProject(world);
    const to = await generateKeyPairSigner();
    const { batchId } = await setUp(project, to);
    requireOk(await approve(world, project, batchId));
    requireOk(await approveForCompany(world, company, batchId));
    await world.restart();
    await untilMoved(project, to.address);
    assert.deepEqual(await membersOf(project), await expectedMembers(project, { wallet: to.address }));
  });

  it('is taken from a chain that knows more than the database', async () => {
    const project = await createProject(world);
    const to = await generateKeyPairSigner();
    const { batchId } = await setUp(project, to);
    const multisig = await findMultisig(world, project);
    const approver = await loadSigner(world.environment.COMPANY_SIGNER ?? '');
    const located = locateBatch(multisig, 1n);
    await landSigned([proposalApprove(located, project.wallet.address)], project.wallet);
    await landSigned([proposalApprove(located, approver.address)], approver);
    await landSigned([configTransactionExecute(located)], world.operator);
    requireOk(await approve(world, project, batchId));
    requireOk(await approveForCompany(world, company, batchId));
    await untilMoved(project, to.address);
  });
});

describe('the rotation of the company’s approver', () => {
  it('replaces the approver project by project, while both sign for their own', async () => {
    const [moving, staying] = [await createProject(world), await createProject(world)];
    const old = (await findMultisig(world, moving)).company;
    const directory = await mkdtemp(join(tmpdir(), 'flywheel-rotate-'));
    const present = await createSignerFile(join(directory, 'company.json'));
    const previous = { COMPANY_SIGNER_PREVIOUS: world.environment.COMPANY_SIGNER ?? '' };
    await world.restart({ COMPANY_SIGNER: join(directory, 'company.json'), ...previous });
    await executesBatch(staying);

    assertError(await rotateCompany(world, moving, moving.cookie), 403, 'ERR_COMPANY_ONLY');
    const rotation = requireOk(await rotateCompany(world, moving, company.cookie));
    assert.deepEqual([rotation.from, rotation.to], [old, present]);
    await untilBatch(world, moving, rotation.batchId, ({ batch }) => batch.status === 'FINALIZED');
    await execute(moving, rotation.batchId);
    assert.deepEqual(await membersOf(moving), await expectedMembers(moving, { company: present }));
    assertError(await rotateCompany(world, moving, company.cookie), 409, 'ERR_ROTATION_REFUSED', /already/);

    await executesBatch(staying);
    await executesBatch(moving);
    await world.restart();
    await rm(directory, { recursive: true });
  });
});

/** Makes a batch FAILED that is not closed yet, as after a stop of the service at that moment. */
async function endUnclosed(batchId: string): Promise<void> {
  const ended = { status: 'FAILED', ended_at: new Date(), execute_result: '{}' } as const;
  await world.db.updateTable('batches').set(ended).where('id', '=', batchId).execute();
  const returned = { state: 'refreshing', batch_id: null } as const;
  await world.db.updateTable('nonces').set(returned).where('batch_id', '=', batchId).execute();
}

/** Replaces the wallet, and asserts that the accounts of an earlier batch are closed then, without a vote of either wallet. */
async function closesAfterRotation(project: TestProject, batchId: string): Promise<void> {
  const to = await generateKeyPairSigner();
  const rotation = await setUp(project, to);
  await execute(project, rotation.batchId);
  const cookie = await signIn(world.url, to);
  const path = `/console/api/projects/${project.projectId}/batches/${batchId}/cancel`;
  requireOk(await send(world.url, 'POST', path, { headers: { cookie }, body: {} }));
  const closed = () =>
    world.db.selectFrom('batches').select('closed_at').where('id', '=', batchId).executeTakeFirstOrThrow();
  await waitUntil(closed, ({ closed_at }) => closed_at !== null);
}

async function setUp(project: TestProject, to: KeyPairSigner) {
  const rotation = requireOk(await rotateWallet(world, project, to));
  await untilBatch(world, project, rotation.batchId, ({ batch }) => batch.status === 'FINALIZED');
  return rotation;
}

async function execute(project: TestProject, batchId: string): Promise<void> {
  requireOk(await approve(world, project, batchId));
  requireOk(await approveForCompany(world, company, batchId));
  const status = async () => {
    const row = world.db
      .selectFrom('batches')
      .select(['status', 'execute_result', 'execution_error'])
      .where('id', '=', batchId);
    return row.executeTakeFirstOrThrow();
  };
  const ended = await waitUntil(
    status,
    ({ status, execution_error }) => status !== 'FINALIZED' || execution_error !== null,
  );
  assert.equal(ended.status, 'EXECUTED', JSON.stringify(ended));
}

function waitUntil<Seen>(read: () => Promise<Seen>, isWanted: (seen: Seen) => boolean): Promise<Seen> {
  return untilSeen('what the database says', read, isWanted);
}

async function untilMoved({ projectId }: TestProject, wallet: Address): Promise<void> {
  const read = () =>
    world.db
      .selectFrom('projects')
      .innerJoin('flywheels', 'flywheels.project_id', 'projects.id')
      .select(['projects.wallet', 'flywheels.wallet as member'])
      .where('projects.id', '=', projectId)
      .executeTakeFirstOrThrow();
  await waitUntil(read, (seen) => seen.wallet === wallet && seen.member === wallet);
}

async function executesBatch(project: TestProject): Promise<void> {
  const batch = await setUpBatch(world, project, [burnPipeline()]);
  assert.equal(requireOk(await executeSigned(world, project, batch)).status, 'EXECUTED');
}

async function membersOf(project: TestProject): Promise<string[]> {
  const account = await fetchEncodedAccount(world.rpc, (await findMultisig(world, project)).address);
  assert.ok(account.exists);
  return decodeMultisig(account)
    .members.map(({ key, permissions }) => `${key} ${permissions.mask}`)
    .toSorted();
}

async function expectedMembers(
  project: TestProject,
  changed: { readonly wallet?: Address; readonly company?: Address },
) {
  const { operator, company, wallet } = await findMultisig(world, project);
  assert.equal(wallet, changed.wallet ?? project.wallet.address);
  if (changed.company !== undefined) assert.equal(company, changed.company);
  return [`${operator} 5`, `${company} 2`, `${wallet} 2`].toSorted();
}

function readProject(cookie: string, { projectId }: TestProject) {
  return send(world.url, 'GET', `/console/api/projects/${projectId}`, { headers: { cookie } });
}

function listRotations({ projectId, cookie }: Pick<TestProject, 'projectId' | 'cookie'>) {
  return send(world.url, 'GET', `/console/api/projects/${projectId}/rotations`, { headers: { cookie } });
}

/** Lands instructions that the operator pays and another signer signs. */
function landSigned(instructions: Parameters<typeof land>[2], signer: TransactionSigner): Promise<void> {
  const signed = instructions.map((instruction) => addSignersToInstruction([signer], instruction));
  return land(world, world.operator, signed);
}
