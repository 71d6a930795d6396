import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, openBatch, readBatch, setUpBatch, waitForBatch } from '@flywheel/testing/batches';
import { tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { WITH_BUNDLES } from '@flywheel/testing/cluster';
import { type GatedWorld, interceptBundles, openGatedWorld } from '@flywheel/testing/gate';
import { makeDue } from '@flywheel/testing/jobs';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { decodeTransaction } from '@flywheel/testing/values';
import { getSignatureFromTransaction } from '@solana/kit';

let world: GatedWorld;
let other: TestProject;
before(async () => {
  world = await openGatedWorld({ LOG_LEVEL: 'fatal' });
  other = await createProject(world);
});
after(() => world.stop());

describe('an invalid answer of the RPC node', () => {
  const NONSENSE = {
    'an HTML page': () => '<html><body>Welcome</body></html>',
    'JSON that is cut off': (body: string) => body.slice(0, body.length / 2),
    nothing: () => '',
    'a result of another shape': () => '{"jsonrpc":"2.0","id":1,"result":{"value":"soon"}}',
    'fewer accounts than asked for': () => '{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":1},"value":[]}}',
    'an error that is none': () => '{"jsonrpc":"2.0","id":1,"error":"no"}',
  };
  for (const [name, nonsense] of Object.entries(NONSENSE)) {
    it(`pauses its batch with an error, other batches continue, and so does this one afterwards: ${name}`, async () => {
      const project = await createProject(world);
      world.gate.intercept('getMultipleAccounts', async ({ params }, pass) => {
        const answer = await pass();
        return JSON.stringify(params).includes(project.multisig) ? { ...answer, body: nonsense(answer.body) } : answer;
      });
      const batch = await openBatch(world, project, [burnPipeline(2)]);
      const supply = await tokenSupply(world, project.mint);
      const paused = await waitForBatch(world, project, batch.id, ({ executionError }) => executionError !== undefined);
      assert.equal(paused.status, 'AVAILABLE_TO_QUEUE');
      assert.equal(paused.executionError?.code, 'ERR_BATCH_EXECUTE_FAILED');
      const behind = await openBatch(world, project, [burnPipeline(1)]);
      await waitForBatch(world, project, behind.id, ({ executionError }) =>
        /comes before it, is held up/.test(executionError?.message ?? ''),
      );
      const stranger = await openBatch(world, other, [burnPipeline()]);
      const { status } = requireOk(await executeSigned(world, other, stranger, { prefer: 'wait=60' }));
      assert.equal(status, 'EXECUTED');

      world.gate.clear();
      await makeDue(world, 'setup', batch.id);
      const ended = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
      assert.equal(ended.status, 'EXECUTED');
      await waitForBatch(world, project, behind.id, ({ status }) => status === 'FINALIZED');
      for (const { id } of [batch, behind])
        assert.equal('executionError' in (await readBatch(world, project, id)), false);
      assert.equal(await tokenSupply(world, project.mint), supply - 2_000_000n);
    });
  }
});

describe('an invalid answer of the block engine', () => {
  it('changes no result: the chain decides what landed, and tokens move once', WITH_BUNDLES, async () => {
    const project = await createProject(world);
    const supply = await tokenSupply(world, project.mint);
    for (const method of ['sendBundle', 'getInflightBundleStatuses']) {
      world.gate.intercept(method, async (_call, pass) => ({ ...(await pass()), body: '<html>' }));
    }
    const batch = await openBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    const { status, result } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    world.gate.clear();
    assert.deepEqual([status, result.totalSuccessful], ['EXECUTED', 2]);
    assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
  });
});

describe('an RPC node’s false report of a failed approval', () => {
  it('loses no pipeline: the batch is executed', WITH_BUNDLES, async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    const supply = await tokenSupply(world, project.mint);
    // The approval is sent alone after a lost bundle.
    const sent: string[] = [];
    interceptBundles(world, 'execution', async ([approval = ''], pass) => {
      sent.push(getSignatureFromTransaction(decodeTransaction(approval)));
      if (sent.length > 1) return pass();
      await world.localnet.warp({ slots: 151n });
      return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id: '0', result: '0'.repeat(64) }) };
    });
    let lies = 0;
    world.gate.intercept('getSignatureStatuses', async ({ params }, pass) => {
      const answer = await pass();
      const isAboutIt = JSON.stringify(params).includes(sent[1] ?? '-');
      const isConfirmed = /"confirmationStatus":"(confirmed|finalized)"/.test(answer.body);
      if (lies > 0 || !isAboutIt || !isConfirmed) return answer;
      lies += 1;
      return { ...answer, body: answer.body.replaceAll('"err":null', '"err":{"InstructionError":[1,"GenericError"]}') };
    });
    const { status, result } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    world.gate.clear();
    assert.equal(lies, 1);
    assert.deepEqual([status, result.totalSuccessful], ['EXECUTED', 2], JSON.stringify(result));
    assert.equal(await tokenSupply(world, project.mint), supply - 3_000_000n);
  });
});
