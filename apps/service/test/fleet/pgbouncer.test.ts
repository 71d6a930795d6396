import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { CreatedWebhook, WebhookDelivery } from '@flywheel/api';
import {
  assertError,
  executeSigned,
  openBatch,
  readBatch,
  setUpBatch,
  waitForBatch,
  waitUntil,
} from '@flywheel/testing/batches';
import { burnPipeline, getBatch, send } from '@flywheel/testing/client';
import { approveForCompany, type Decider, rejectForCompany, setPolicy } from '@flywheel/testing/decisions';
import { type PgBouncer, startPgBouncer, WITH_PGBOUNCER } from '@flywheel/testing/pgbouncer';
import { createPooledLogin } from '@flywheel/testing/pooled-world';
import { openTestDatabase, TEST_ROLES } from '@flywheel/testing/postgres';
import { createProject, requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import { openReceiver, verifyWebhook } from '@flywheel/testing/webhook-receiver';
import { openWorld, type World } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';
import pg from 'pg';
import { askToExecute, initialize, type SoakBatch, VAULT_BASE_UNITS } from '../soak/load.ts';
import { assertExact, awaitRest } from '../soak/soak.ts';
import { WITNESS_ENVIRONMENT } from '../soak/webhook-witness.ts';
import { type Fleet, openFleet } from './fleet.ts';

const BATCHES = 6;
const PIPELINES = 8;
const REST_SECONDS = 120;

const database = await openTestDatabase();

describe('two serving and two working processes behind PgBouncer in transaction mode', WITH_PGBOUNCER, () => {
  let logins: readonly string[];
  let pgbouncer: PgBouncer;
  let fleet: Fleet;
  let first: World;
  let second: World;
  let operator: Decider;
  let ear: Ear;
  before(async () => {
    const { DATABASE_SERVE_ROLE, DATABASE_WORK_ROLE } = TEST_ROLES;
    const [serve, work] = await Promise.all(
      [DATABASE_SERVE_ROLE, DATABASE_WORK_ROLE].map((role) => createPooledLogin(database.db, [role])),
    );
    assert.ok(serve && work);
    logins = [serve, work];
    // Fewer connections of each login than its two processes have.
    pgbouncer = await startPgBouncer(database.url, logins, { default_pool_size: '6' });
    const waysOf = (login: string) => {
      const direct = database.url.replace('flywheel@', `${login}@`);
      return { DATABASE_URL: pgbouncer.through(direct), DATABASE_DIRECT_URL: direct };
    };
    const openDatabase = async () => database;
    const ways = { serve: waysOf(serve), work: waysOf(work) };
    const wallet = await generateKeyPairSigner();
    const environment = { ...WITNESS_ENVIRONMENT, COMPANY_OPERATORS: wallet.address };
    fleet = await openFleet(environment, { openDatabase, working: 2, ...ways });
    [first, second] = fleet.addresses;
    operator = { wallet, cookie: await signIn(first.url, wallet) };
    ear = await listenLike(logins);
  });
  after(async () => {
    await ear?.stop();
    await fleet?.stop();
    await pgbouncer?.stop();
  });

  it('execute every batch once, and stream its events', async () => {
    const projects = [
      await createProject(first, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 }),
      await createProject(second, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 }),
    ] as const;
    const batches: SoakBatch[] = [];
    let stream: Promise<string> | null = null;
    for (let i = 0; i < BATCHES; i += 1) {
      const [project, door, other] = i % 2 === 0 ? [projects[0], first, second] : [projects[1], second, first];
      const { batch, proposalApproveTx } = await initialize(door, project, PIPELINES);
      stream ??= readEvents(other, project.apiKey, batch.id);
      await askToExecute(other, project, batch.id, proposalApproveTx);
      batches.push({ ...batch, fate: 'executed' });
    }
    await awaitRest(first, REST_SECONDS);
    await assertExact(first, { projects, batches });
    assert.match((await stream) ?? '', /EXECUTED/);
  });

  it('prove to everyone what one process initialized and another was asked to execute', async () => {
    const project = await createProject(first);
    const event = { type: 'WATCH_AD', payload: JSON.stringify({ adId: randomUUID() }) };
    const batch = await openBatch(first, project, [{ ...burnPipeline(), ...event }]);
    assert.equal(requireOk(await executeSigned(second, project, batch)).status, 'EXECUTED');
    const { verdict, pipelines } = requireOk(await send(first.url, 'POST', '/console/api/proof', { body: event }));
    assert.deepEqual([verdict, pipelines.length, pipelines[0]?.batchId], ['proven', 1, batch.id]);
  });

  it('deliver webhooks: again after a refusal, and again on request', async () => {
    await using receiver = await openReceiver((_received, response, place) =>
      response.writeHead(place === 1 ? 500 : 204).end(),
    );
    const project = await createProject(first);
    const ask = async (method: string, path: string, body?: unknown) => {
      const options = { headers: { cookie: project.cookie }, ...(body !== undefined && { body }) };
      return requireOk(
        await send(first.url, method, `/console/api/projects/${project.projectId}/webhooks${path}`, options),
      );
    };
    const { webhook, secret }: CreatedWebhook = await ask('POST', '', {
      url: receiver.url,
      events: ['batch.executed'],
    });
    const batch = await openBatch(second, project, [burnPipeline()]);
    assert.equal(requireOk(await executeSigned(first, project, batch)).status, 'EXECUTED');
    const path = `/${webhook.webhookId}/deliveries`;
    const untilDelivered = async (attempts: number): Promise<WebhookDelivery> => {
      const read = async (): Promise<WebhookDelivery[]> => (await ask('GET', path)).deliveries;
      const isIt = (seen?: WebhookDelivery) => seen?.state === 'delivered' && seen.attempts >= attempts;
      const [delivery] = await waitUntil('the delivery', read, ([newest]) => isIt(newest));
      return delivery ?? assert.fail('waitUntil has seen it.');
    };
    const { deliveryId, attempts } = await untilDelivered(2);
    await ask('POST', `${path}/${deliveryId}/redeliver`, {});
    await untilDelivered(attempts + 1);
    const received = await receiver.until(attempts + 1);
    for (const each of received) {
      const { type, data } = verifyWebhook(each, secret);
      assert.deepEqual([type, 'batchId' in data && data.batchId], ['batch.executed', batch.id]);
    }
    assert.equal(new Set(received.map(({ id }) => id)).size, 1);
  });

  it('cancel a batch, which is closed on chain and never executed', async () => {
    const project = await createProject(first);
    const batch = await setUpBatch(first, project, [burnPipeline()]);
    const path = `/v1/flywheel/batch/${batch.id}/cancel`;
    assert.equal(requireOk(await send(second.url, 'POST', path, { key: project.apiKey })).status, 'FAILED');
    assertError(await executeSigned(first, project, batch), 409, 'ERR_BATCH_NOT_EXECUTABLE', /cancelled/);
    const { ledger } = await waitUntil(
      'the closing',
      async () => requireOk(await getBatch(first.url, project.apiKey, batch.id, '?include=ledger')),
      (seen) => seen.ledger.isComplete,
    );
    assert.equal(ledger.rentBackLamports, ledger.rentOutLamports);
  });

  it('wait for a person of the company where a rule says so, who approves or rejects', async () => {
    const project = await createProject(first);
    requireOk(await setPolicy(first, operator, project, { personPerBatch: '4' }));
    const approved = await untilWaiting(project);
    requireOk(await approveForCompany(first, operator, approved));
    await waitForBatch(second, project, approved, ({ status }) => status === 'EXECUTED');
    const rejected = await untilWaiting(project);
    const verdict = requireOk(await rejectForCompany(first, operator, rejected, 'The order was placed twice.'));
    assert.equal(verdict.status, 'FAILED');
    const { executeResult } = await waitForBatch(second, project, rejected, ({ status }) => status === 'FAILED');
    assert.match(executeResult?.failedTxMsg ?? '', /The order was placed twice/);
  });

  it('run a failed job again on request, and then the jobs that waited for it', async () => {
    const project = await createProject(first);
    const earlier = await openBatch(first, project, [burnPipeline()]);
    assert.equal(requireOk(await executeSigned(second, project, earlier)).status, 'EXECUTED');
    const failed = await failClosing(earlier.id);
    const batch = await setUpBatch(first, project, [burnPipeline()]);
    assert.equal((await executeSigned(second, project, batch, { prefer: 'wait=0' })).status, 202);
    assert.equal((await readBatch(second, project, batch.id)).status, 'FINALIZED');
    const options = { headers: { cookie: operator.cookie }, body: {} };
    const retried = await send(first.url, 'POST', `/console/api/company/jobs/${failed}/retry`, options);
    assert.deepEqual(requireOk(retried), { jobId: failed });
    await waitForBatch(second, project, batch.id, ({ status }) => status === 'EXECUTED');
  });

  /** Opens a batch that a person of the company must approve, and waits until one is asked. @returns its id. */
  async function untilWaiting(project: TestProject): Promise<string> {
    const batch = await setUpBatch(first, project, [burnPipeline(5)]);
    assert.equal((await executeSigned(second, project, batch, { prefer: 'wait=0' })).status, 202);
    const { cookie } = operator;
    await waitUntil(
      'the question to the company',
      async () =>
        requireOk(await send(first.url, 'GET', '/console/api/company/waiting', { headers: { cookie } })).batches,
      (batches: readonly { readonly id: string }[]) => batches.some(({ id }) => id === batch.id),
    );
    return batch.id;
  }

  /** Lets the closing of a batch have failed for good: no other job of its multisig runs. @returns its id. */
  async function failClosing(batchId: string): Promise<string> {
    // While another job of the multisig runs, the queue refuses a failed one.
    const fail = () =>
      sql<{ id: string }>`
        update jobs.job j set state = 'failed', completed_on = now()
        where data->>'batchId' = ${batchId} and data->>'type' = 'close' and state = 'created' and not exists (
          select from jobs.job other where other.singleton_key = j.singleton_key and other.state in ('active', 'retry')
        )
        returning id
      `.execute(database.db);
    const { rows } = await waitUntil('the end of the running job', fail, (done) => done.rows.length > 0);
    return rows[0]?.id ?? assert.fail('The job is not in the queue.');
  }

  it('wake each other: what is committed through PgBouncer is heard around it', async () => {
    for (const channel of [/^batch_events$/, /^webhooks$/, /^pgboss_/]) {
      assert.ok(
        [...ear.heard].some((heard) => channel.test(heard)),
        `${channel}: ${[...ear.heard]}`,
      );
    }
  });

  it('leave nothing of a session in the connections that clients share', async () => {
    const { db } = database;
    const shared = await pgbouncer.serverProcesses();
    assert.ok(shared.length > 0);
    const locks = await sql`select from pg_locks where locktype = 'advisory' and pid = any(${shared})`.execute(db);
    assert.equal(locks.rows.length, 0);
    const { rows } = await sql<{ name: string; query: string; isShared: boolean }>`
      select application_name as name, query, pid = any(${shared}) as "isShared" from pg_stat_activity
      where datname = current_database() and usename = any(${logins})
    `.execute(db);
    const listening = rows.filter(({ query }) => query.startsWith('listen '));
    // Events in each serving process, jobs in each working one.
    assert.ok(listening.length >= 4, JSON.stringify(rows));
    assert.ok(listening.every(({ isShared, name }) => !isShared && name === 'flywheel-events'));
    assert.equal(rows.filter(({ name, isShared }) => name === 'flywheel-worker' && !isShared).length, 2);
  });
});

