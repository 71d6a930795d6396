import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Pipeline } from '@flywheel/api';
import { executeSigned, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { tokenAccountOf, tokenBalance, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, getBatch } from '@flywheel/testing/client';
import { onlyLocal, onlyWithV1, WITH_BUNDLES } from '@flywheel/testing/cluster';
import { type GatedWorld, interceptBundles, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk } from '@flywheel/testing/project';
import { decodeTransaction } from '@flywheel/testing/values';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  type Address,
  address,
  type Base64EncodedWireTransaction,
  generateKeyPairSigner,
  getCompiledTransactionMessageDecoder,
} from '@solana/kit';
import { getTransferSolInstructionDataEncoder } from '@solana-program/system';
import { findBundles } from '../../src/store/batches/bundles.ts';

/** Pipelines with a burn and an airdrop to a new wallet, up to 100, and the transactions that they need. */
const PACKINGS = [
  { v1: true, pipelines: 1, setup: 1, execution: [1], close: 1, maxNetLamports: 45_000n },
  { v1: true, pipelines: 10, setup: 1, execution: [7, 3], close: 1, maxNetLamports: 50_000n },
  { v1: true, pipelines: 100, setup: 10, execution: [...Array(14).fill(7), 2], close: 2, maxNetLamports: 250_000n },
  { v1: false, pipelines: 1, setup: 1, execution: [1], close: 1, maxNetLamports: 45_000n },
  { v1: false, pipelines: 10, setup: 5, execution: [6, 4], close: 1, maxNetLamports: 80_000n },
  { v1: false, pipelines: 100, setup: 50, execution: [...Array(16).fill(6), 4], close: 6, maxNetLamports: 800_000n },
] as const;

for (const v1 of [true, false]) {
  describe(`a batch on a cluster ${v1 ? 'with' : 'without'} transactions of version 1`, await onlyWithV1(v1), () => {
    let world: World;
    before(async () => {
      world = await openWorld({}, { v1 });
    });
    after(() => world.stop());

    for (const expected of PACKINGS.filter((packing) => packing.v1 === v1)) {
      it(`of ${expected.pipelines} takes ${expected.setup} to set up and ${expected.execution.length} to execute`, async () => {
        const project = await createProject(world);
        const batch = await setUpBatch(world, project, await burnsAndAirdrops(expected.pipelines));
        const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
        assert.equal(status, 'EXECUTED');
        const { ledger } = await waitUntil(
          'the rent to come back',
          async () => requireOk(await getBatch(world.url, project.apiKey, batch.id, '?include=ledger')),
          (read) => read.ledger.isComplete,
        );
        const sent = await transactionsSent(world, batch.id);
        // Tips are included; the approval is counted apart.
        assert.deepEqual([sent.setup, sent.close], [expected.setup, expected.close]);
        assert.deepEqual(sent.execution, [0, ...expected.execution]);
        assert.ok(BigInt(ledger.operatorNetLamports) <= expected.maxNetLamports, ledger.operatorNetLamports);
      });
    }
  });
}

