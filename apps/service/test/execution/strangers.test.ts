import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { InstructionGroup } from '@flywheel/squads';
import {
  assertError,
  executeSigned,
  openBatch,
  rewindBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { cancel } from '@flywheel/testing/cancel';
import { findMultisig, land, readBatchOnChain, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, send } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { makeDue } from '@flywheel/testing/jobs';
import { createProject, requireOk } from '@flywheel/testing/project';
import { REAL_FINALITY } from '@flywheel/testing/slots';
import { openStranger } from '@flywheel/testing/stranger';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  address,
  addSignersToInstruction,
  generateKeyPairSigner,
  type Instruction,
  lamports,
  type TransactionSigner,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { sql } from 'kysely';
import { OPERATOR_RESERVE_LAMPORTS } from '../../src/batches/jobs/setup.ts';
import { loadSigner } from '../../src/solana/signer.ts';
import { closeGroups, setupGroups } from '../../src/squads/groups.ts';
import { locateBatch, proposalReject } from '../../src/squads/instructions.ts';
import { accountSizes } from '../../src/squads/rent.ts';
import { findBatch } from '../../src/store/batches/batches.ts';
import { findJobs } from '../../src/store/jobs/job-records.ts';

describe('a batch that others act on', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.stop());

  it('is EXECUTED with its true result after a stranger has closed its accounts', async () => {
    const project = await createProject(world);
    const multisig = await findMultisig(world, project);
    const stranger = await generateKeyPairSigner();
    await world.localnet.bank.airdrop(stranger.address, 1_000_000_000n);
    const batch = await setUpBatch(world, project, [burnPipeline(5)]);
    const supply = await tokenSupply(world, project.mint);
    const closing = closeWhenExecuted();
    const { status, result } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    await closing;
    assert.deepEqual([status, result.totalSuccessful, result.totalFailed], ['EXECUTED', 1, 0]);
    assert.equal(await tokenSupply(world, project.mint), supply - 5_000_000n);
    const next = await openBatch(world, project, [burnPipeline(1)]);
    assert.equal(requireOk(await executeSigned(world, project, next)).status, 'EXECUTED');

    async function closeWhenExecuted(): Promise<void> {
      const groups = closeGroups(multisig, { batchIndex: batch.batchIndex, pipelines: [] }, 1);
      for (;;) {
        const { proposal } = await readBatchOnChain(world, project, batch.batchIndex).catch(() => ({ proposal: null }));
        if (proposal === null) return;
        if (proposal.status === 'Executed') break;
      }
      // The service may close first; then nothing is left for the stranger.
      await land(world, stranger, flat(groups)).catch(() => undefined);
    }
  });

  it('ends unexecuted after the wallet rejects it on chain and a stranger closes it', async () => {
    const project = await createProject(world, { burnLimit: '1' });
    const multisig = await findMultisig(world, project);
    const stranger = await generateKeyPairSigner();
    await world.localnet.bank.airdrop(stranger.address, 1_000_000_000n);
    const batch = await setUpBatch(world, project, [burnPipeline(1)]);
    const located = locateBatch(multisig, batch.batchIndex);
    await land(world, project.wallet, [proposalReject(located, project.wallet.address)]);
    const groups = closeGroups(multisig, { batchIndex: batch.batchIndex, pipelines: [] }, 1);
    await land(world, stranger, flat(groups));
    const { status, body } = await executeSigned(world, project, batch, { prefer: 'wait=60' });
    assert.deepEqual([status, body.error], [409, 'ERR_BATCH_NOT_EXECUTABLE'], JSON.stringify(body));
    const again = await openBatch(world, project, [burnPipeline(1)]);
    assert.equal(requireOk(await executeSigned(world, project, again)).status, 'EXECUTED');
  });

  it('is EXECUTED if a restored database finds it executed and closed on chain', async () => {
    const project = await createProject(world, { burnLimit: '3' });
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    requireOk(await executeSigned(world, project, batch));
    await waitUntil(
      'the closing',
      () => closedAt(batch.id),
      (at) => at !== null,
    );
    await rewindBatch(world, batch.id);
    await executeSigned(world, project, batch, { prefer: 'wait=30' });
    const { executeResult } = await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
    assert.equal(executeResult?.totalSuccessful, 2);
  });

  async function closedAt(id: string): Promise<Date | null> {
    const row = await world.db.selectFrom('batches').select('closed_at').where('id', '=', id).executeTakeFirstOrThrow();
    return row.closed_at;
  }
});

