import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Batch } from '@flywheel/api';
import { createFlywheelClient, isFlywheelError } from '@flywheel/sdk';
import {
  BATCH_CANCELLED,
  BATCH_REJECTED,
  type Collector,
  type CollectorAlarm,
  type CollectorStore,
  createVolatileMemoryStore,
} from '@flywheel/sdk/collector';
import { waitUntil } from '@flywheel/testing/batches';
import { generateKeyPairSigner } from '@solana/kit';
import { startStubService } from '../stub-service.ts';
import type { Behaviour, FakeService } from './fake-service.ts';
import { type CollectorWorld, event, nameEvents, openCollectorWorld } from './open-collector.ts';

let world: CollectorWorld;
before(async () => {
  world = await openCollectorWorld();
});

const NOTHING_EXECUTED = { total: 1, totalSuccessful: 0, totalFailed: 1, successfulExecutions: [] };
/** One batch of two. */
const TOGETHER = { maxItems: 2, maxAgeMs: 600_000 };

describe('a batch that a fork undoes after its execution', () => {
  it('is followed until it is executed again, and sends its events in no other', async () => {
    const service = world.serve();
    const alarms: CollectorAlarm[] = [];
    const undone = showing(service, (executed) => (executed === 2 ? { status: 'FINALIZED' } : null));
    const collector = await world.open(undone, createVolatileMemoryStore(), {
      finalAfterMs: 5,
      onAlarm: (alarm) => alarms.push(alarm),
    });
    await collector.collect(event('a', 'ada'));
    await collector.idle();
    assert.deepEqual([service.inits, service.paid], [[['a']], ['a']]);
    assert.match(JSON.stringify(alarms), /is still FINALIZED/);
    await collector.stop();
  });

  it('counts as paid what is final, and stops the collector if nothing says why the rest failed', async () => {
    const service = world.serve();
    const executeResult = {
      total: 2,
      totalSuccessful: 1,
      totalFailed: 1,
      successfulExecutions: [],
      failedTxMsg: 'Fork.',
    };
    const undone = showing(service, (executed) => (executed === 2 ? { status: 'FAILED', executeResult } : null));
    const collector = await world.open(undone, createVolatileMemoryStore(), { ...TOGETHER, finalAfterMs: 5 });
    await collectTwo(collector);
    assert.match(String(await errorOf(collector)), /ended FAILED after 1 of 2 pipelines: Fork\./);
    assert.deepEqual(await statesOf(collector), ['paid', 'pending']);
    assert.equal(service.inits.length, 1);
    await collector.stop();
  });
});

