import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeMultisig, PERMISSION } from '@flywheel/squads';
import { assertError, executeSigned, openBatch, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig, land, readBatchOnChain } from '@flywheel/testing/chain';
import { burnPipeline, execute, init } from '@flywheel/testing/client';
import { approveForCompany, type Decider } from '@flywheel/testing/decisions';
import { countOpenJobs, makeDue } from '@flywheel/testing/jobs';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { randomAddress, randomNonce } from '@flywheel/testing/records';
import { finalizeSlots } from '@flywheel/testing/slots';
import { approve, rotateOperator, waitForWithdrawal } from '@flywheel/testing/treasury';
import { openConsoleWorld, type World } from '@flywheel/testing/world';
import {
  type Address,
  addSignersToInstruction,
  type Base64EncodedWireTransaction,
  fetchEncodedAccount,
  fetchEncodedAccounts,
  type Instruction,
  type TransactionSigner,
} from '@solana/kit';
import { MAX_COMPUTE_UNIT_LIMIT } from '@solana-program/compute-budget';
import { sql } from 'kysely';
import { withAdmin } from '../../src/admin.ts';
import { createSignerFile, loadSigner } from '../../src/solana/signer.ts';
import { batchExecutionGroup } from '../../src/squads/groups.ts';
import {
  batchCreate,
  locateBatch,
  proposalActivate,
  proposalApprove,
  proposalCreate,
} from '../../src/squads/instructions.ts';
import { findBatch } from '../../src/store/batches/batches.ts';

type SetUpBatch = Awaited<ReturnType<typeof setUpBatch>>;

const CLIENTS = 2;
/** Batches that the clients execute before the change, and after it. */
const BATCHES = 4;
const PAUSE_MS = 100;
const nonceOfAnother = {
  address: randomAddress(),
  seed: 'of another operator',
  value: randomNonce(),
  state: 'available',
  batch_id: null,
  authority: null,
} as const;
const OPERATOR_LAMPORTS = 100_000_000_000n;

