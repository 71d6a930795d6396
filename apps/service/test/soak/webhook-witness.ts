import assert from 'node:assert/strict';
import { type CreatedWebhook, type WebhookEvent, WebhookTopic } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { send } from '@flywheel/testing/client';
import { requireOk, type TestProject } from '@flywheel/testing/project';
import { openReceiver, type Received, verifyWebhook } from '@flywheel/testing/webhook-receiver';
import type { World } from '@flywheel/testing/world';
import { sql } from 'kysely';
import type { SoakBatch } from './load.ts';

/** A receiver that gets the events of every batch, whichever processes die. */
export interface WebhookWitness {
  /** Registers the receiver for all events of a project. */
  follow(world: World, project: TestProject): Promise<void>;
  /** Asserts that every batch's end was delivered at least once, correctly, and under one id. */
  assertDelivered(world: World, batches: readonly SoakBatch[]): Promise<void>;
  close(): Promise<void>;
}

/** Settings that a service needs for the witness. */
export const WITNESS_ENVIRONMENT = {
  WEBHOOK_KEY: Buffer.alloc(32, 7).toString('base64'),
  WEBHOOK_ALLOW_PRIVATE: '1',
} as const;

/** The receiver sometimes accepts an event and answers with an error: that event is sent again. */
const REFUSED_PROBABILITY = 0.2;

const ENDS: { readonly [F in SoakBatch['fate']]: readonly WebhookEvent['type'][] } = {
  executed: ['batch.executed'],
  unexecuted: ['batch.failed', 'batch.expired'],
  'ended midway': ['batch.failed', 'batch.expired'],
};

export async function openWebhookWitness(random: () => number): Promise<WebhookWitness> {
  const events: ReturnType<typeof read>[] = [];
  const failures: unknown[] = [];
  const receiver = await openReceiver((received, response) => {
    // Now, because a signature is valid for minutes.
    try {
      events.push(read(received));
    } catch (error) {
      failures.push(error);
    }
    response.writeHead(random() < REFUSED_PROBABILITY ? 500 : 204).end();
  });
  const secrets = new Map<string, string>();
  return {
    async follow({ url }, { projectId, cookie }) {
      const body = { url: `${receiver.url}/${projectId}`, events: WebhookTopic.options };
      const path = `/console/api/projects/${projectId}/webhooks`;
      const { secret }: CreatedWebhook = requireOk(await send(url, 'POST', path, { headers: { cookie }, body }));
      secrets.set(projectId, secret);
    },
    async assertDelivered(world, batches) {
      await waitUntil(
        'every webhook to be delivered',
        () => hasten(world),
        (states) => states.every(({ state }) => state === 'delivered'),
      );
      assert.deepEqual(failures, []);
      const received = Map.groupBy(events, ({ batchId }) => batchId);
      for (const { id, fate } of batches) {
        const ends = (received.get(id) ?? []).filter(({ type }) => type !== 'batch.finalized');
        assert.ok(ends.length > 0, `the end of ${id}, ${fate}, was never sent`);
        assert.equal(new Set(ends.map(({ eventId }) => eventId)).size, 1, `one event, one id: ${JSON.stringify(ends)}`);
        for (const { type } of ends) assert.ok(ENDS[fate].includes(type), `${id}, ${fate}, was sent as ${type}`);
      }
    },
    close: () => receiver.close(),
  };

  function read(received: Received) {
    const { data } = JSON.parse(received.body);
    const event = verifyWebhook(received, secrets.get(data.projectId) ?? '');
    const batchId = 'batchId' in event.data ? event.data.batchId : null;
    return { eventId: received.id, type: event.type, batchId };
  }
}

/**
 * Makes pauses and the leases of dead workers end at once. A live worker in the middle of a delivery then sends it
 * twice.
 */
async function hasten({ db }: World): Promise<readonly { readonly state: string }[]> {
  await sql`
    update webhook_deliveries
    set next_attempt_at = now(), leased_until = case when lease is not null then least(leased_until, now()) end
    where state = 'waiting'
  `.execute(db);
  await sql`select pg_notify('webhooks', '')`.execute(db);
  return db.selectFrom('webhook_deliveries').select('state').execute();
}
