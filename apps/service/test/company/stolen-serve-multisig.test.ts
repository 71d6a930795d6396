import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  decodeProgramConfig,
  getMultisigCreateV2Instruction,
  multisigAddress,
  PERMISSION,
  programConfigAddress,
  vaultAddress,
} from '@flywheel/squads';
import { waitUntil } from '@flywheel/testing/batches';
import { findMultisig, land, readBatchOnChain } from '@flywheel/testing/chain';
import { startTestJobs } from '@flywheel/testing/jobs';
import { TEST_ROLES } from '@flywheel/testing/postgres';
import { createProject, requireOk } from '@flywheel/testing/project';
import { NO_EXPOSURE } from '@flywheel/testing/records';
import { approve as approveByWallet, setUpWithdrawal } from '@flywheel/testing/treasury';
import { openConsoleWorld, type World } from '@flywheel/testing/world';
import {
  type Address,
  addSignersToInstruction,
  fetchEncodedAccount,
  generateKeyPairSigner,
  type KeyPairSigner,
  type Nonce,
} from '@solana/kit';
import {
  findAddressLookupTablePda,
  getCreateLookupTableInstruction,
  getExtendLookupTableInstruction,
  getFreezeLookupTableInstruction,
} from '@solana-program/address-lookup-table';
import { sql } from 'kysely';
import { compilePipelines } from '../../src/compile/compile-pipeline.ts';
import type { Batch } from '../../src/model/batch.ts';
import type { Multisig, NewProject, Project } from '../../src/model/project.ts';
import { createSignerFile } from '../../src/solana/signer.ts';
import {
  batchAddTransaction,
  batchCreate,
  locateBatch,
  proposalActivate,
  proposalApprove,
  proposalCreate,
} from '../../src/squads/instructions.ts';
import { insertBatch } from '../../src/store/batches/new-batches.ts';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { findProject, insertProject } from '../../src/store/projects/projects.ts';
import { takeOnRole } from '../../src/store/roles.ts';

