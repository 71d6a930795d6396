import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { Ledger } from '@flywheel/api';
import {
  assertError,
  executeSigned,
  type OpenBatch,
  openBatch,
  readBatch,
  setUpBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { tokenBalance, tokenSupply } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline, getBatch, init } from '@flywheel/testing/client';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { makeDue } from '@flywheel/testing/jobs';
import { createOwnMint, createSeizableMint, freeze, mintTo, type OwnMint, seize } from '@flywheel/testing/mints';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { advanceWithBundles, pauseSlots, REAL_FINALITY, resumeSlots, setUpAndPause } from '@flywheel/testing/slots';
import { type Address, address, generateKeyPairSigner, type Signature, signature } from '@solana/kit';
import { sql } from 'kysely';
import type { Bundle } from '../../src/model/batch.ts';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { insertEndpoint } from '../../src/store/webhooks/endpoints.ts';

const WAIT = { prefer: 'wait=60' };

describe('a fork', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld({ LOG_LEVEL: 'fatal' }, REAL_FINALITY);
  });
  after(() => world.stop());

  it('that takes the setup of a finished batch away delays its execution: it is set up again', async () => {
    const project = await createProject(world);
    const supply = await tokenSupply(world, project.mint);
    const opened = await setUpAndPause(world, project, [burnPipeline(1), burnPipeline(2)]);
    await forkAway(opened.id, 'setup');
    await resumeSlots(world);
    const { status, result } = requireOk(await executeSigned(world, project, opened, WAIT));
    assert.deepEqual([status, result.totalSuccessful], ['EXECUTED', 2]);
    await finalEnd(opened.id);
    assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
    await assertRentReturned(project, opened);
  });

  it('that takes the setup of an open batch away is seen before the wallet approves: the costs of the final one are recorded', async () => {
    const project = await createProject(world);
    const batch = await setUpAndPause(world, project, [burnPipeline(1)]);
    await forkAway(batch.id, 'setup');
    await makeDue(world, 'setup', batch.id);
    await resumeSlots(world);
    const { entries } = await waitUntil(
      'the costs of the second setup',
      async () => {
        await makeDue(world, 'setup', batch.id);
        return readLedger(project, batch);
      },
      (ledger) => ledger.entries.length > 0,
    );
    const landed = (await findBundles(world.db, batch.id, 'setup')).map(({ landedSignatures }) => landedSignatures);
    assert.deepEqual([landed.length, entries.map((entry) => entry.signature)], [2, landed[1]]);
    const { status } = requireOk(await executeSigned(world, project, batch, WAIT));
    assert.equal(status, 'EXECUTED');
  });

  it('that may still come delays the second look at a setup, and fails nothing', async () => {
    const project = await createProject(world);
    const first = await setUpAndPause(world, project, [burnPipeline(1)]);
    const others = [
      await openBatch(world, project, [burnPipeline(2)]),
      await openBatch(world, project, [burnPipeline(3)]),
    ];
    const ids = others.map(({ id }) => id);
    await waitUntil(
      'the other setups, of which none is final',
      async () => {
        await world.localnet.warp();
        return Promise.all(ids.map((id) => readBatch(world, project, id)));
      },
      (batches) => batches.every(({ status }) => status === 'FINALIZED'),
    );
    const look = sql<{ state: string; isLater: boolean }>`
      select state, start_after > now() + interval '15 seconds' as "isLater" from jobs.job
      where data->>'type' = 'setup' and data->>'batchId' = ${ids[1]} and state <> 'completed'
    `;
    await makeDue(world, 'setup', ids[1] ?? '');
    const [job] = await waitUntil(
      'the next look',
      async () => (await look.execute(world.db)).rows,
      (rows) =>
        rows.length === 1 && rows.every(({ state, isLater }) => state !== 'active' && (isLater || state !== 'created')),
    );
    assert.equal(job?.state, 'created');
    assert.deepEqual((await readLedger(project, first)).entries, []);
    await resumeSlots(world);
  });

  it('that takes the closing of a batch away comes before the batch is closed: it is closed again, and the rent counts once', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    await executeAndPause(project, batch);
    await finalEnd(batch.id);
    await waitUntil(
      'the closing to land',
      async () => {
        await world.localnet.warp();
        return (await findBundles(world.db, batch.id, 'close')).map(({ state }) => state);
      },
      (states) => states.includes('landed'),
    );
    await waitUntil(
      'the closing to wait until it is final',
      async () => {
        const isClosing = sql`data->>'type' = 'close' and data->>'batchId' = ${batch.id}`;
        return (await sql`select from jobs.job where state = 'created' and ${isClosing}`.execute(world.db)).rows.length;
      },
      (count) => count === 1,
    );
    assert.equal((await readLedger(project, batch)).isComplete, false);
    await forkAway(batch.id, 'close');
    await resumeSlots(world);
    await makeDue(world, 'close', batch.id);
    await assertRentReturned(project, batch);
    assert.equal((await findBundles(world.db, batch.id, 'close')).length, 2);
  });

  it('that takes an execution away is made good: every pipeline is executed once, and the result names what landed', async () => {
    const project = await createProject(world);
    const recipient = (await generateKeyPairSigner()).address;
    const supply = await tokenSupply(world, project.mint);
    // The airdrop creates a token account, which the fork takes away too.
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2), airdropPipeline(recipient, 3)]);
    await executeAndPause(project, batch);
    await forkAway(batch.id, 'execution');
    await resumeSlots(world);
    await finalEnd(batch.id);
    assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
    assert.equal(await tokenBalance(world, project.mint, recipient), 3_000_000n);
    const { status, executeResult } = await readBatch(world, project, batch.id);
    assert.equal(status, 'EXECUTED');
    await assertFinalized(hashesOf(executeResult));
  });

  it('that takes setup and execution away is made good by both, beyond every cap', async () => {
    const project = await createProject(world);
    const supply = await tokenSupply(world, project.mint);
    const batch = await setUpAndPause(world, project, [burnPipeline(1)]);
    await executeAndPause(project, batch);
    // More than its project may lock: a cap stops no execution that has begun.
    await world.db
      .updateTable('batches')
      .set({ locked_lamports: 10n ** 12n })
      .where('id', '=', batch.id)
      .execute();
    await forkAway(batch.id, 'setup');
    await resumeSlots(world);
    await finalEnd(batch.id);
    assert.equal(await tokenSupply(world, project.mint), supply - 1_000_000n);
    await assertRentReturned(project, batch);
  });

  describe('that takes a part of an executed batch away', () => {
    let mint: OwnMint;
    let project: TestProject;
    let recipient: Address;
    let tokenAccount: Address;

    it('makes the batch FAILED with what is final if the rest cannot be executed again', async () => {
      await openProject();
      // They take two bundles, of which the fork takes the second one away.
      const pipelines = [...Array.from({ length: 12 }, heavyBurn), airdropPipeline(recipient, 1), burnPipeline(1)];
      const batch = await setUpBatch(world, project, pipelines);
      await executeAndPause(project, batch);
      await assertLimitReached();
      await forkAndStop(batch);
      const { status, executeResult } = await readBatch(world, project, batch.id);
      assert.ok(executeResult);
      const { total, totalSuccessful, totalFailed, failedOnTransactionIndex, failedRecipient } = executeResult;
      assert.deepEqual([status, total, totalSuccessful, totalFailed], ['FAILED', 14, 12, 2]);
      assert.equal(failedOnTransactionIndex, 12);
      assert.equal(failedRecipient?.recipient, recipient);
      assert.match(executeResult.failedTxMsg ?? '', /^A fork undid the execution.*pipelines\[12\] failed on chain/);
      await assertFinalized(hashesOf(executeResult));
      await assertCorrected(batch.id, { executedPipelines: 12 });
      // The last pipeline's amount has returned to the limit of the day.
      requireOk(await init(world.url, project.apiKey, [burnPipeline(1)]));
    });

    it('makes the batch FAILED if its approval is undone and the check before it finds an issue', async () => {
      await openProject();
      const batch = await setUpBatch(world, project, [burnPipeline(13), airdropPipeline(recipient, 1)]);
      await executeAndPause(project, batch);
      await assertLimitReached();
      await forkAndStop(batch);
      const { status, executeResult } = await readBatch(world, project, batch.id);
      assert.deepEqual([status, executeResult?.totalSuccessful, executeResult?.totalFailed], ['FAILED', 0, 2]);
      assert.match(executeResult?.failedTxMsg ?? '', /^A fork undid the execution.*frozen/s);
      assert.deepEqual(executeResult?.heldRecipients, [recipient]);
      assert.deepEqual(hashesOf(executeResult), []);
      await assertCorrected(batch.id, { executedPipelines: 0 });
      requireOk(await init(world.url, project.apiKey, [burnPipeline(13)]));
    });

    it('makes the batch FAILED when it expires if the vault cannot pay for the rest until then', async () => {
      const seizable = await createSeizableMint(world);
      const poor = await createProject(world, { mint: seizable.address, vaultBaseUnits: 0n });
      const vault = address(poor.vaultAddress);
      await mintTo(world, seizable, vault, 5_000_000n);
      const batch = await setUpBatch(world, poor, [burnPipeline(5)]);
      await executeAndPause(poor, batch);
      const held = world.gate.hold('sendBundle');
      await forkAway(batch.id, 'execution');
      await resumeSlots(world);
      await seize(world, seizable, vault, 5_000_000n);
      held.release();
      // It is tried again every minute.
      await waitUntil(
        'an attempt without funds',
        () => readDelay(batch.id),
        (seconds) => seconds !== null && seconds > 30,
      );
      const waiting = await readBatch(world, poor, batch.id);
      assert.equal(waiting.status, 'EXECUTED', waiting.executeResult?.failedTxMsg ?? '');
      const created_at = new Date(Date.now() - 8 * 24 * 60 * 60 * 1_000);
      await world.db.updateTable('batches').set({ created_at }).where('id', '=', batch.id).execute();
      await makeDue(world, 'close', batch.id);
      await finalEnd(batch.id);
      world.gate.clear();
      const { status, executeResult } = await readBatch(world, poor, batch.id);
      assert.deepEqual([status, executeResult?.totalSuccessful, executeResult?.totalFailed], ['FAILED', 0, 1]);
      const message = 'A fork undid the execution, which could not be repeated: The batch expired.';
      assert.equal(executeResult?.failedTxMsg, message);
      assert.equal(await tokenSupply(world, seizable.address), 0n);
    });

    /** Reads in how many seconds the closing of a batch is tried again; null while it is not scheduled. */
    async function readDelay(batchId: string): Promise<number | null> {
      const { rows } = await sql<{ seconds: number }>`
        select extract(epoch from start_after - now())::float8 as seconds from jobs.job
        where state = 'created' and data->>'type' = 'close' and data->>'batchId' = ${batchId}
      `.execute(world.db);
      return rows[0]?.seconds ?? null;
    }

    async function openProject(): Promise<void> {
      mint = await createOwnMint(world, false);
      project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n, burnLimit: '13' });
      await mintTo(world, mint, address(project.vaultAddress), 10n ** 9n);
      recipient = (await generateKeyPairSigner()).address;
      tokenAccount = await mintTo(world, mint, recipient, 1n);
      const endpoint = { id: randomUUID(), projectId: project.projectId, createdAt: new Date() };
      const events = ['batch.executed', 'batch.failed'] as const;
      await insertEndpoint(world.db, { ...endpoint, url: 'http://127.0.0.1:9/', events });
    }

    async function assertLimitReached(): Promise<void> {
      const refused = await init(world.url, project.apiKey, [burnPipeline(1)]);
      assertError(refused, 400, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED');
    }

    /** Takes the last bundle away, and freezes the recipient's account before anything is executed again. */
    async function forkAndStop(batch: OpenBatch): Promise<void> {
      const held = world.gate.hold('sendBundle');
      await forkAway(batch.id, 'execution');
      await resumeSlots(world);
      await freeze(world, mint, tokenAccount);
      await held.reached;
      held.release();
      await finalEnd(batch.id);
      world.gate.clear();
    }

    /** A receiver learns of both ends, in this order. */
    async function assertCorrected(batchId: string, data: { readonly executedPipelines: number }): Promise<void> {
      const deliveries = await world.db.selectFrom('webhook_deliveries').select('payload').orderBy('id').execute();
      const events = deliveries
        .map(({ payload }) => JSON.parse(payload))
        .filter((event) => event.data.batchId === batchId);
      assert.deepEqual(
        events.map(({ type, data: { status, executedPipelines } }) => [type, status, executedPipelines]),
        [
          ['batch.executed', 'EXECUTED', events[0].data.pipelines],
          ['batch.failed', 'FAILED', data.executedPipelines],
        ],
      );
    }
  });

  function heavyBurn() {
    return {
      ...burnPipeline(),
      actions: Array.from({ length: 20 }, () => ({ action: 'BURN', amount: 0.05 }) as const),
    };
  }

  /** Executes a batch, and stops the slots before any of it can be final. */
  async function executeAndPause(
    project: TestProject,
    batch: OpenBatch & { readonly batchIndex: bigint },
  ): Promise<void> {
    await pauseSlots(world);
    const answer = executeSigned(world, project, batch, WAIT);
    const { status } = requireOk(await advanceWithBundles(world, batch.id, answer));
    assert.equal(status, 'EXECUTED');
  }

  /** Takes away what landed from the last bundle of a phase on. */
  async function forkAway(batchId: string, phase: Bundle['phase']): Promise<void> {
    const { landed_slot } = await world.db
      .selectFrom('bundles')
      .select('landed_slot')
      .where('batch_id', '=', batchId)
      .where('phase', '=', phase)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow();
    const current = await world.rpc.getSlot({ commitment: 'processed' }).send();
    assert.ok(landed_slot);
    world.localnet.fork({ slots: current - landed_slot });
  }

  /** Waits until the end of a batch is final. */
  async function finalEnd(batchId: string): Promise<void> {
    await waitUntil(
      'the end to be final',
      async () => {
        await world.localnet.warp();
        const batches = world.db.selectFrom('batches').select('end_finalized_at').where('id', '=', batchId);
        return (await batches.executeTakeFirstOrThrow()).end_finalized_at;
      },
      (at) => at !== null,
    );
  }

  /** The ledger of a closed batch names only what is final, so that its rent balances. */
  async function assertRentReturned(project: TestProject, batch: OpenBatch): Promise<void> {
    const { rentOutLamports, rentBackLamports, entries } = await waitUntil(
      'the closing',
      () => readLedger(project, batch),
      ({ isComplete }) => isComplete,
    );
    assert.notEqual(rentOutLamports, '0');
    assert.equal(rentBackLamports, rentOutLamports, JSON.stringify(entries));
    await assertFinalized(entries.map((entry) => signature(entry.signature)));
  }

  async function readLedger({ apiKey }: TestProject, { id }: OpenBatch) {
    const { ledger } = requireOk(await getBatch(world.url, apiKey, id, '?include=ledger'));
    return Ledger.parse(ledger);
  }

  async function assertFinalized(hashes: readonly Signature[]): Promise<void> {
    assert.ok(hashes.length > 0);
    const { value } = await world.rpc.getSignatureStatuses(hashes, { searchTransactionHistory: true }).send();
    assert.ok(value.every((status) => status?.confirmationStatus === 'finalized' && status.err === null));
  }
});

function hashesOf(result: Awaited<ReturnType<typeof readBatch>>['executeResult']): Signature[] {
  return (result?.successfulExecutions ?? []).flatMap(({ txHashes }) => txHashes.map((hash) => signature(hash)));
}