interface Attack {
  readonly closes: number;
  /** False if the database has lost what was sent, so that only the chain's history is left. */
  readonly isRecorded: boolean;
  /** True if the stranger's vault calls the closing instructions. */
  readonly isCalled?: boolean;
}

describe(
  'a stranger who forges the history of an executed batch and closes its accounts before the worker reads it',
  WITH_BUNDLES,
  () => {
    let world: GatedWorld;
    before(async () => {
      world = await openGatedWorld({}, REAL_FINALITY);
    });
    after(() => world.stop());

    // Two accounts of vault messages, then the batch with its proposal.
    for (const closes of [0, 1, 2, 3]) {
      it(`cannot change its result after ${closes} of 3 closing instructions`, () =>
        attack({ closes, isRecorded: true }));
    }
    it('cannot change its result where only the history is left to read', () =>
      attack({ closes: 3, isRecorded: false }));
    it('cannot change its result where the history has the closing as calls of another program', (test) => {
      // Squads is that program: a vault message may call it. The emulation refuses such a message.
      if (world.localnet.program === 'emulation') return test.skip('only the real Squads program calls itself');
      return attack({ closes: 3, isRecorded: false, isCalled: true });
    });

    async function attack({ closes, isRecorded, isCalled = false }: Attack): Promise<void> {
      const project = await createProject(world);
      const multisig = await findMultisig(world, project);
      const { signer, forge, call } = await openStranger(world);
      const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
      const supply = await tokenSupply(world, project.mint);
      const held = world.gate.hold('getSignatureStatuses');
      const executing = executeSigned(world, project, batch, { prefer: 'wait=60' });
      await held.reached;
      await waitUntil(
        'the execution',
        () => readBatchOnChain(world, project, batch.batchIndex, 'confirmed'),
        ({ proposal }) => proposal.status === 'Executed',
      );
      const { address, proposal } = locateBatch(multisig, batch.batchIndex);
      await forge([address, proposal]);
      const closing = closeGroups(multisig, { batchIndex: batch.batchIndex, pipelines: [] }, 2);
      if (isCalled) await call(flat(closing));
      else for (const instruction of flat(closing).slice(0, closes)) await land(world, signer, [instruction]);
      await forge([address, proposal]);
      if (!isRecorded) await world.db.deleteFrom('bundles').where('batch_id', '=', batch.id).execute();
      held.release();
      const { status, result } = requireOk(await executing);
      world.gate.clear();
      const { total, totalSuccessful, totalFailed } = result;
      assert.deepEqual([status, total, totalSuccessful, totalFailed], ['EXECUTED', 2, 2, 0]);
      assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
    }
  },
);

describe('an operator without funds', () => {
  for (const engine of [true, false]) {
    it(`pauses setup until it is funded, and execute and preview answer 503, ${engine ? 'with' : 'without'} a block engine`, async () => {
      const world = await openWorld(engine ? {} : { JITO_BLOCK_ENGINE_URL: '' });
      try {
        const project = await createProject(world);
        const operator = await loadSigner(world.environment.OPERATOR_SIGNER ?? '');
        const checked = await setUpBatch(world, project, [burnPipeline(1)]);
        await waitUntil(
          'an empty operator',
          () => spendAll(world, operator),
          (isEmpty) => isEmpty,
        );
        const preview = { headers: { 'x-service-api-key': project.apiKey }, body: { pipelines: [burnPipeline(1)] } };
        for (const answer of [
          await send(world.url, 'POST', '/v1/flywheel/batch/preview', preview),
          await executeSigned(world, project, checked),
        ]) {
          assertError(answer, 503, 'ERR_OPERATOR_UNFUNDED', new RegExp(`${operator.address} .* has no SOL for fees`));
          assert.equal(answer.headers.get('retry-after'), '15');
        }
        await world.localnet.bank.airdrop(address(operator.address), 3_000_000n);
        const batch = await openBatch(world, project, [burnPipeline(1)]);
        const held = await waitForBatch(world, project, batch.id, ({ executionError }) => executionError !== undefined);
        assert.equal(held.status, 'AVAILABLE_TO_QUEUE');
        assert.match(
          held.executionError?.message ?? '',
          /held up: the operator of the service lacks 0\.\d+ SOL\. It is tried/,
        );
        await world.localnet.bank.airdrop(address(operator.address), 1_000_000_000n);
        await makeDue(world, 'setup', batch.id);
        const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
        assert.equal(status, 'EXECUTED');
      } finally {
        await world.stop();
      }
    });
  }
});