describe('a thief of serve who stores a project with a multisig of his own', () => {
  let world: World;
  let serve: Db;
  before(async () => {
    ({ world } = await openConsoleWorld({ LOG_LEVEL: 'silent' }));
    serve = openDb(takeOnRole({ connectionString: world.databaseUrl }, TEST_ROLES.DATABASE_SERVE_ROLE), {
      error: () => undefined,
    });
  });
  after(async () => {
    await closeDb(serve);
    await world.stop();
  });

  it('does not get the company’s vote for a withdrawal that no operator has approved', async () => {
    // A regular project of an accomplice. Its withdrawal waits for an operator; the wallet has voted on chain.
    const victim = await createProject(world, { approvalMode: 'manual' });
    const { address: to } = await generateKeyPairSigner();
    const withdrawalId = await setUpWithdrawal(world, victim, { asset: 'SOL', to, amount: '1' });
    requireOk(await approveByWallet(world, victim, withdrawalId));
    const target = locateBatch(await findMultisig(world, victim), 1n);
    await land(world, victim.wallet, [
      addSignersToInstruction([victim.wallet], proposalApprove(target, victim.wallet.address)),
    ]);

    const whole = await findProject(world.db, victim.projectId);
    assert.ok(whole !== null && typeof whole !== 'string');
    const thief = await generateKeyPairSigner();
    await world.localnet.bank.airdrop(thief.address, 10_000_000_000n);
    const proposer = await generateKeyPairSigner();
    await world.localnet.bank.airdrop(proposer.address, 1_000_000_000n);
    const own = await createOwn(thief, proposer.address, whole.flywheel.multisig);
    const decoy = locateBatch({ ...own, operator: proposer.address }, 1n);
    // On chain the table lists the victim's multisig and proposal; in the row it lists the thief's.
    const table = await createTable(thief, [target.multisig.address, target.proposal]);
    const multisig: Multisig = {
      ...own,
      lookupTable: { address: table, addresses: [own.address, decoy.proposal] },
    };
    const project = projectOf(whole, thief, multisig);
    const pipelines = await compilePipelines(
      [{ type: 'X', payload: '{"a":1}', actions: [{ action: 'MEMO', message: 'hello' }] }],
      project,
    );
    const signed = (instructions: Parameters<typeof addSignersToInstruction>[1][]) =>
      instructions.map((instruction) => addSignersToInstruction([thief, proposer], instruction));
    const [pipeline] = pipelines;
    assert.ok(pipeline);
    await land(
      world,
      thief,
      signed([batchCreate(decoy), proposalCreate(decoy), batchAddTransaction(decoy, 0, pipeline.vaultMessage)]),
    );
    await land(world, thief, signed([proposalActivate(decoy), proposalApprove(decoy, thief.address)]));

    const batch = await batchOf(project, pipelines, 'FINALIZED');
    await writeRows(project, batch);
    await sql`update batches set signed_tx = 'AA==', signed_at = now() where id = ${batch.id}`.execute(serve);
    await enqueue(batch, own.address, 'execute');
    const job = async () => {
      const { rows } = await sql<{ state: string; output: unknown }>`
        select state, output from jobs.job where data->>'batchId' = ${batch.id} and data->>'type' = 'execute'
      `.execute(world.db);
      const { rows: seen } = await sql<object>`
        select status, company_asked_at, execution_error, execute_result from batches where id = ${batch.id}
      `.execute(world.db);
      return { rows, seen, votes: (await readBatchOnChain(world, victim, 1n)).proposal.approved };
    };
    const end = await waitUntil(
      'the job',
      job,
      ({ rows, votes }) =>
        votes.length === 2 || (rows[0] !== undefined && !['created', 'active'].includes(rows[0].state)),
      { timeoutMs: 60_000 },
    );
    assert.deepEqual(end.votes, [victim.wallet.address], JSON.stringify(end));
  });

  it('does not have the operator pay rent that the thief receives', async () => {
    const { address } = await generateKeyPairSigner();
    await assertUnpaid(address);
  });

  it('does not have it pay rent to the key that it replaces, which the thief may have too', async (test) => {
    const directory = await mkdtemp(join(tmpdir(), 'flywheel-operator-'));
    test.after(() => rm(directory, { recursive: true }));
    const path = join(directory, 'operator.json');
    await world.localnet.bank.airdrop(await createSignerFile(path), 10_000_000_000n);
    const replaced = world.operator.address;
    await world.restart({
      OPERATOR_SIGNER: path,
      OPERATOR_SIGNER_PREVIOUS: world.environment.OPERATOR_SIGNER ?? '',
    });
    await assertUnpaid(replaced);
  });

  /** Stores a project whose multisig pays rent to an address, and asserts that no setup of its batch is paid for. */
  async function assertUnpaid(rentCollector: Address): Promise<void> {
    const thief = await generateKeyPairSigner();
    await world.localnet.bank.airdrop(thief.address, 10_000_000_000n);
    const regular = await createProject(world);
    const whole = await findProject(world.db, regular.projectId);
    assert.ok(whole !== null && typeof whole !== 'string');
    const own = await createOwn(thief, null, { ...whole.flywheel.multisig, rentCollector });
    const addresses = [own.address];
    const table = await createTable(thief, addresses);
    await land(world, thief, [getFreezeLookupTableInstruction({ address: table, authority: thief })]);
    const project = projectOf(whole, thief, { ...own, lookupTable: { address: table, addresses } });
    const pipelines = await compilePipelines(
      [{ type: 'X', payload: '{"a":1}', actions: [{ action: 'MEMO', message: 'hello' }] }],
      project,
    );
    const batch = await batchOf(project, pipelines, 'AVAILABLE_TO_QUEUE');
    await writeRows(project, batch);
    const located = locateBatch(own, 1n);
    await enqueue(batch, own.address, 'setup');
    const job = async () => {
      const { rows } = await sql<{ state: string }>`
        select state from jobs.job where data->>'batchId' = ${batch.id} and data->>'type' = 'setup'
      `.execute(world.db);
      return rows;
    };
    await waitUntil('the job', job, ([row]) => row !== undefined && !['created', 'active'].includes(row.state));
    const created = await fetchEncodedAccount(world.rpc, located.address);
    assert.equal(created.exists, false, `the operator has paid for ${located.address}`);
  }

  function projectOf(whole: Project, thief: KeyPairSigner, multisig: Multisig): NewProject & Project {
    return {
      ...whole,
      id: randomUUID(),
      wallet: thief.address,
      approvalMode: 'automatic',
      proofTypes: new Map(),
      token: { ...whole.token, id: randomUUID() },
      flywheel: { id: randomUUID(), multisig },
    };
  }

  async function batchOf(project: Project, pipelines: Batch['pipelines'], status: Batch['status']): Promise<Batch> {
    const now = new Date();
    return {
      id: randomUUID(),
      projectId: project.id,
      flywheelId: project.flywheel.id,
      tokenId: project.token.id,
      kind: 'pipelines',
      status,
      batchIndex: 1n,
      pipelines,
      pipelineCount: pipelines.length,
      nonce: { address: (await generateKeyPairSigner()).address, value: project.wallet as string as Nonce },
      signedTx: null,
      initResult: null,
      executeResult: null,
      executionError: null,
      awaitsCompany: false,
      createdAt: now,
      updatedAt: now,
      endedAt: null,
      endCause: null,
    };
  }

  /** Writes a project with a batch, with the rights of serve. */
  async function writeRows(project: NewProject, batch: Batch): Promise<void> {
    await insertProject(serve, project, batch.createdAt);
    const origin = { idempotencyKey: randomUUID(), requestHash: new Uint8Array(32), keyId: null };
    const totals = { burnBaseUnits: 0n, airdropBaseUnits: 0n };
    const day = batch.createdAt.toISOString().slice(0, 10);
    await insertBatch(serve, batch, origin, { day, totals, exposure: NO_EXPOSURE, counted: null }, []);
  }

  async function enqueue({ id: batchId }: Batch, multisig: Address, type: 'setup' | 'execute'): Promise<void> {
    const jobs = await startTestJobs({
      poolConfig: takeOnRole({ connectionString: world.databaseUrl }, TEST_ROLES.DATABASE_SERVE_ROLE),
    });
    await jobs.enqueue(serve, { type, batchId, multisig });
    await jobs.stop();
  }

  async function createOwn(
    thief: KeyPairSigner,
    proposer: Address | null,
    { operator, company, rentCollector }: Multisig,
  ) {
    const createKey = await generateKeyPairSigner();
    const programConfig = programConfigAddress();
    const config = await fetchEncodedAccount(world.rpc, programConfig);
    assert.ok(config.exists);
    const address = multisigAddress(createKey.address);
    const create = getMultisigCreateV2Instruction({
      programConfig,
      treasury: decodeProgramConfig(config).treasury,
      multisig: address,
      createKey: createKey.address,
      creator: thief.address,
      configAuthority: null,
      threshold: 2,
      members: [
        { key: operator, permissions: { mask: PERMISSION.initiate | PERMISSION.execute } },
        { key: company, permissions: { mask: PERMISSION.vote } },
        { key: thief.address, permissions: { mask: PERMISSION.vote } },
        ...(proposer === null
          ? []
          : [{ key: proposer, permissions: { mask: PERMISSION.initiate | PERMISSION.execute } }]),
      ],
      timeLock: 0,
      rentCollector,
      memo: null,
    });
    await land(world, thief, [addSignersToInstruction([thief, createKey], create)]);
    const vault = vaultAddress(address, 0);
    await world.localnet.bank.airdrop(vault, 1_000_000_000n);
    return {
      address,
      vault,
      vaultIndex: 0,
      operator,
      rentCollector: operator,
      recovery: null,
      company,
      wallet: thief.address,
    };
  }

  async function createTable(thief: KeyPairSigner, addresses: Address[]): Promise<Address> {
    const recentSlot = await world.rpc.getSlot({ commitment: 'finalized' }).send();
    const table = await findAddressLookupTablePda({ authority: thief.address, recentSlot });
    await land(world, thief, [
      getCreateLookupTableInstruction({ address: table, authority: thief.address, payer: thief, recentSlot }),
      getExtendLookupTableInstruction({ address: table[0], authority: thief, payer: thief, addresses }),
    ]);
    return table[0];
  }
});