describe('a batch', () => {
  it('is paid when it is executed, also without a result', async () => {
    const service = world.serve();
    const silent = showing(service, () => ({ executeResult: undefined }));
    const collector = await world.open(silent, createVolatileMemoryStore(), TOGETHER);
    await collectTwo(collector);
    await collector.idle();
    assert.deepEqual([service.inits, await statesOf(collector)], [[['a', 'b']], ['paid', 'paid']]);
    await collector.stop();
  });

  for (const mergeAirdrops of [false, true]) {
    const shared = mergeAirdrops ? ', which share a pipeline,' : '';
    it(`that a person has cancelled leaves its events${shared} to a person, and the others go on`, async () => {
      const service = world.serve();
      nameEvents(service, [event('a', 'ada'), event('b', 'ada')]);
      const client = createFlywheelClient({ url: 'http://fake', apiKey: 'fw_key', fetch: service.fetch });
      const asked: string[] = [];
      const collector = await world.open(service, createVolatileMemoryStore(), {
        ...{ ...TOGETHER, mergeAirdrops, approval: 'person' },
        onAlarm: (alarm) => {
          if (alarm.kind !== 'approvalNeeded') return;
          const { batchId } = alarm;
          asked.push(batchId);
          if (asked.length === 1) client.cancelBatch(batchId);
          else client.executeBatch({ batchId, signedTx: 'signed' });
        },
      });
      await collectTwo(collector);
      await collector.idle();
      const reason = { code: BATCH_CANCELLED, message: `Batch ${asked[0]}: Cancelled.` };
      for (const id of ['a', 'b']) {
        const status = await collector.status(id);
        assert.deepEqual([status?.state, status?.reason], ['quarantined', reason]);
      }
      await collector.collect(event('c', 'ada'));
      await collector.requeue('a');
      await collector.idle();
      assert.deepEqual(await statesOf(collector), ['paid', 'quarantined']);
      assert.deepEqual(
        [service.inits[0], service.paid.toSorted()],
        [
          ['a', 'b'],
          ['a', 'c'],
        ],
      );
      await collector.stop();
    });
  }

  it('of which a person of the company rejects the rest leaves that to a person', async () => {
    const service = world.serve();
    const executeResult = {
      ...NOTHING_EXECUTED,
      total: 2,
      totalSuccessful: 1,
      failedTxMsg: 'The company rejected it.',
    };
    const rejected = showing(service, () => ({ status: 'FAILED', endCause: 'rejected', executeResult }));
    const collector = await world.open(rejected, createVolatileMemoryStore(), TOGETHER);
    await collectTwo(collector);
    await collector.idle();
    assert.deepEqual(await statesOf(collector), ['paid', 'quarantined']);
    const { code, message = '' } = (await collector.status('b'))?.reason ?? {};
    assert.equal(code, BATCH_REJECTED);
    assert.match(message, /^Batch \S+: The company rejected it\.$/);
    await collector.stop();
  });

  it('stops the collector when it has failed without a cause, although a check has named a recipient', async () => {
    const service = world.serve();
    const problem = { code: 'ERR_BATCH_WOULD_FAIL', message: 'Frozen.', place: 'pipelines[0].actions[0]' } as const;
    const executionError = {
      code: problem.code,
      message: problem.message,
      problems: [{ ...problem, recipient: 'ada' }],
    };
    let reads = 0;
    const cancelled = showing(service, () => {
      reads += 1;
      return reads === 1 ? null : { status: 'FAILED', executeResult: NOTHING_EXECUTED, executionError };
    });
    const collector = await world.open(cancelled, createVolatileMemoryStore(), { approval: 'person' });
    await collector.collect(event('a', 'ada'));
    assert.match(String(await errorOf(collector)), /ended FAILED after 0 of 1 pipelines/);
    assert.equal(service.inits.length, 1);
    await collector.stop();
  });

  it('keeps its events from being dropped while it is open', async () => {
    const service = world.serve();
    const collector = await world.open(service, createVolatileMemoryStore(), { approval: 'person' });
    await collector.collect(event('a', 'ada'));
    await until(() => collector.metrics().waitingFor?.kind === 'approvalNeeded');
    await assert.rejects(
      collector.drop('a'),
      (error) => isFlywheelError(error, 'ERR_ITEM_STATE') && /it is pending and in an open batch\./.test(error.message),
    );
    assert.deepEqual([(await collector.status('a'))?.state, collector.metrics().dropped], ['pending', 0]);
    await collector.stop();
  });
});