describe('the rotation of the operator', () => {
  let world: World;
  let decider: Decider;
  let directory: string;
  let next: { readonly address: Address; readonly path: string };
  let withRecovery: { readonly project: TestProject; readonly recovery: { readonly path: string } } | undefined;
  before(async () => {
    ({ world, company: decider } = await openConsoleWorld({ NONCE_POOL_SIZE: '12' }));
    directory = await mkdtemp(join(tmpdir(), 'flywheel-operator-'));
    const path = join(directory, 'operator.json');
    next = { address: await createSignerFile(path), path };
    await world.localnet.bank.airdrop(next.address, OPERATOR_LAMPORTS);
  });
  after(async () => {
    await world.stop();
    await rm(directory, { recursive: true });
  });

  it('replaces it under load: no batch is lost, and afterwards nothing needs the old key', async () => {
    const [moving, staying] = [await createProject(world), await createProject(world)];
    const old = world.operator.address;
    assertError(
      await rotateOperator(world, moving, decider.cookie),
      409,
      'ERR_ROTATION_REFUSED',
      /operator .* already/,
    );
    const both = { OPERATOR_SIGNER: next.path, OPERATOR_SIGNER_PREVIOUS: world.environment.OPERATOR_SIGNER ?? '' };
    // As an earlier release left them.
    await world.db.updateTable('nonces').set({ authority: null }).execute();
    await world.db.insertInto('nonces').values(nonceOfAnother).execute();
    await world.restart(both);
    const nonces = await waitUntil('the nonce of another operator to leave', findAddresses, (found) => {
      return !found.has(nonceOfAnother.address);
    });
    assertError(await rotateOperator(world, moving, moving.cookie), 403, 'ERR_COMPANY_ONLY');

    const load = startLoad(moving);
    await load.untilExecuted(BATCHES);
    const rotation = requireOk(await rotateOperator(world, moving, decider.cookie));
    assert.deepEqual([rotation.approver, rotation.from, rotation.to], ['operator', old, next.address]);
    await finishRotation(moving, rotation.batchId);
    await load.untilExecuted(BATCHES);
    await load.stop();
    await assertOperator(moving, next.address);
    await assertOperator(staying, old);
    await executesBatch(staying);

    const last = requireOk(await rotateOperator(world, staying, decider.cookie));
    await finishRotation(staying, last.batchId);
    await untilClosed();
    await waitUntil('all nonces to be moved', readAuthorities, (found) => found.join() === next.address);
    await assertNoneLost(nonces);

    await world.restart({ OPERATOR_SIGNER: next.path });
    const before = await lamportsOf(old);
    for (const project of [moving, staying, await createProject(world)]) await executesBatch(project);
    await untilClosed();
    assert.equal(await lamportsOf(old), before);
  });

  it('works without the old key where a recovery key was registered, and loses no rent of a batch', async () => {
    const [recovery, third] = [await createFundedSigner('recovery'), await createFundedSigner('third')];
    const lost = next.address;
    await world.restart({ OPERATOR_SIGNER: next.path, RECOVERY_ADDRESS: recovery.address });
    const project = await createProject(world);
    withRecovery = { project, recovery };
    const [approved, active] = [
      await setUpBatch(world, project, [burnPipeline()]),
      await setUpBatch(world, project, [burnPipeline()]),
    ];
    await approveOnChain(project, approved);
    await finalizeSlots(world);
    // From here on no process has the lost key.
    await world.restart({ OPERATOR_SIGNER: third.path });
    const unset = await openBatch(world, project, [burnPipeline()]);
    const environment = { ...world.environment, OPERATOR_SIGNER: third.path };
    const recover = () => withAdmin(environment, ({ recoverOperator }) => recoverOperator(lost));
    const recovered = await recover();
    assert.ok(recovered.recovered.includes(project.projectId) && recovered.locked.length > 0);
    assert.deepEqual((await recover()).recovered, []);
    const lostLamports = await lamportsOf(lost);

    await putOff(approved.id);
    await world.restart({ OPERATOR_SIGNER: third.path, OPERATOR_SIGNER_PREVIOUS: recovery.path });
    // The last look at a setup of the lost operator, before its execution begins.
    await makeDue(world, 'setup', approved.id);
    await waitUntil(
      'the look at a setup',
      () => countOpenJobs(world, 'setup', approved.id),
      (count) => count === 0,
    );
    await makeDue(world, 'execute', approved.id);
    await untilEnded([approved.id, active.id, unset.id], ['EXECUTED', 'FAILED', 'FAILED']);
    await executesBatch(project);
    const rotation = requireOk(await rotateOperator(world, project, decider.cookie));
    assert.deepEqual([rotation.from, rotation.to], [lost, third.address]);
    await finishRotation(project, rotation.batchId);
    await assertOperator(project, third.address, recovery.address);
    await executesBatch(project);
    await waitUntil('every batch to be closed', findUnclosed, (open) => open.length === 0);
    assert.equal(await lamportsOf(lost), lostLamports);
    const isOfThird = async () => (await readAuthorities()).filter((authority) => authority !== third.address);
    await waitUntil('the recovery key’s nonces to be moved', isOfThird, (others) => others.length === 0);
  });

  it('leaves a recovery key without a vote: it uses up indices, and executes nothing that is not approved', async () => {
    assert.ok(withRecovery, 'The project of the test before is missing.');
    const { project, recovery } = withRecovery;
    const multisig = await findMultisig(world, project);
    const thief = await loadSigner(recovery.path);
    const byThief = { ...multisig, operator: thief.address };
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    const located = locateBatch(byThief, batch.batchIndex);
    // Squads, `Unauthorized` and `InvalidProposalStatus`.
    await rejects(land(world, thief, [proposalApprove(located, thief.address)]), '#6004');
    const stored = await findBatch(world.db, batch.id);
    assert.ok(stored);
    const { instructions } = batchExecutionGroup(byThief, stored, 0, MAX_COMPUTE_UNIT_LIMIT);
    await rejects(landBy(thief, instructions), '#6008');
    const { proposal } = await readBatchOnChain(world, project, batch.batchIndex);
    assert.deepEqual([proposal.status, proposal.approved], ['Active', []]);

    const next = locateBatch(byThief, batch.batchIndex + 1n);
    await landBy(thief, [batchCreate(next), proposalCreate(next), proposalActivate(next)]);
    const delayed = await openBatch(world, project, [burnPipeline()]);
    await untilEnded([delayed.id], ['FAILED']);
    requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    await executesBatch(project);
  });

  function landBy(signer: TransactionSigner, instructions: readonly Instruction[]): Promise<void> {
    const signed = instructions.map((instruction) => addSignersToInstruction([signer], instruction));
    return land(world, signer, signed);
  }

  function rejects(landing: Promise<void>, code: string): Promise<void> {
    return assert.rejects(landing, ({ cause }: Error) => String(cause).includes(code));
  }

  async function createFundedSigner(name: string) {
    const path = join(directory, `${name}.json`);
    const address = await createSignerFile(path);
    await world.localnet.bank.airdrop(address, OPERATOR_LAMPORTS);
    return { address, path };
  }

  /** Casts both votes on chain, and stores the request, as if the service had been stopped before the first execution. */
  async function approveOnChain(project: TestProject, { id, batchIndex, signedTx }: SetUpBatch): Promise<void> {
    const multisig = await findMultisig(world, project);
    const located = locateBatch(multisig, batchIndex);
    for (const voter of [project.wallet, await loadSigner(world.environment.COMPANY_SIGNER ?? '')]) {
      const vote = addSignersToInstruction([voter], proposalApprove(located, voter.address));
      await land(world, world.operator, [vote]);
    }
    await world.db
      .updateTable('batches')
      .set({ signed_tx: signedTx as Base64EncodedWireTransaction, signed_at: new Date() })
      .where('id', '=', id)
      .execute();
  }

  /**
   * Lets clients create and execute batches one after another, so that some batch is always open, until they are stopped.
   * Only a rotation that both sides have approved may refuse a batch, and none may fail.
   */
  function startLoad(project: TestProject) {
    let [executed, isOver] = [0, false];
    const runOne = async () => {
      const answer = await init(world.url, project.apiKey, [burnPipeline()]);
      if (answer.status !== 200) {
        assertError(answer, 409, 'ERR_ROTATION_OPEN');
        return sleep(PAUSE_MS);
      }
      const { batch, proposalApproveTx } = requireOk(answer);
      const signedTx = await signWith(project.wallet, proposalApproveTx);
      const { status } = requireOk(await execute(world.url, project.apiKey, batch.id, signedTx, { prefer: 'wait=60' }));
      assert.equal(status, 'EXECUTED');
      executed += 1;
    };
    const runClient = async () => {
      while (!isOver) await runOne();
    };
    const clients = Promise.all(Array.from({ length: CLIENTS }, runClient));
    return {
      untilExecuted: async (more: number) => {
        const wanted = executed + more;
        const seen = waitUntil(
          'batches of the clients',
          async () => executed,
          (count) => count >= wanted,
        );
        await Promise.race([seen, clients]);
      },
      stop: async () => {
        isOver = true;
        await clients;
      },
    };
  }

  /** Has both sides approve a rotation, and waits until it is executed, closed and paid for. */
  async function finishRotation(project: TestProject, batchId: string): Promise<void> {
    await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
    requireOk(await approve(world, project, batchId));
    requireOk(await approveForCompany(world, decider, batchId));
    const { batch } = await waitForWithdrawal(
      world,
      project,
      batchId,
      (seen) => seen.batch.status === 'FAILED' || seen.batch.ledger?.isComplete === true,
    );
    assert.equal(batch.status, 'EXECUTED');
    assert.ok(BigInt(batch.ledger?.rentOutLamports ?? 0) > 0n);
    assert.equal(batch.ledger?.rentOutLamports, batch.ledger?.rentBackLamports);
  }

  /** The operator of the database is the one on chain, which collects the rent; there is no other member beside the voters. */
  async function assertOperator(project: TestProject, operator: Address, ...recovery: Address[]): Promise<void> {
    const { address, company, wallet, ...stored } = await findMultisig(world, project);
    assert.equal(stored.operator, operator);
    const account = await fetchEncodedAccount(world.rpc, address);
    assert.ok(account.exists);
    const { members, rentCollector } = decodeMultisig(account);
    assert.equal(rentCollector, operator);
    assert.deepEqual(
      members.map(({ key, permissions }) => `${key} ${permissions.mask}`).toSorted(),
      [
        ...[operator, ...recovery].map((key) => `${key} ${PERMISSION.initiate | PERMISSION.execute}`),
        `${company} ${PERMISSION.vote}`,
        `${wallet} ${PERMISSION.vote}`,
      ].toSorted(),
    );
  }

  async function executesBatch(project: TestProject): Promise<void> {
    const batch = await openBatch(world, project, [burnPipeline()]);
    const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    assert.equal(status, 'EXECUTED');
  }

  /** Puts off all jobs of a batch, which no worker can do at present. */
  async function putOff(batchId: string): Promise<void> {
    const isOfBatch = sql`data->>'batchId' = ${batchId}`;
    const tryOnce = async () => {
      await sql`
        update jobs.job set start_after = now() + interval '1 day' where ${isOfBatch} and state in ('created', 'retry')
      `.execute(world.db);
      return (await sql`select from jobs.job where ${isOfBatch} and state = 'active'`.execute(world.db)).rows.length;
    };
    await waitUntil('no job under way', tryOnce, (count) => count === 0);
  }

  async function untilEnded(ids: readonly string[], expected: readonly string[]): Promise<void> {
    const read = async () => {
      const rows = await world.db
        .selectFrom('batches')
        .select(['id', 'status', 'execution_error'])
        .where('id', 'in', ids)
        .execute();
      return ids.map((id) => rows.find((row) => row.id === id)?.status);
    };
    await waitUntil(`batches to be ${expected.join(', ')}`, read, (seen) => seen.join() === expected.join());
  }

  function findUnclosed() {
    return world.db.selectFrom('batches').select(['id', 'status']).where('closed_at', 'is', null).execute();
  }

  /** Waits until every batch, whoever began it, is executed and its accounts are closed. */
  async function untilClosed(): Promise<void> {
    await waitUntil('every batch to be closed', findUnclosed, (open) => open.length === 0);
    const failed = await world.db.selectFrom('batches').select('id').where('status', '!=', 'EXECUTED').execute();
    assert.deepEqual(failed, []);
  }

  async function readAuthorities(): Promise<(Address | null)[]> {
    const rows = await world.db.selectFrom('nonces').select('authority').distinct().execute();
    return rows.map(({ authority }) => authority);
  }

  /** A nonce is in the pool, or the pool had too many after the rotation and has closed its account. */
  async function assertNoneLost(nonces: ReadonlySet<Address>): Promise<void> {
    const gone = nonces.difference(await findAddresses());
    const accounts = await fetchEncodedAccounts(world.rpc, [...gone]);
    assert.deepEqual(
      accounts.filter(({ exists }) => exists),
      [],
    );
  }

  async function findAddresses(): Promise<Set<Address>> {
    const rows = await world.db.selectFrom('nonces').select('address').execute();
    return new Set(rows.map(({ address }) => address));
  }

  async function lamportsOf(address: Address): Promise<bigint> {
    return (await world.rpc.getBalance(address).send()).value;
  }
});
