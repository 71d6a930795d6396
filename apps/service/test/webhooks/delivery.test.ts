import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { storeProject } from '@flywheel/testing/records';
import {
  deliveriesOf,
  queueEvent,
  SECRETS,
  startTestDelivering,
  storeEndpoint,
  untilNewest,
} from '@flywheel/testing/webhook-deliveries';
import { type Answer, openReceiver, verifyWebhook } from '@flywheel/testing/webhook-receiver';
import { systemClock } from '../../src/clock.ts';
import { repeatDelivery } from '../../src/store/webhooks/deliveries.ts';
import { claimDueDeliveries, settleDelivery } from '../../src/store/webhooks/due-deliveries.ts';
import { deleteEndpoint, findEndpoint, updateEndpoint } from '../../src/store/webhooks/endpoints.ts';
import { RETRY_PAUSES_MS, retryAt } from '../../src/webhooks/attempt.ts';

const database = await openTestDatabase();
const { db } = database;
// Two receivers of this file hang that long; on a busy machine the others answer within it, too.
startTestDelivering(database, { timeoutMs: 2_000 });

/** Opens a project with one endpoint, whose receiver gives this answer. */
async function open(answer?: Answer) {
  const receiver = await openReceiver(answer);
  const project = await storeProject(db);
  const endpointId = await storeEndpoint(db, project, receiver.url);
  return { receiver, project, endpointId, [Symbol.asyncDispose]: () => receiver.close() };
}

const isOver = ({ state }: { readonly state: string }) => state !== 'waiting';