describe('a batch that has failed, by the word of the service', () => {
  const failed = { status: 'FAILED', executeResult: { ...NOTHING_EXECUTED, failedTxMsg: 'Expired.' } } as const;

  it('is not sent again before a node shows the proposal that the wallet has signed', async () => {
    const service = world.serve();
    const store = createVolatileMemoryStore();
    await signAndStop(service, store);
    assert.deepEqual(service.paid, ['a']);
    const failedRecipient = { pipeline: 0, action: 0, recipient: 'ada', reason: 'Frozen.' };
    const lying = showing(service, () => ({ ...failed, executeResult: { ...NOTHING_EXECUTED, failedRecipient } }));
    // This node is behind: it shows neither the multisig nor the proposal.
    await using node = await startStubService(() => ({
      status: 200,
      body: { jsonrpc: '2.0', id: 1, result: { context: { slot: 1 }, value: [null, null, null] } },
    }));
    const collector = await world.open(lying, store, { approval: await verifying(node.url) });
    await until(() => node.received.length > 1 || service.inits.length > 1);
    assert.equal(service.inits.length, 1);
    assert.deepEqual(service.paid, ['a']);
    assert.equal((await collector.status('a'))?.isInBatch, true);
    assert.equal(collector.stopped.error, null);
    await collector.stop();
  });

  it('asks no node for a proposal if the wallet has signed none', async () => {
    const service = world.serve();
    const neverSetUp = showing(service, () => failed);
    await using node = await startStubService(() => ({ status: 500, body: 'It is not asked.' }));
    const collector = await world.open(neverSetUp, createVolatileMemoryStore(), {
      approval: await verifying(node.url),
    });
    await collector.collect(event('a', 'ada'));
    assert.match(String(await errorOf(collector)), /ended FAILED after 0 of 1 pipelines: Expired\./);
    await collector.stop();
  });
});

it('an event whose handler has requeued it is reported again when it is paid meanwhile', async () => {
  let behaviour: Behaviour | undefined = 'noWallet';
  const paid: string[] = [];
  const collector = await world.open(
    world.serve(() => behaviour),
    createVolatileMemoryStore(),
    {
      onPaid: ({ id }) => paid.push(id),
      onRejected: async ({ id }) => {
        behaviour = undefined;
        await collector.requeue(id);
        await until(() => collector.metrics().paid === 1);
      },
    },
  );
  await collector.collect(event('a', 'ada'));
  await collector.idle();
  assert.deepEqual(paid, ['a']);
  await collector.stop();
});

/**
 * A service that shows another batch than it has.
 * @param change gets the number of the reads that have shown the batch as executed, this one included.
 */
function showing(
  { fetch }: FakeService,
  change: (executed: number) => Partial<Batch> | null,
): Pick<FakeService, 'fetch'> {
  let executed = 0;
  return {
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if ((init?.method ?? 'GET') !== 'GET' || String(input).includes('/batches')) return response;
      const batch = (await response.json()) as Batch; // as each answer to this request
      if (batch.status === 'EXECUTED') executed += 1;
      return Response.json({ ...batch, ...change(executed) });
    },
  };
}

/** Has a wallet sign a batch that the service executes, and stops before the collector knows. */
async function signAndStop(service: FakeService, store: CollectorStore): Promise<void> {
  const lossy: typeof fetch = async (input, init) => {
    const response = await service.fetch(input, init);
    if (!String(input).endsWith('/execute')) return response;
    return Response.json({ error: 'ERR_UNAVAILABLE', message: 'Later.' }, { status: 503 });
  };
  const collector = await world.open({ fetch: lossy }, store, { retryMs: [600_000, 600_000] });
  await collector.collect(event('a', 'ada'));
  await until(() => service.paid.length > 0);
  await collector.stop();
}

async function verifying(rpcUrl: string) {
  return { wallet: await generateKeyPairSigner(), verify: { rpcUrl } };
}

async function collectTwo(collector: Collector): Promise<void> {
  await Promise.all(['a', 'b'].map((id) => collector.collect(event(id, 'ada'))));
}

function statesOf(collector: Collector): Promise<(string | undefined)[]> {
  return Promise.all(['a', 'b'].map(async (id) => (await collector.status(id))?.state));
}

/** Resolves when the collector has stopped, with its error. */
async function errorOf({ stopped }: Collector): Promise<unknown> {
  await until(() => stopped.signal.aborted);
  return stopped.error;
}

async function until(isTrue: () => boolean): Promise<void> {
  await waitUntil('the collector', isTrue, (isSo) => isSo, { intervalMs: 5 });
}