describe('a bundle that does not land', onlyLocal('lose parts of bundles'), () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld({});
  });
  after(() => world.stop());

  it(
    'is sent again as version 0 after the engine rejected version 1, and so are the next ones',
    WITH_BUNDLES,
    async () => {
      const versions: number[] = [];
      const sent = new Set<string>();
      world.gate.intercept('sendBundle', async ({ params }, pass) => {
        const [wires] = params as [Base64EncodedWireTransaction[]];
        const version = Math.max(...wires.map(versionOf));
        const bundle = wires.join();
        // The next job sends a bundle again that may be in flight.
        if (!sent.has(bundle)) versions.push(version);
        sent.add(bundle);
        if (version === 0) return pass();
        const error = { code: -32602, message: 'transaction could not be deserialized' };
        return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: 1, error }) };
      });
      const project = await createProject(world);
      const supply = await tokenSupply(world, project.mint);
      const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
      const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
      assert.equal(status, 'EXECUTED');
      assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
      assert.deepEqual(versions.slice(0, 3), [1, 0, 0]);
    },
  );

  it('is followed by the approval alone, with a tip, and then by the pipelines one by one', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    let sent = 0;
    interceptBundles(world, 'execution', (_wires, pass) => {
      sent += 1;
      if (sent === 1) world.localnet.faults.set({ kind: 'partLand', method: 'sendBundle', landed: 0, times: 1 });
      return pass();
    });
    const { status } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    assert.equal(status, 'EXECUTED');
    const bundles = await findBundles(world.db, batch.id, 'execution');
    assert.deepEqual(
      bundles.map(({ state, pipelineCounts }) => [state, pipelineCounts]),
      [
        ['failed', [0, 2]],
        ['landed', [0]],
        ['landed', [1]],
        ['landed', [1]],
      ],
    );
  });

  it(
    'because the engine changed it moves nothing, also if the engine reports it as landed, and is sent again',
    WITH_BUNDLES,
    async () => {
      const project = await createProject(world);
      const supply = await tokenSupply(world, project.mint);
      const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
      const answers: string[] = [];
      interceptBundles(world, 'execution', async (wires, pass) => {
        if (answers.length > 0) return pass();
        const changed = wires.map(withHigherTip);
        assert.notDeepEqual(changed, wires);
        const params = [changed, { encoding: 'base64' }];
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sendBundle', params });
        const headers = { 'content-type': 'application/json' };
        answers.push(await (await fetch(world.localnet.blockEngineUrl, { method: 'POST', headers, body })).text());
        return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result: '0'.repeat(64) }) };
      });
      let lies = 0;
      world.gate.intercept('getInflightBundleStatuses', async ({ params: [ids] }, pass) => {
        lies += 1;
        if (lies > 1) return pass();
        await world.localnet.warp({ slots: 151n });
        const value = (ids as string[]).map((id) => ({ bundle_id: id, status: 'Landed', landed_slot: 1 }));
        const result = { context: { slot: 1 }, value };
        return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result }) };
      });
      const { status, result } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
      world.gate.clear();
      assert.ok(lies > 0);
      assert.match(answers[0] ?? '', /is not signed by all of its signers/);
      assert.deepEqual([status, result.totalSuccessful], ['EXECUTED', 2]);
      assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
      const [changed] = await findBundles(world.db, batch.id, 'execution');
      assert.deepEqual([changed?.state, changed?.landedSignatures], ['failed', []]);
    },
  );

  it('because a stranger sent lamports to the recipients’ addresses, is sent again in smaller parts', async () => {
    const project = await createProject(world);
    const pipelines = await burnsAndAirdrops(7);
    for (const recipient of recipientsOf(pipelines)) {
      const tokenAccount = await tokenAccountOf(world, project.mint, recipient);
      await world.localnet.bank.airdrop(tokenAccount, 1_000_000n);
    }
    const batch = await setUpBatch(world, project, pipelines);
    const { status, result } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    assert.deepEqual([status, result.totalSuccessful], ['EXECUTED', 7]);
    for (const recipient of recipientsOf(pipelines)) {
      assert.equal(await tokenBalance(world, project.mint, recipient), 1_000_000n);
    }
  });
});

async function burnsAndAirdrops(count: number): Promise<Pipeline[]> {
  const recipients = await Promise.all(Array.from({ length: count }, () => generateKeyPairSigner()));
  return recipients.map(({ address: toAddress }, i) => ({
    type: 'WATCH_AD',
    payload: JSON.stringify({ i }),
    actions: [
      { action: 'BURN', amount: 1 },
      { action: 'AIRDROP', toAddress, amount: 1 },
    ],
  }));
}

function recipientsOf(pipelines: readonly Pipeline[]): Address[] {
  return pipelines.flatMap(({ actions }) =>
    actions.flatMap((action) => (action.action === 'AIRDROP' ? [address(action.toAddress)] : [])),
  );
}

/** Counts the transactions of each phase, and the pipelines in each transaction of the execution. */
async function transactionsSent({ db }: World, batchId: string) {
  const bundles = await findBundles(db, batchId);
  const countOf = (phase: 'setup' | 'close') =>
    bundles.filter((bundle) => bundle.phase === phase).reduce((sum, { signatures }) => sum + signatures.length, 0);
  const execution = bundles.filter(({ phase }) => phase === 'execution').flatMap((bundle) => bundle.pipelineCounts);
  return { setup: countOf('setup'), close: countOf('close'), execution };
}

function versionOf(wire: Base64EncodedWireTransaction): number {
  const { messageBytes } = decodeTransaction(wire);
  const { version } = getCompiledTransactionMessageDecoder().decode(messageBytes);
  return version === 'legacy' ? 0 : version;
}

/** Changes what a transaction does, as an engine could that takes more than it was offered. */
function withHigherTip(wire: string): string {
  const offered = Buffer.from(getTransferSolInstructionDataEncoder().encode({ amount: 1_000n }));
  const bytes = Buffer.from(wire, 'base64');
  const position = bytes.indexOf(offered);
  if (position >= 0) bytes.set(getTransferSolInstructionDataEncoder().encode({ amount: 1_000_000n }), position);
  return bytes.toString('base64');
}