describe('a delivery', () => {
  it('carries its event, signed as Standard Webhooks defines, and is sent once if it is accepted', async () => {
    await using at = await open((_, response) => response.writeHead(200).end('{"taken": true}'));
    const event = await queueEvent(db, at.project);
    const [received] = await at.receiver.until(1);
    assert.ok(received);
    assert.deepEqual(verifyWebhook(received, SECRETS.show(at.endpointId, 1)), event);
    assert.match(received.id, /^evt_[0-9a-f]{32}$/);
    assert.equal(received.headers['content-type'], 'application/json');
    assert.match(received.headers['user-agent'] ?? '', /^Flywheel/);
    const delivery = await untilNewest(db, at.endpointId, isOver);
    const { state, attempts, lastStatus, lastResponse, eventId, payload } = delivery;
    assert.deepEqual([state, attempts, lastStatus, lastResponse], ['delivered', 1, 200, '{"taken": true}']);
    assert.deepEqual([eventId, payload], [received.id, received.body]);
    assert.equal(at.receiver.received.length, 1);
  });

  it('does not verify with another endpoint’s secret, another version’s, or a changed byte', async () => {
    await using at = await open();
    await queueEvent(db, at.project);
    const [received] = await at.receiver.until(1);
    assert.ok(received);
    const secret = SECRETS.show(at.endpointId, 1);
    assert.throws(() => verifyWebhook(received, SECRETS.show(at.endpointId, 2)));
    assert.throws(() => verifyWebhook(received, SECRETS.show('another', 1)));
    assert.throws(() => verifyWebhook({ ...received, body: `${received.body} ` }, secret));
    assert.throws(() =>
      verifyWebhook({ ...received, headers: { ...received.headers, 'webhook-id': 'evt_1' } }, secret),
    );
  });

  it('is retried under its id after errors, each time with a current signature, until it is accepted', async () => {
    await using at = await open((_, response, place) => response.writeHead(place < 3 ? 503 : 200).end(`no. ${place}`));
    await queueEvent(db, at.project);
    const received = await at.receiver.until(3);
    assert.equal(new Set(received.map(({ id }) => id)).size, 1);
    assert.equal(new Set(received.map(({ body }) => body)).size, 1);
    for (const one of received) verifyWebhook(one, SECRETS.show(at.endpointId, 1));
    const { state, attempts, lastError } = await untilNewest(db, at.endpointId, isOver);
    assert.deepEqual([state, attempts, lastError], ['delivered', 3, null]);
  });

  it('is exhausted after its last attempt, with the reason', async () => {
    await using at = await open((_, response) => response.writeHead(500).end('<h1>no</h1>'));
    await queueEvent(db, at.project);
    const delivery = await untilNewest(db, at.endpointId, isOver);
    const { state, attempts, lastStatus, lastError, lastResponse } = delivery;
    assert.deepEqual([state, attempts, lastStatus, lastResponse], ['failed', 4, 500, '<h1>no</h1>']);
    assert.equal(lastError, 'The receiver answered 500.');
    assert.equal(at.receiver.received.length, 4);
  });

  it('can be sent again on request under its id, whether exhausted or accepted', async () => {
    await using at = await open((_, response, place) => response.writeHead(place <= 4 ? 500 : 204).end());
    await queueEvent(db, at.project);
    const failed = await untilNewest(db, at.endpointId, isOver);
    await repeatDelivery(db, at.endpointId, failed.id, new Date());
    const taken = await untilNewest(db, at.endpointId, isOver);
    assert.deepEqual([taken.id, taken.state, taken.attempts], [failed.id, 'delivered', 5]);
    await repeatDelivery(db, at.endpointId, failed.id, new Date());
    const received = await at.receiver.until(6);
    assert.equal(new Set(received.map(({ id }) => id)).size, 1);
  });

  it('disables its endpoint on 410, and nothing is queued for that any more', async () => {
    await using at = await open((_, response) => response.writeHead(410).end());
    await queueEvent(db, at.project);
    const { state, attempts } = await untilNewest(db, at.endpointId, isOver);
    assert.deepEqual([state, attempts], ['failed', 1]);
    const endpoint = await findEndpoint(db, at.project.id, at.endpointId);
    assert.equal(endpoint?.state, 'disabled');
    assert.match(endpoint?.disabledReason ?? '', /410/);
    await queueEvent(db, at.project);
    assert.equal((await deliveriesOf(db, at.endpointId)).length, 1);
  });

  it('is sent to the new URL if the old one answers 410 after the change', async () => {
    await using at = await open();
    const endpoint = await findEndpoint(db, at.project.id, at.endpointId);
    assert.ok(endpoint);
    await using old = await openReceiver(async (_, response) => {
      await updateEndpoint(db, endpoint);
      response.writeHead(410).end();
    });
    await updateEndpoint(db, { ...endpoint, url: old.url });
    await queueEvent(db, at.project);
    await at.receiver.until(1);
    const { state, attempts } = await untilNewest(db, at.endpointId, isOver);
    assert.deepEqual([state, attempts, old.received.length], ['delivered', 2, 1]);
    assert.equal((await findEndpoint(db, at.project.id, at.endpointId))?.state, 'active');
  });

  it('is signed by both secrets of a rotation while they overlap, then by the new one alone', async () => {
    await using at = await open();
    const endpoint = await findEndpoint(db, at.project.id, at.endpointId);
    assert.ok(endpoint);
    const [first, second] = [1, 2].map((version) => SECRETS.show(at.endpointId, version)) as [string, string];
    const overlapEnds = new Date(Date.now() + 60_000);
    await updateEndpoint(db, { ...endpoint, secretVersion: 2, previousSecretUntil: overlapEnds });
    await queueEvent(db, at.project);
    const [during] = await at.receiver.until(1);
    assert.ok(during);
    assert.match(String(during.headers['webhook-signature']), /^v1,[\w+/]+={0,2} v1,[\w+/]+={0,2}$/);
    verifyWebhook(during, first);
    verifyWebhook(during, second);
    await updateEndpoint(db, { ...endpoint, secretVersion: 2, previousSecretUntil: new Date() });
    await queueEvent(db, at.project);
    const [, later] = await at.receiver.until(2);
    assert.ok(later);
    verifyWebhook(later, second);
    assert.throws(() => verifyWebhook(later, first));
  });

  it('waits while its endpoint is disabled, and is sent when that is enabled', async () => {
    await using at = await open((_, response, place) => response.writeHead(place === 1 ? 500 : 204).end());
    const endpoint = await findEndpoint(db, at.project.id, at.endpointId);
    assert.ok(endpoint);
    await db.transaction().execute(async (trx) => {
      await queueEvent(trx, at.project);
      await updateEndpoint(trx, { ...endpoint, state: 'disabled' });
    });
    const now = systemClock.now();
    assert.deepEqual(await claimDueDeliveries(db, { now, leasedUntil: now, limit: 10 }), []);
    await updateEndpoint(db, endpoint);
    await at.receiver.until(2);
    assert.equal((await untilNewest(db, at.endpointId, isOver)).state, 'delivered');
  });

  it('is logged as not stored if its endpoint is deleted during the attempt', async () => {
    const lonely = await openTestDatabase();
    const logged = Promise.withResolvers<string>();
    const log = { ...quietLog, info: (_: object, message: string) => logged.resolve(message) };
    startTestDelivering(lonely, { log });
    const project = await storeProject(lonely.db);
    await using receiver = await openReceiver((_, response) => {
      void deleteEndpoint(lonely.db, endpointId).then(() => response.writeHead(204).end());
    });
    const endpointId = await storeEndpoint(lonely.db, project, receiver.url);
    await queueEvent(lonely.db, project);
    assert.match(await logged.promise, /result .* not stored/);
  });
});

