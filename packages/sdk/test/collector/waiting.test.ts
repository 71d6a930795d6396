import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Batch } from '@flywheel/api';
import { createFlywheelClient } from '@flywheel/sdk';
import { type Collector, createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { waitUntil } from '@flywheel/testing/batches';
import { type CollectorWorld, event, openCollectorWorld } from './open-collector.ts';

let world: CollectorWorld;
before(async () => {
  world = await openCollectorWorld();
});

describe('the metrics of a collector', () => {
  it('name the batch that waits for a person, also after another batch has been paid', async () => {
    const service = world.serve();
    const client = createFlywheelClient({ url: 'http://fake', apiKey: 'fw_key', fetch: service.fetch });
    const asked: string[] = [];
    const collector = await world.open(service, createVolatileMemoryStore(), {
      ...{ approval: 'person', maxItems: 1 },
      onAlarm: (alarm) => alarm.kind === 'approvalNeeded' && asked.push(alarm.batchId),
    });
    await Promise.all(['a', 'b'].map((id) => collector.collect(event(id, id))));
    await until(() => asked.length === 2);
    const [left, approved = ''] = asked;
    await client.executeBatch({ batchId: approved, signedTx: 'signed by a person' });
    await until(() => collector.metrics().paid === 1);
    const { waitingFor } = collector.metrics();
    assert.deepEqual(waitingFor, { kind: 'approvalNeeded', batchId: left, items: 1 });
    await collector.stop();
  });

  it('name nothing that waits while another process pays', async () => {
    const store = createVolatileMemoryStore();
    const collector = await world.open(world.serve(), store, { approval: 'person', leaseMs: 1_000 });
    await collector.collect(event('a', 'ada'));
    await until(() => collector.metrics().waitingFor !== null);
    const epoch = (await store.claim()) ?? 0;
    await store.renew(epoch, 600_000);
    await until(() => collector.metrics().waitingFor === null);
    await collector.stop();
  });

  for (const approval of ['wallet', 'person'] as const) {
    it(`say that a batch which the ${approval} has approved waits for the company`, async () => {
      const service = world.serve();
      let isApproved = approval === 'wallet';
      let isDecided = false;
      const manual: typeof fetch = async (input, init) => {
        const path = String(input);
        if (path.endsWith('/execute') && !isDecided) {
          return Response.json({ batchId: BATCH_ID, status: 'FINALIZED' }, { status: 202 });
        }
        const response = await service.fetch(input, init);
        if ((init?.method ?? 'GET') !== 'GET' || path.includes('/batches')) return response;
        const batch = (await response.json()) as Batch; // as each answer to this request
        return Response.json({ ...batch, ...(isApproved && batch.status === 'FINALIZED' && { awaitsCompany: true }) });
      };
      const collector = await world.open({ fetch: manual }, createVolatileMemoryStore(), {
        ...(approval === 'person' && { approval }),
      });
      await collector.collect(event('a', 'ada'));
      if (approval === 'person') {
        await until(() => collector.metrics().waitingFor?.kind === 'approvalNeeded');
        isApproved = true;
      }
      await until(() => codeOf(collector) === 'AWAITS_COMPANY');
      isDecided = true;
      const client = createFlywheelClient({ url: 'http://fake', apiKey: 'fw_key', fetch: service.fetch });
      await client.executeBatch({ batchId: BATCH_ID, signedTx: 'signed' });
      await collector.idle();
      assert.equal(collector.metrics().waitingFor, null);
      await collector.stop();
    });
  }
});

/** Id of the first batch of a service. */
const BATCH_ID = '00000000-0000-8000-8000-000000000000';

function codeOf(collector: Collector): string | null {
  const { waitingFor } = collector.metrics();
  return waitingFor?.kind === 'waiting' ? waitingFor.code : null;
}

async function until(isTrue: () => boolean): Promise<void> {
  await waitUntil('the collector', isTrue, (isSo) => isSo, { intervalMs: 5 });
}
