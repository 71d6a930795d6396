import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { proposalAddress } from '@flywheel/squads';
import {
  executeSigned,
  type OpenBatch,
  readBatch,
  rewindBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { findMultisig, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { instantClock, realClock } from '@flywheel/testing/clock';
import { countOpenJobs, skipRetryDelays } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  appendTransactionMessageInstructions,
  createTransactionMessage,
  generateKeyPairSigner,
  type Signature,
  setTransactionMessageFeePayer,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import type { RunDeps } from '../../src/batches/deps.ts';
import { readFinality } from '../../src/batches/jobs/finality.ts';
import type { Turn } from '../../src/batches/turn.ts';
import { type Chain, type ChainView, createChain } from '../../src/solana/chain.ts';
import type { NamingTransaction } from '../../src/solana/past-transactions.ts';
import { sendAndConfirm } from '../../src/solana/send-and-confirm.ts';
import { signTransaction } from '../../src/solana/transactions.ts';
import { findBatch } from '../../src/store/batches/batches.ts';
import { findBundles } from '../../src/store/batches/bundles.ts';

/** The life of a batch that is closed on chain lies further back. */
const PRUNED = { kind: 'forgetHistory', method: '*', slots: 100 } as const;
const NODES = ['first', 'second'] as const;

let world: World;
let project: TestProject;
let batch: OpenBatch;
let supply: bigint;
const skipping = new AbortController();
let skipped: Promise<void>;
before(async () => {
  world = await openWorld({ LOG_LEVEL: 'fatal' });
  await world.restart({ SOLANA_RPC_URL: rpcUrls().join() });
  project = await createProject(world);
  batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
  requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
  supply = await tokenSupply(world, project.mint);
  skipped = skipRetryDelays(world, skipping.signal);
  await awaitClosing();
  await world.localnet.warp({ slots: 400n });
});
after(async () => {
  skipping.abort();
  await skipped;
  await world.stop();
});

describe('a batch that is closed on chain, and whose transactions the database knows,', () => {
  it('has what its recorded transactions executed, by their own outcomes at finalized', async () => {
    const asked: string[] = [];
    const transactionsNaming: Chain['transactionsNaming'] = (...naming) => {
      asked.push('the history');
      return view.transactionsNaming(...naming);
    };
    const view = createChain({ rpcUrls: rpcUrls() }).view();
    assert.deepEqual(await decide({ ...view, transactionsNaming }), CLOSED);
    assert.deepEqual(asked, []);
    const confirmed = async (signatures: readonly Signature[]) => {
      const { contextSlot, outcomes } = await view.signatureOutcomes(signatures);
      const early = outcomes.map(
        (outcome) => outcome !== 'unknown' && { ...outcome, confirmation: 'confirmed' as const },
      );
      return { contextSlot, outcomes: early.map((outcome) => outcome || 'unknown') };
    };
    assert.deepEqual(await decide({ ...view, transactionsNaming, signatureOutcomes: confirmed }), CLOSED);
    assert.deepEqual(asked, ['the history']);
  });

  it('has a whole history although a recorded transaction, which only pays a tip, is no part of it', async () => {
    const destination = (await generateKeyPairSigner()).address;
    const tip = getTransferSolInstruction({ source: world.operator, destination, amount: 1_000_000n });
    const chain = createChain({ rpcUrls: rpcUrls() });
    const lifetime = await chain.latestBlockhash();
    const message = setTransactionMessageFeePayer(world.operator.address, createTransactionMessage({ version: 0 }));
    const filled = appendTransactionMessageInstructions([tip], message);
    const { wire, signature } = await signTransaction(filled, lifetime, [world.operator]);
    const sent = await sendAndConfirm({ chain, clock: realClock }, wire, lifetime.lastValidBlockHeight);
    assert.equal(sent.err, null);
    await world.localnet.warp({ slots: 5n });
    // Of the execution, the database knows only the tip.
    await world.db
      .updateTable('bundles')
      .set({ transactions: [wire], signatures: [signature], pipeline_counts: [0], landed_signatures: [signature] })
      .where('batch_id', '=', batch.id)
      .where('phase', '=', 'execution')
      .execute();
    assert.deepEqual(await decide(chain.view()), CLOSED);
  });

  it('has its history read outside of the turn of its job, until the process stops', async () => {
    const view = createChain({ rpcUrls: rpcUrls() }).view();
    const unknown: Chain['signatureOutcomes'] = async (signatures) => {
      return { contextSlot: 0n, outcomes: signatures.map(() => 'unknown') };
    };
    let isPaused = false;
    const pause: Turn['pause'] = async (wait) => {
      isPaused = true;
      return wait().finally(() => {
        isPaused = false;
      });
    };
    const stopping = new AbortController();
    const transactionsNaming: Chain['transactionsNaming'] = async function* (...naming) {
      assert.ok(isPaused);
      for await (const transaction of view.transactionsNaming(...naming)) {
        yield transaction;
        stopping.abort(new Error('the process stops'));
      }
    };
    const chain = { ...view, signatureOutcomes: unknown, transactionsNaming };
    const job = { signal: stopping.signal, turn: { ...ALONE.turn, pause } };
    await assert.rejects(decide(chain, job), /the process stops/);
  });

  it('has no whole history at a node that does not list a recorded transaction that has landed', async () => {
    const view = createChain({ rpcUrls: rpcUrls() }).view();
    const stored = await findBatch(world.db, batch.id);
    assert.ok(stored);
    const proposal = proposalAddress((await findMultisig(world, project)).address, stored.batchIndex);
    const naming = await Array.fromAsync(view.transactionsNaming(proposal, { commitment: 'finalized' }));
    const [setup] = await findBundles(world.db, batch.id, 'setup');
    const [signature] = setup?.signatures ?? [];
    // Its instructions are all there, under another signature, so that only what is recorded shows what is missing.
    const renamed = naming.map((each) =>
      each !== 'incomplete' && each.signature === signature
        ? { ...each, signature: '1'.repeat(64) as Signature }
        : each,
    );
    assert.equal(await decide({ ...view, transactionsNaming: () => listed(renamed) }), 'incomplete');
    assert.deepEqual(await decide({ ...view, transactionsNaming: () => listed(naming) }), CLOSED);
  });

  const CLOSED = { status: 'Closed', executed: 2 };

  async function decide(chain: ChainView, job: Pick<RunDeps, 'signal' | 'turn'> = ALONE) {
    const stored = await findBatch(world.db, batch.id);
    assert.ok(stored);
    const ignore = () => undefined;
    const log = { info: ignore, warn: ignore, error: ignore };
    return readFinality({ ...job, chain, db: world.db, log }, await findMultisig(world, project), stored);
  }
});

describe('a batch that is closed on chain, and of which the database knows nothing,', () => {
  beforeEach(async () => {
    await awaitClosing();
    await rewindBatch(world, batch.id);
    world.localnet.faults.clear();
  });

  it('ends with its true result if only the second node has its history', async () => {
    world.localnet.faults.set({ ...PRUNED, node: 'first' });
    await executeSigned(world, project, batch, { prefer: 'wait=1' });
    await isExecuted();
  });

  it('ends with its true result if the first node keeps no history at all', async () => {
    world.localnet.faults.set({ ...PRUNED, slots: 0, node: 'first' });
    await executeSigned(world, project, batch, { prefer: 'wait=1' });
    await isExecuted();
  });

  it('does not end while no node has its history, and ends once one has', async () => {
    for (const node of NODES) world.localnet.faults.set({ ...PRUNED, node });
    await executeSigned(world, project, batch, { prefer: 'wait=1' });
    const { status, executeResult } = await waitForBatch(
      world,
      project,
      batch.id,
      ({ executionError }) => executionError?.code === 'ERR_BATCH_EXECUTE_FAILED',
    );
    assert.deepEqual([status, executeResult], ['AVAILABLE_TO_QUEUE', undefined]);
    world.localnet.faults.clear();
    world.localnet.faults.set({ ...PRUNED, node: 'first' });
    await isExecuted();
  });

  it('is read from one node in each decision, from the next one in the next, and the log says which lack its history', async () => {
    const stored = await findBatch(world.db, batch.id);
    assert.ok(stored);
    const multisig = await findMultisig(world, project);
    const chain = createChain({ rpcUrls: rpcUrls(), clock: instantClock() });
    const lines: string[] = [];
    const add = (_fields: object, line: string) => void lines.push(line);
    const log = { info: add, warn: add, error: add };
    const decide = () =>
      readFinality({ ...ALONE, chain: chain.view(0n, batch.id), db: world.db, log }, multisig, stored);
    for (const node of NODES) world.localnet.faults.set({ ...PRUNED, node });
    assert.deepEqual([await decide(), await decide()], ['incomplete', 'incomplete']);
    assert.deepEqual(lines, [
      'the RPC node does not have the whole history of the batch; asking another one',
      'no RPC node has the whole history of the batch; nothing is decided until one has',
    ]);
    world.localnet.faults.clear();
    world.localnet.faults.set({ ...PRUNED, node: 'first' });
    assert.deepEqual([await decide(), await decide()], ['incomplete', { status: 'Closed', executed: 2 }]);
  });

  async function isExecuted(): Promise<void> {
    const { executeResult } = await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
    assert.deepEqual([executeResult?.totalSuccessful, executeResult?.totalFailed], [2, 0]);
    assert.equal(await tokenSupply(world, project.mint), supply);
    assert.equal((await readBatch(world, project, batch.id)).executionError, undefined);
  }
});

/** A job that is alone in its process. */
const ALONE: Pick<RunDeps, 'signal' | 'turn'> = {
  signal: new AbortController().signal,
  turn: {
    pause: <T>(wait: () => Promise<T>) => wait(),
    awaitBundle: async () => undefined,
    awaitRepetition: async () => undefined,
  },
};

async function* listed(transactions: readonly (NamingTransaction | 'incomplete')[]) {
  yield* transactions;
}

const rpcUrls = () => NODES.map((node) => `${world.localnet.url}/nodes/${node}`);

/** Waits for the closing and for the check that follows it: a job that still runs would write to a rewound batch. */
async function awaitClosing(): Promise<void> {
  await waitUntil('the closing', () => closedAt(batch.id), Boolean);
  await waitUntil(
    'the check of the closing',
    () => countOpenJobs(world, 'close', batch.id),
    (count) => count === 0,
  );
}

async function closedAt(id: string): Promise<Date | null> {
  const row = await world.db.selectFrom('batches').select('closed_at').where('id', '=', id).executeTakeFirstOrThrow();
  return row.closed_at;
}