describe('a receiver', () => {
  const ERRORS: readonly { readonly name: string; readonly answer: Answer; readonly error: RegExp }[] = [
    { name: 'hangs before its answer', answer: () => undefined, error: /no answer within 2 s/ },
    {
      name: 'closes the connection before its answer',
      answer: (_, response) => response.destroy(),
      error: /^The receiver closed the connection without an answer\.$/,
    },
    {
      name: 'redirects',
      answer: (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      error: /answered 302, and redirects are not followed/,
    },
    {
      name: 'speaks no HTTP',
      answer: (_, response) => response.socket?.end('not http at all\r\n\r\n'),
      error: /Parse Error/,
    },
  ];
  for (const { name, answer, error } of ERRORS) {
    it(`that ${name} gets the event again`, async () => {
      await using at = await open((received, response, place) => {
        if (place === 1) answer(received, response, place);
        else response.writeHead(204).end();
      });
      await queueEvent(db, at.project);
      await at.receiver.until(1);
      const refused = await untilNewest(
        db,
        at.endpointId,
        ({ lastError, state }) => lastError !== null || state === 'delivered',
      );
      if (refused.lastError !== null) assert.match(refused.lastError, error);
      assert.equal((await untilNewest(db, at.endpointId, isOver)).state, 'delivered');
      assert.equal(at.receiver.received.length, 2);
    });
  }

  const TAKEN: readonly { readonly name: string; readonly answer: Answer; readonly kept: string }[] = [
    {
      name: 'closes mid-answer',
      answer: (_, response) => {
        response.writeHead(200, { 'content-length': 100 });
        response.write('half', () => response.destroy());
      },
      kept: 'half',
    },
    {
      name: 'never ends its answer',
      answer: (_, response) => response.writeHead(200).write('slow'),
      kept: 'slow',
    },
    {
      name: 'answers without end',
      answer: (_, response) => Readable.from(endlessText()).pipe(response.writeHead(200)),
      kept: 'x'.repeat(1_024),
    },
    {
      name: 'answers what no text column holds',
      answer: (_, response) => response.writeHead(200).end(Buffer.from('a\u0000b\u0007\n\ud83d\ude00é', 'utf8')),
      kept: 'ab\n\ud83d\ude00é',
    },
  ];
  for (const { name, answer, kept } of TAKEN) {
    it(`that ${name} is judged by its status, and its first 1,024 bytes are kept`, async () => {
      await using at = await open(answer);
      await queueEvent(db, at.project);
      const { state, attempts, lastResponse } = await untilNewest(db, at.endpointId, isOver);
      assert.deepEqual([state, attempts, lastResponse], ['delivered', 1, kept]);
      await waitUntil(
        'the connection to be closed',
        async () => at.receiver.open(),
        (count) => count === 0,
      );
    });
  }

  it('that cannot be reached gets the event again', async () => {
    const gone = await openReceiver();
    await gone.close();
    const project = await storeProject(db);
    const endpointId = await storeEndpoint(db, project, gone.url);
    await queueEvent(db, project);
    const { state, lastStatus, lastError } = await untilNewest(db, endpointId, isOver);
    assert.deepEqual([state, lastStatus], ['failed', null]);
    assert.equal(lastError, 'The receiver refused the connection.');
  });

  it('that switches protocols has given no answer, and holds up no worker', async () => {
    await using at = await open((_, { socket }) => {
      socket?.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    await queueEvent(db, at.project);
    const { state, attempts, lastStatus, lastError } = await untilNewest(db, at.endpointId, isOver);
    assert.deepEqual([state, attempts, lastStatus], ['failed', 4, null]);
    assert.equal(lastError, 'The connection closed without an answer.');
  });

  it('gets at most two events at once, and a hanging one delays no other receiver', async () => {
    const patient = await openTestDatabase();
    const worker = startTestDelivering(patient, { timeoutMs: 60_000 });
    const openHere = async (answer?: Answer) => {
      const receiver = await openReceiver(answer);
      const project = await storeProject(patient.db);
      await storeEndpoint(patient.db, project, receiver.url);
      return { receiver, project, [Symbol.asyncDispose]: () => receiver.close() };
    };
    await using slow = await openHere(() => undefined);
    await using quick = await openHere();
    let most = 0;
    await using busy = await openHere((_, response) => {
      most = Math.max(most, busy.receiver.open());
      setTimeout(() => response.writeHead(204).end(), 5);
    });
    for (let i = 0; i < 20; i += 1) await queueEvent(patient.db, slow.project);
    for (let i = 0; i < 20; i += 1) await queueEvent(patient.db, busy.project);
    await queueEvent(patient.db, quick.project);
    await quick.receiver.until(1);
    await busy.receiver.until(20);
    assert.ok(most <= 2, `${most} events at once`);
    // Both attempts at the receiver that hangs are still open.
    await slow.receiver.until(2);
    assert.deepEqual([slow.receiver.open(), slow.receiver.received.length], [2, 2]);
    await slow.receiver.close();
    await worker.stop();
  });
});

describe('several workers', () => {
  it('make every attempt, and none of them twice', async () => {
    await using at = await open();
    const workers = Array.from({ length: 3 }, () => startTestDelivering(database));
    for (let i = 0; i < 30; i += 1) await queueEvent(db, at.project);
    await at.receiver.until(30);
    await waitUntil(
      'all of them',
      () => deliveriesOf(db, at.endpointId),
      (all) => all.every(isOver),
    );
    assert.equal(new Set(at.receiver.received.map(({ id }) => id)).size, 30);
    assert.equal(at.receiver.received.length, 30);
    await Promise.all(workers.map((worker) => worker.stop()));
  });

  it('repeat the attempt of a dead worker under the same id, and ignore its late result', async () => {
    const lonely = await openTestDatabase();
    await using receiver = await openReceiver();
    const project = await storeProject(lonely.db);
    const endpointId = await storeEndpoint(lonely.db, project, receiver.url);
    await queueEvent(lonely.db, project);
    const now = new Date();
    const lease = { now, leasedUntil: new Date(now.getTime() + 300), limit: 10 };
    const [dead, ...more] = await claimDueDeliveries(lonely.db, lease);
    assert.ok(dead);
    assert.deepEqual([more, await claimDueDeliveries(lonely.db, lease)], [[], []]);
    const worker = startTestDelivering(lonely);
    // The end of a lease is not announced; the next poll finds it.
    await waitUntil(
      'its lease to run out',
      async () => Date.now(),
      (at) => at > lease.leasedUntil.getTime(),
    );
    await queueEvent(lonely.db, project);
    const received = await receiver.until(2);
    assert.ok(received.some(({ id }) => id === dead.eventId));
    const failed = { kind: 'rejected', status: 500, response: null, error: 'late', retryAt: null } as const;
    assert.equal(await settleDelivery(lonely.db, dead, failed, new Date()), false);
    await waitUntil(
      'both',
      () => deliveriesOf(lonely.db, endpointId),
      (all) => all.every(({ state }) => state === 'delivered'),
    );
    await worker.stop();
  });

  it('release hanging attempts when they stop, and another worker repeats them at once', async () => {
    const lonely = await openTestDatabase();
    let isHanging = true;
    await using receiver = await openReceiver((_, response) => {
      if (!isHanging) response.writeHead(204).end();
    });
    const project = await storeProject(lonely.db);
    const endpointId = await storeEndpoint(lonely.db, project, receiver.url);
    const clock = { ...systemClock, sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 50, signal) };
    const worker = startTestDelivering(lonely, { clock, timeoutMs: 60_000 });
    await queueEvent(lonely.db, project);
    await receiver.until(1);
    await worker.stop();
    isHanging = false;
    startTestDelivering(lonely);
    const [first, second] = await receiver.until(2);
    assert.equal(first?.id, second?.id);
    assert.equal((await untilNewest(lonely.db, endpointId, isOver)).state, 'delivered');
  });
});

describe('the pauses between attempts', () => {
  const now = new Date('2026-11-21T12:00:00.000Z');
  it('grow over ten attempts, and end within 24 h for any random numbers', () => {
    for (const random of [0, 0.5, 1 - Number.EPSILON]) {
      let at = now;
      for (let tries = 1; tries <= RETRY_PAUSES_MS.length; tries += 1) {
        const next = retryAt({ pausesMs: RETRY_PAUSES_MS, random: () => random }, tries, at);
        assert.ok(next && next > at);
        at = next;
      }
      assert.equal(retryAt({ pausesMs: RETRY_PAUSES_MS, random: () => random }, RETRY_PAUSES_MS.length + 1, at), null);
      const hours = (at.getTime() - now.getTime()) / 3_600_000;
      assert.ok(hours > 20 && hours < 24, `${hours} h`);
    }
  });
});

function* endlessText(): Generator<string> {
  for (;;) yield 'x'.repeat(65_536);
}