describe('an operator that is short of funds', () => {
  it('is named by execute and preview if a fee would leave it less than the rent of its account: 503', async () => {
    const world = await openWorld();
    try {
      const project = await createProject(world);
      const operator = await loadSigner(world.environment.OPERATOR_SIGNER ?? '');
      const batch = await setUpBatch(world, project, [burnPipeline(1)]);
      const left = await world.rpc.getMinimumBalanceForRentExemption(0n).send();
      await waitUntil(
        'an operator with the rent of its account alone',
        () => spendAll(world, operator, left),
        (isSpent) => isSpent,
      );
      const preview = { headers: { 'x-service-api-key': project.apiKey }, body: { pipelines: [burnPipeline(1)] } };
      assertError(await send(world.url, 'POST', '/v1/flywheel/batch/preview', preview), 503, 'ERR_OPERATOR_UNFUNDED');
      assertError(await executeSigned(world, project, batch), 503, 'ERR_OPERATOR_UNFUNDED');
    } finally {
      await world.stop();
    }
  });

  it('is named by a batch that waits for the index of a cancelled one to be used up', async () => {
    const world = await openWorld();
    try {
      const project = await createProject(world);
      const operator = await emptyOperator(world);
      const cancelled = await openBatch(world, project, [burnPipeline(1)]);
      await cancel(world, project, cancelled.id);
      const batch = await openBatch(world, project, [burnPipeline(1)]);
      // The setup of the cancelled batch may say first that it holds up the one behind it.
      await waitForBatch(world, project, batch.id, ({ executionError }) =>
        /the operator of the service lacks 0\.\d+ SOL\. It is tried/.test(executionError?.message ?? ''),
      );
      await world.localnet.bank.airdrop(operator.address, 1_000_000_000n);
      await makeDue(world, 'setup', batch.id);
      await waitForBatch(world, project, batch.id, ({ status }) => status === 'FINALIZED');
    } finally {
      await world.stop();
    }
  });

  it('is named by the first of several batches, and each of them says once why it waits, however often it is tried', async () => {
    const world = await openWorld();
    try {
      const project = await createProject(world);
      await emptyOperator(world);
      const ids: string[] = [];
      for (let i = 0; i < 3; i++) ids.push((await openBatch(world, project, [burnPipeline(1)])).id);
      const [, second = '', third = ''] = ids;
      const trySetup = async (id: string, tries: number) => {
        await makeDue(world, 'setup', id);
        await waitUntil(
          'the end of a setup',
          () => findJobs(world.db, { withCompleted: true }),
          (jobs) => jobs.filter((job) => job.batchId === id && job.state === 'completed').length >= tries,
        );
      };
      for (const tries of [1, 2]) for (const id of ids) await trySetup(id, tries);
      // A setup does not read the batches that it does not reach.
      await world.db.deleteFrom('pipelines').where('batch_id', '=', second).execute();
      await trySetup(third, 3);
      const held = world.db.selectFrom('batch_events').select('data').where('type', '=', 'batch.held_up');
      const reasons = (await held.orderBy('id').execute()).map(({ data }) => data.error?.message ?? '');
      assert.equal(reasons.length, 3, reasons.join('\n'));
      assert.match(reasons[0] ?? '', /the operator of the service lacks 0\.\d+ SOL/);
      for (const reason of reasons.slice(1)) assert.match(reason, /batch 1, which comes before it, is held up/);
    } finally {
      await world.stop();
    }
  });

  it('continues a setup that was interrupted when it can pay for the rest: what is created is not paid again', async () => {
    const world = await openWorld();
    try {
      const project = await createProject(world);
      const multisig = await findMultisig(world, project);
      const operator = await emptyOperator(world);
      const { id } = await openBatch(
        world,
        project,
        Array.from({ length: 12 }, (_, i) => burnPipeline(i + 1)),
      );
      await waitForBatch(world, project, id, ({ executionError }) => executionError !== undefined);
      const batch = (await findBatch(world.db, id)) ?? assert.fail('The batch is stored.');
      const rents = await Promise.all(
        (await accountSizes(multisig, batch)).map((bytes) =>
          world.rpc.getMinimumBalanceForRentExemption(BigInt(bytes)).send(),
        ),
      );
      // The batch, its draft and ten of the twelve messages are created before an interruption.
      const [created, left] = [rents.slice(0, 12), rents.slice(12)].map((some) =>
        some.reduce((sum, each) => sum + each, 0n),
      );
      const payer = await generateKeyPairSigner();
      await world.localnet.bank.airdrop(payer.address, 1_000_000_000n);
      // A nonce may be created beside.
      await world.localnet.bank.airdrop(operator.address, (created ?? 0n) + 6_000_000n);
      for (const { instructions } of setupGroups(multisig, batch).slice(0, 11)) {
        await land(
          world,
          payer,
          instructions.map((each) => addSignersToInstruction([operator], each)),
        );
      }
      await world.localnet.bank.airdrop(operator.address, (left ?? 0n) + OPERATOR_RESERVE_LAMPORTS);
      await makeDue(world, 'setup', id);
      await waitForBatch(world, project, id, ({ status }) => status === 'FINALIZED');
    } finally {
      await world.stop();
    }
  });
});

