import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { queryObjects } from 'node:v8';
import type { BatchEvent } from '@flywheel/api';
import { executeSigned, openBatch, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { cancel } from '@flywheel/testing/cancel';
import { burnPipeline } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { createProject, requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';
import { startApp } from '../../src/app.ts';
import { parseConfig } from '../../src/config.ts';
import { MAX_STREAMS_PER_HOLDER } from '../../src/http/operations/events.ts';
import { createLog } from '../../src/log.ts';
import { allEvents, type EventStreamAnswer, openEvents } from './event-stream.ts';

const WHOLE_LIFE = [
  'batch.initialized',
  'batch.bundle_sent',
  'batch.bundle_landed',
  'batch.finalized',
  'batch.approval_received',
  'batch.bundle_sent',
  'batch.bundle_landed',
  'batch.executed',
  'batch.bundle_sent',
  'batch.bundle_landed',
  'batch.closed',
];

/** Streams that a client opens and reads to their end. */
const STREAMS = 30;

let world: World;
const operator = await generateKeyPairSigner();
before(async () => {
  world = await openWorld({ COMPANY_OPERATORS: operator.address });
});
after(() => world.stop());

describe('the event stream of a batch', () => {
  it('sends every event as it happens, in order, and ends after the last', async () => {
    const project = await createProject(world);
    const batch = await openBatch(world, project, [burnPipeline(2)]);
    const stream = await follow(project, batch.id);
    assert.equal(stream.status, 200);
    assert.equal(stream.headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.match(stream.headers['cache-control'] ?? '', /no-store/);
    const seen: string[] = [];
    const ids: bigint[] = [];
    for await (const { type, status, ...event } of stream.events) {
      seen.push(type);
      ids.push(BigInt(event.id));
      assert.equal(event.batchId, batch.id);
      if (type === 'batch.finalized') {
        assert.equal(status, 'FINALIZED');
        requireOk(await executeSigned(world, project, batch));
      }
      if (type === 'batch.executed') assert.deepEqual([status, event.executedPipelines], ['EXECUTED', 1]);
      if (type === 'batch.bundle_landed') assert.ok((event.signatures?.length ?? 0) > 0);
    }
    assert.deepEqual(seen, WHOLE_LIFE);
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => Number(a - b)),
    );
    assert.match(stream.text(), /^retry: \d+\n\n/);
  });

  it('continues after the last event ID wherever it broke off, and answers 204 after the last event', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    requireOk(await executeSigned(world, project, batch));
    const whole = await allEvents(await follow(project, batch.id));
    assert.deepEqual(
      whole.map(({ type }) => type),
      WHOLE_LIFE,
    );
    for (const [i, { id }] of whole.entries()) {
      const rest = await follow(project, batch.id, { 'last-event-id': id });
      assert.equal(rest.status, i === whole.length - 1 ? 204 : 200);
      assert.deepEqual(await allEvents(rest), whole.slice(i + 1));
    }
    // The database was restored from a backup since.
    const unknown = String(BigInt(whole.at(-1)?.id ?? 0) + 1n);
    assert.deepEqual(await allEvents(await follow(project, batch.id, { 'last-event-id': unknown })), whole);
    const nonsense = await follow(project, batch.id, { 'last-event-id': 'abc' });
    assert.equal(nonsense.status, 400);
  });

  it('answers 204 for a batch that is over once its events are dropped', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    requireOk(await executeSigned(world, project, batch));
    const events = await allEvents(await follow(project, batch.id));
    assert.equal(events.at(-1)?.type, 'batch.closed');
    await world.db.deleteFrom('batch_events').where('batch_id', '=', batch.id).execute();
    assert.equal((await follow(project, batch.id)).status, 204);
    for (const id of ['0', events.at(-1)?.id ?? '']) {
      assert.equal((await follow(project, batch.id, { 'last-event-id': id })).status, 204);
    }
  });

  it('sends the end of a cancelled batch, and an end that never came on chain', onlyLocal('fail calls'), async () => {
    const project = await createProject(world);
    world.localnet.faults.set({ method: 'getLatestBlockhash', kind: 'error', status: 500 });
    const batch = await openBatch(world, project, [burnPipeline()]);
    const stream = await follow(project, batch.id);
    const [events] = await Promise.all([allEvents(stream), cancel(world, project, batch.id)]);
    world.localnet.faults.clear();
    const ended = events.at(-1);
    assert.equal(ended?.type, 'batch.failed');
    assert.deepEqual(ended?.error, { message: 'The batch was cancelled.' });
    assert.equal(events[0]?.type, 'batch.initialized');
  });

  it('ends for a batch whose setup was sent and never landed', onlyLocal('lose bundles'), async () => {
    const project = await createProject(world);
    world.localnet.faults.set({ method: 'sendBundle', kind: 'drop' });
    const batch = await openBatch(world, project, [burnPipeline()]);
    const stream = await follow(project, batch.id);
    const seen: string[] = [];
    for await (const { type } of stream.events) {
      seen.push(type);
      if (type === 'batch.bundle_sent' && !seen.includes('batch.failed')) await cancel(world, project, batch.id);
    }
    world.localnet.faults.clear();
    assert.ok(seen.includes('batch.failed') && !seen.includes('batch.bundle_landed'), seen.join());
  });

  it('sends what another process records, also after its own database connection was lost', async () => {
    const other = await startApp(
      parseConfig({ ...world.environment, FLYWHEEL_DATA_DIR: '/tmp' }),
      new Set(['http']),
      createLog('error'),
    );
    try {
      const project = await createProject(world);
      const batch = await setUpBatch(world, project, [burnPipeline()]);
      const stream = await follow(project, batch.id, {}, other.url ?? '');
      const seen: string[] = [];
      for await (const { type } of stream.events) {
        seen.push(type);
        if (type !== 'batch.finalized') continue;
        await endListeners();
        requireOk(await executeSigned(world, project, batch));
      }
      assert.deepEqual(seen, WHOLE_LIFE);
    } finally {
      await other.stop();
    }
  });

  it('leaves nothing behind after its end', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    requireOk(await executeSigned(world, project, batch));
    const { constructor: Timer } = setTimeout(() => undefined, 0);
    const readAll = async () => {
      for (let i = 0; i < STREAMS; i++) await allEvents(await follow(project, batch.id));
      return queryObjects(Timer, { format: 'count' });
    };
    const before = await readAll();
    const after = await readAll();
    assert.ok(after - before < STREAMS / 2, `${before} timers, then ${after}`);
  });

  it('opens in the console with a session, only for the project’s wallet and the company', async () => {
    const [project, stranger] = [await createProject(world), await createProject(world)];
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    const path = `/console/api/projects/${project.projectId}/batches/${batch.id}/events`;
    const open = (cookie: string) => openEvents(world.url, path, { cookie });
    for (const cookie of [project.cookie, await signIn(world.url, operator)]) {
      const stream = await open(cookie);
      assert.equal((await stream.events.next()).value?.type, 'batch.initialized');
      stream.close();
    }
    assert.equal((await open(stranger.cookie)).status, 404);
    assert.equal((await open('')).status, 401);
    assert.equal((await follow(stranger, batch.id)).status, 404);
    assert.equal((await follow({ apiKey: '' }, batch.id)).status, 401);
  });

  it('has a maximum of connections, and opens again after one is closed', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    const streams: EventStreamAnswer[] = [];
    for (let i = 0; i < MAX_STREAMS_PER_HOLDER; i++) streams.push(await follow(project, batch.id));
    assert.equal((await follow(project, batch.id)).status, 429);
    const other = await createProject(world);
    const another = await follow(other, (await openBatch(world, other, [burnPipeline()])).id);
    assert.equal(another.status, 200, 'another project’s are counted apart');
    another.close();
    streams[0]?.close();
    const again = await waitUntil(
      'a stream to be given back',
      () => follow(project, batch.id),
      ({ status }) => status === 200,
    );
    for (const stream of [...streams, again]) stream.close();
  });

  it('ends when the server stops, and continues at the next server without a gap', async () => {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    const [stream, unread] = [await follow(project, batch.id), await follow(project, batch.id)];
    const before: BatchEvent[] = [];
    for (let i = 0; i < 4; i++) before.push((await stream.events.next()).value ?? assert.fail());
    const rest = allEvents(stream);
    const begun = performance.now();
    await world.restart();
    assert.deepEqual(await rest, []);
    assert.ok(performance.now() - begun < 15_000, 'no stream holds up a shutdown, read or not');
    unread.close();
    requireOk(await executeSigned(world, project, batch));
    const resumed = await follow(project, batch.id, { 'last-event-id': before.at(-1)?.id ?? '' });
    const types = [...before, ...(await allEvents(resumed))].map(({ type }) => type);
    assert.deepEqual(types, WHOLE_LIFE);
  });
});

function follow(
  { apiKey }: Pick<TestProject, 'apiKey'>,
  batchId: string,
  headers: Readonly<Record<string, string>> = {},
  url: string = world.url,
): Promise<EventStreamAnswer> {
  return openEvents(url, `/v1/flywheel/batch/${batchId}/events`, { 'x-service-api-key': apiKey, ...headers });
}

/** Ends the database connections of listeners, as a restart of the database or an idle timeout of a proxy would. */
async function endListeners(): Promise<void> {
  const { rows } = await sql<{ ended: boolean }>`
    select pg_terminate_backend(pid) as ended from pg_stat_activity where application_name = 'flywheel-events'
      and datname = current_database()
  `.execute(world.db);
  assert.ok(rows.length >= 2 && rows.every(({ ended }) => ended));
}
