import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertError, executeSigned, readBatch, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig, readBatchOnChain, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, send } from '@flywheel/testing/client';
import { realClock } from '@flywheel/testing/clock';
import { onlyLocal } from '@flywheel/testing/cluster';
import { type Call, type GateAnswer, type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk } from '@flywheel/testing/project';
import { findMismatchedPipeline } from '../../src/batches/check/mismatches.ts';
import type { RunDeps } from '../../src/batches/deps.ts';
import { endOpen } from '../../src/batches/jobs/end.ts';
import { type ChainView, createChain } from '../../src/solana/chain.ts';
import { findBatch } from '../../src/store/batches/batches.ts';
import { findLandedSlot } from '../../src/store/batches/bundles.ts';
import { requireProject } from '../../src/store/projects/projects.ts';

/** A node so far behind knows nothing of what a test does. */
const SLOTS_BEHIND = 200n;
/** More than a worker reads before it reads the finalized block again, by which it sees that a bundle has expired. */
const STALE_ANSWERS = 6;

describe('two nodes 200 slots apart behind one URL', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it('let a batch be set up, approved and executed once', onlyLocal('answer from behind'), async () => {
    const project = await createProject(world);
    const supply = await tokenSupply(world, project.mint);
    const { faults } = world.localnet;
    // The node that is behind knows the project, and nothing of the batch.
    await world.localnet.warp({ slots: SLOTS_BEHIND });
    faults.set({ kind: 'behind', method: '*', slots: [0, 0, Number(SLOTS_BEHIND)] });
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    const { status, result } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    faults.clear();
    assert.deepEqual([status, result.totalSuccessful, result.totalFailed], ['EXECUTED', 2, 0]);
    assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
  });

  it('do not report a landed bundle as lost', onlyLocal('skip slots while a call waits'), async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(1)]);
    const bundles = world.db.selectFrom('bundles').where('batch_id', '=', batch.id).where('phase', '=', 'execution');
    let answered = 0;
    world.gate.intercept('getSignatureStatuses', async (call, pass) => {
      // The pool of nonces asks for signatures of its own meanwhile.
      const sent = (await bundles.select('signatures').execute()).flatMap(({ signatures }) => signatures);
      if (!sent.some((signature) => JSON.stringify(call.params).includes(signature))) return pass();
      answered += 1;
      if (answered === 1) {
        await waitUntil(
          'the execution',
          () => readBatchOnChain(world, project, batch.batchIndex, 'confirmed'),
          ({ proposal }) => proposal.status === 'Executed',
        );
        await world.localnet.warp({ slots: SLOTS_BEHIND });
      }
      return answered <= STALE_ANSWERS ? fromBehind(call, pass) : pass();
    });
    requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    const { executeResult } = await waitForBatch(world, project, batch.id, ({ status }) => status === 'EXECUTED');
    world.gate.clear();
    assert.ok(answered > STALE_ANSWERS);
    assert.equal(executeResult?.successfulExecutions.length, 1);
    assert.deepEqual(await bundles.select('state').execute(), [{ state: 'landed' }]);
  });

  it('answer a request only from a state in which the newest bundle of the project has landed', async () => {
    const project = await createProject(world, { vaultBaseUnits: 0n });
    const batch = await setUpBatch(world, project, [burnPipeline(1)]);
    const { flywheelId } = await readBatch(world, project, batch.id);
    const multisig = await findMultisig(world, project);
    const landedSlot = await findLandedSlot(world.db, flywheelId);
    assert.ok(landedSlot > 0n);
    const floors: number[] = [];
    const note = ({ params: [asked, config] }: Call, pass: () => Promise<GateAnswer>) => {
      // A transaction, or addresses; the worker reads the pool of nonces meanwhile.
      const isOurs = !Array.isArray(asked) || [multisig.address, multisig.vault].some((own) => asked.includes(own));
      if (isOurs) floors.push(Object(config).minContextSlot ?? 0);
      return pass();
    };
    for (const method of ['getMultipleAccounts', 'simulateTransaction']) world.gate.intercept(method, note);
    const ask = (path: string, body: object) =>
      send(world.url, 'POST', `/v1/flywheel/batch/${path}`, { key: project.apiKey, body });
    requireOk(await ask('preview', { pipelines: [burnPipeline(1)] }));
    const previewed = floors.length;
    // The vault is empty: the request itself refuses, and no worker reads anything.
    assertError(await executeSigned(world, project, batch), 409, 'ERR_VAULT_UNDERFUNDED');
    const executed = floors.length;
    requireOk(await ask(`${batch.id}/cancel`, {}));
    world.gate.clear();
    assert.ok(previewed > 1 && executed > previewed && floors.length > executed);
    assert.deepEqual(
      floors.filter((floor) => floor < landedSlot),
      [],
    );
  });

  it('do not report a mismatch of a pipeline whose account one of them lacks', async () => {
    const project = await createProject(world);
    const { id } = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    const batch = await findBatch(world.db, id);
    assert.ok(batch);
    const multisig = await findMultisig(world, project);
    const accounts = async (addresses: readonly unknown[]) => addresses.map(() => null);
    assert.equal(await findMismatchedPipeline({ chain: { accounts } }, multisig, batch), 'unseen');
  });
});

describe('a node that does not show the multisig', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld();
  });
  after(() => world.stop());

  it('ends no batch, neither one that was executed nor one of which a restored database knows nothing', async () => {
    const created = await createProject(world);
    const { id, signedTx } = await setUpBatch(world, created, [burnPipeline(1)]);
    requireOk(await executeSigned(world, created, { id, signedTx }, { prefer: 'wait=60' }));
    const [project, executed] = [await requireProject(world.db, created.projectId), await findBatch(world.db, id)];
    assert.ok(executed);
    const { multisig } = project.flywheel;
    const view = createChain({ rpcUrls: [world.localnet.url] }).view();
    let lefts = 0;
    const chain: ChainView = {
      ...view,
      accounts: async (addresses, options) =>
        (await view.accounts(addresses, options)).map((account) =>
          account?.address === multisig.address ? null : account,
        ),
      leaveNode: () => {
        lefts += 1;
        return null;
      },
    };
    const jobs: object[] = [];
    const deps = {
      chain,
      db: world.db,
      clock: realClock,
      log: { error: () => undefined },
      turn: { pause: <T>(wait: () => Promise<T>) => wait() },
      jobs: { enqueue: async (_db: object, job: object) => void jobs.push(job) },
    } as unknown as RunDeps; // an end would need more
    const open = { ...executed, status: 'FINALIZED' } as const;
    await endOpen(deps, project, open, 'expired');
    await endOpen(deps, project, { ...open, id: randomUUID(), status: 'AVAILABLE_TO_QUEUE' }, 'cancelled');
    assert.deepEqual(
      jobs.map((job) => Object(job).type),
      ['expire', 'cancel'],
    );
    assert.equal(lefts, 2);
  });
});

/** What a node answers that has not reached any of a test's slots: it knows no signature. */
async function fromBehind({ params: [asked] }: Call, pass: () => Promise<GateAnswer>): Promise<GateAnswer> {
  const { result } = JSON.parse((await pass()).body);
  const slot = Number(BigInt(result.context.slot) - SLOTS_BEHIND);
  const value = (asked as readonly string[]).map(() => null); // the signatures that the method was asked for
  return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result: { context: { slot }, value } }) };
}