describe('a setup of which each transaction fails because what it creates has landed meanwhile', () => {
  it('goes on while it advances: only failures at the same place end the batch', async () => {
    const world = await openGatedWorld({ JITO_BLOCK_ENGINE_URL: '' });
    try {
      const project = await createProject(world);
      const multisig = await findMultisig(world, project);
      const payer = await generateKeyPairSigner();
      await world.localnet.bank.airdrop(payer.address, 1_000_000_000n);
      let landed = 0;
      world.gate.intercept('sendTransaction', async ({ params: [wire] }, pass) => {
        const row = await world.db
          .selectFrom('bundles')
          .innerJoin('batches', 'batches.id', 'batch_id')
          .select('batch_id')
          .where('project_id', '=', project.projectId)
          .where(sql<boolean>`${wire} = any(transactions)`)
          .executeTakeFirst();
        if (row === undefined || landed === 4) return pass();
        const batch = (await findBatch(world.db, row.batch_id)) ?? assert.fail('The batch is stored.');
        const { instructions = [] } = setupGroups(multisig, batch)[landed] ?? {};
        landed += 1;
        const signed = instructions.map((each) => addSignersToInstruction([world.operator], each));
        await land(world, payer, signed);
        return pass();
      });
      const pipelines = Array.from({ length: 12 }, (_, i) => burnPipeline(i + 1));
      const { id } = await openBatch(world, project, pipelines);
      const { status } = await waitForBatch(world, project, id, (seen) => seen.status !== 'AVAILABLE_TO_QUEUE');
      assert.deepEqual([status, landed], ['FINALIZED', 4]);
    } finally {
      await world.stop();
    }
  });
});

/** Transfers all that the operator holds. */
async function emptyOperator(world: World): Promise<TransactionSigner> {
  const operator = await loadSigner(world.environment.OPERATOR_SIGNER ?? '');
  await waitUntil(
    'an empty operator',
    () => spendAll(world, operator),
    (isEmpty) => isEmpty,
  );
  return operator;
}

/** Transfers what a signer holds but for `left`. @returns false if it has paid for something meanwhile, e.g. a nonce. */
async function spendAll(world: World, source: TransactionSigner, left = 0n): Promise<boolean> {
  const { value: balance } = await world.rpc.getBalance(source.address).send();
  if (balance === left) return true;
  const [destination, amount] = [(await generateKeyPairSigner()).address, lamports(balance - left - 5_000n)];
  await land(world, source, [getTransferSolInstruction({ source, destination, amount })]).catch(() => undefined);
  return false;
}

function flat(groups: readonly InstructionGroup[]): Instruction[] {
  return groups.flatMap(({ instructions }) => instructions);
}
