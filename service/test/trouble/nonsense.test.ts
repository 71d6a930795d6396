import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { burnPipeline } from '../client.ts';
import { executeSigned, openBatch, readBatch, untilBatch } from '../execution/batches.ts';
import { supplyOf } from '../execution/chain.ts';
import { createProject, requireOk, type TestProject } from '../project.ts';
import { makeDue } from '../soak/queue-time.ts';
import { type GatedWorld, openGatedWorld } from './gate.ts';

let world: GatedWorld;
let other: TestProject;
before(async () => {
  world = await openGatedWorld({ LOG_LEVEL: 'fatal' });
  other = await createProject(world);
});
after(() => world.stop());

describe('an RPC node that answers nonsense', () => {
  const NONSENSE = {
    'an HTML page': () => '<html><body>Welcome</body></html>',
    'JSON that is cut off': (body: string) => body.slice(0, body.length / 2),
    nothing: () => '',
    'a result of another shape': () => '{"jsonrpc":"2.0","id":1,"result":{"value":"soon"}}',
    'fewer accounts than asked for': () => '{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":1},"value":[]}}',
    'an error that is none': () => '{"jsonrpc":"2.0","id":1,"error":"no"}',
  };
  for (const [name, nonsense] of Object.entries(NONSENSE)) {
    it(`pauses the batch it is asked about, which says so; others go on, and so does it afterwards: ${name}`, async () => {
      const project = await createProject(world);
      world.gate.treat('getMultipleAccounts', async ({ params }, pass) => {
        const answer = await pass();
        return JSON.stringify(params).includes(project.multisig) ? { ...answer, body: nonsense(answer.body) } : answer;
      });
      const batch = await openBatch(world, project, [burnPipeline(2)]);
      const supply = await supplyOf(world, project.mint);
      const paused = await untilBatch(world, project, batch.id, ({ executionError }) => executionError !== undefined);
      assert.equal(paused.status, 'AVAILABLE_TO_QUEUE');
      assert.equal(paused.executionError?.code, 'ERR_BATCH_EXECUTE_FAILED');
      const stranger = await openBatch(world, other, [burnPipeline()]);
      const { status } = requireOk(await executeSigned(world, other, stranger, { prefer: 'wait=60' }));
      assert.equal(status, 'EXECUTED');

      world.gate.clear();
      await makeDue(world, 'setup', batch.id);
      const ended = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
      assert.equal(ended.status, 'EXECUTED');
      assert.equal('executionError' in (await readBatch(world, project, batch.id)), false);
      assert.equal(await supplyOf(world, project.mint), supply - 2_000_000n);
    });
  }
});

describe('a block engine that answers nonsense', () => {
  it('has the chain say what landed: tokens move once', async () => {
    const project = await createProject(world);
    const supply = await supplyOf(world, project.mint);
    for (const method of ['sendBundle', 'getInflightBundleStatuses']) {
      world.gate.treat(method, async (_call, pass) => ({ ...(await pass()), body: '<html>' }));
    }
    const batch = await openBatch(world, project, [burnPipeline(1), burnPipeline(2)]);
    const { status, result } = requireOk(await executeSigned(world, project, batch, { prefer: 'wait=60' }));
    world.gate.clear();
    assert.deepEqual([status, result.totalSuccessful], ['EXECUTED', 2]);
    assert.equal(await supplyOf(world, project.mint), supply - 3_000_000n);
  });
});