describe('a world of the tests with the pooler PgBouncer', WITH_PGBOUNCER, () => {
  it('has a service that queries through PgBouncer, and a direct connection for each thing that needs a session', async (test) => {
    const world = await openWorld({}, { pooler: 'pgbouncer' });
    test.after(() => world.stop());
    await world.restart();
    const project = await createProject(world);
    const batch = await openBatch(world, project, [burnPipeline()]);
    assert.equal(requireOk(await executeSigned(world, project, batch)).status, 'EXECUTED');
    const shared = (await world.pooler?.serverProcesses()) ?? [];
    assert.ok(shared.length > 0);
    const { rows } = await sql<{ name: string; isShared: boolean }>`
      select application_name as name, pid = any(${shared}) as "isShared" from pg_stat_activity
      where datname = current_database() and usename <> current_user
    `.execute(world.db);
    const direct = rows.filter(({ isShared }) => !isShared).map(({ name }) => name);
    assert.deepEqual([...new Set(direct)].toSorted(), ['flywheel-events', 'flywheel-worker']);
  });
});

interface Ear {
  /** Channels on which something was heard. */
  readonly heard: ReadonlySet<string>;
  stop(): Promise<void>;
}

/** Listens, around PgBouncer, on every channel on which the processes of these logins listen. */
async function listenLike(logins: readonly string[]): Promise<Ear> {
  const read = async () => {
    const { rows } = await sql<{ query: string }>`
      select distinct query from pg_stat_activity
      where datname = current_database() and usename = any(${logins}) and query like 'listen %'
    `.execute(database.db);
    return rows;
  };
  // Events, jobs and webhooks.
  const found = await waitUntil('three channels', read, (rows) => rows.length >= 3);
  const heard = new Set<string>();
  const client = new pg.Client(database.poolConfig);
  client.on('notification', ({ channel }) => heard.add(channel));
  await client.connect();
  for (const { query } of found) await client.query(query);
  return { heard, stop: () => client.end() };
}

/** Reads the events of a batch until the stream ends. */
async function readEvents({ url }: World, key: string, batchId: string): Promise<string> {
  const answer = await fetch(`${url}/v1/flywheel/batch/${batchId}/events`, { headers: { 'x-service-api-key': key } });
  return answer.text();
}
