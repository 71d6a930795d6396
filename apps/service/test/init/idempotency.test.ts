import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { assertError, waitUntil } from '@flywheel/testing/batches';
import { type Answer, burnPipeline, init, send } from '@flywheel/testing/client';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { sql } from 'kysely';

let world: World;
let project: TestProject;
before(async () => {
  world = await openWorld();
  project = await createProject(world);
});
after(() => world.stop());

describe('an idempotency key', () => {
  it('with the same body answers the same batch, whatever the spacing, member order and case of the key', async () => {
    const key = randomUUID();
    const { type, payload, actions } = burnPipeline();
    const first = await init(world.url, project.apiKey, [{ type, payload, actions }], key);
    assert.equal(first.headers.get('idempotency-replayed'), null);
    const text = JSON.stringify({ pipelines: [{ actions, payload, type }] }, null, 2);
    const headers = { 'x-idempotency-key': key.toUpperCase() };
    const again = await send(world.url, 'POST', '/v1/flywheel/batch/init', { key: project.apiKey, headers, text });
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    // It may be set up on chain since the first answer.
    const { status: _, ...created } = requireOk(first).batch;
    const { status: __, ...replayed } = requireOk(again).batch;
    assert.deepEqual(replayed, created);
    assert.equal(again.body.proposalApproveTx, first.body.proposalApproveTx);
  });

  it('of a cancelled batch answers its status, FAILED', async () => {
    const key = randomUUID();
    const pipelines = [burnPipeline()];
    const { id } = requireOk(await init(world.url, project.apiKey, pipelines, key)).batch;
    requireOk(await send(world.url, 'POST', `/v1/flywheel/batch/${id}/cancel`, { key: project.apiKey }));
    const again = await init(world.url, project.apiKey, pipelines, key);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.equal(requireOk(again).batch.status, 'FAILED');
  });

  it('with another body answers 422', async () => {
    const key = randomUUID();
    requireOk(await init(world.url, project.apiKey, [burnPipeline()], key));
    const other = await init(world.url, project.apiKey, [burnPipeline()], key);
    assertError(other, 422, 'ERR_DUPLICATE_IDEMPOTENCY_KEY', new RegExp(key));
  });

  it('is free again after a failed request', async () => {
    const key = randomUUID();
    assertError(await init(world.url, project.apiKey, [], key), 400, 'ERR_FLYWHEEL_NO_INSTRUCTIONS');
    requireOk(await init(world.url, project.apiKey, [burnPipeline()], key));
  });

  it('is independent of the same key in another project', async () => {
    const other = await createProject(world);
    const key = randomUUID();
    const pipelines = [burnPipeline()];
    const one = requireOk(await init(world.url, project.apiKey, pipelines, key));
    const two = requireOk(await init(world.url, other.apiKey, pipelines, key));
    assert.notEqual(one.batch.id, two.batch.id);
  });

  it('creates one batch for 20 simultaneous requests, and all receive it', async () => {
    const own = await createProject(world);
    const key = randomUUID();
    const pipelines = [burnPipeline()];
    const answers = await Promise.all(Array.from({ length: 20 }, () => init(world.url, own.apiKey, pipelines, key)));
    const ids = new Set(answers.map((answer) => requireOk(answer).batch.id));
    assert.equal(ids.size, 1);
    assert.equal(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null).length, 1);
    assert.equal(await batchCount(own), 1);
  });

  it('answers the same batch to a simultaneous request that the first has left no daily limit', async () => {
    const pipelines = [burnPipeline(1)];
    const own = await createProject(world, { burnLimit: '1' });
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 5 }, () => init(world.url, own.apiKey, pipelines, key)));
    assert.equal(new Set(answers.map((answer) => requireOk(answer).batch.id)).size, 1);
    const other = await init(world.url, own.apiKey, pipelines);
    assertError(other, 400, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED');
  });
});

describe('50 simultaneous inits under a limit of 20', () => {
  it('store exactly 20', async () => {
    const own = await createProject(world, { burnLimit: '20' });
    await waitForNonces(20);
    const answers = await Promise.all(Array.from({ length: 50 }, () => initUntilAnswered(own.apiKey)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 20);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertError(answer, 400, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED');
    }
    assert.equal(await batchCount(own), 20);
  });

  it('store exactly 20 with five keys of a project under the default rate limits', async () => {
    await world.restart({ RATE_LIMIT_INIT: '' });
    const own = await createProject(world, { burnLimit: '20' });
    const keys = await Promise.all(Array.from({ length: 5 }, () => createKey(own)));
    await waitForNonces(20);
    const answers = await Promise.all(keys.flatMap((key) => Array.from({ length: 10 }, () => initUntilAnswered(key))));
    assert.deepEqual(
      Object.fromEntries(
        Object.entries(Object.groupBy(answers, ({ status }) => status)).map(([k, v]) => [k, v?.length]),
      ),
      { 200: 20, 400: 30 },
    );
    await world.restart();
  });
});

describe('POST init, 429,', () => {
  it('is ERR_RATE_LIMITED after ten requests a minute, replays included, with rate limit headers', async () => {
    await world.restart({ RATE_LIMIT_INIT: '' });
    const own = await createProject(world);
    const [key, pipelines] = [randomUUID(), [burnPipeline()]];
    for (let left = 9; left >= 0; left--) {
      const { status, headers } = await init(world.url, own.apiKey, pipelines, key);
      assert.equal(status, 200);
      assert.equal(headers.get('ratelimit-policy'), '"init";q=10;w=60');
      assert.match(headers.get('ratelimit') ?? '', new RegExp(`^"init";r=${left};t=([1-9]|[1-5]\\d|60)$`));
    }
    const limited = await init(world.url, own.apiKey, pipelines, key);
    assertError(limited, 429, 'ERR_RATE_LIMITED', /10 requests in 60 s/);
    assert.match(limited.headers.get('retry-after') ?? '', /^([1-9]|[1-5]\d|60)$/);
    requireOk(await init(world.url, await createKey(own), pipelines, key));
    await world.restart();
  });

  it('is ERR_TOO_MANY_OPEN_BATCHES above the limits of open batches and pipelines', async () => {
    await world.restart({ MAX_OPEN_BATCHES: '2', MAX_OPEN_PIPELINES: '3' });
    const own = await createProject(world);
    requireOk(await init(world.url, own.apiKey, [burnPipeline()]));
    const tooMany = await init(world.url, own.apiKey, [burnPipeline(), burnPipeline(), burnPipeline()]);
    assertError(tooMany, 429, 'ERR_TOO_MANY_OPEN_BATCHES', /1 open pipelines and this request adds 3/);
    requireOk(await init(world.url, own.apiKey, [burnPipeline()]));
    const oneMore = await init(world.url, own.apiKey, [burnPipeline()]);
    assertError(oneMore, 429, 'ERR_TOO_MANY_OPEN_BATCHES', /2 open batches/);
    await world.restart();
  });
});

describe('POST init', () => {
  it('requests a refill and waits for it while no nonce is free', async () => {
    const own = await createProject(world);
    // A refill that is still running, or that a setup requests at its end, would free a nonce again.
    await waitUntil('an idle worker', countJobs, (count) => count === 0);
    await world.db.updateTable('nonces').set({ state: 'refreshing' }).where('state', '=', 'available').execute();
    const [pipelines, key] = [[burnPipeline()], randomUUID()];
    for (;;) {
      const startMs = performance.now();
      const answer = await init(world.url, own.apiKey, pipelines, key);
      if (answer.body.error !== 'ERR_NONCE_POOL_EMPTY') return requireOk(answer);
      // On a busy machine a refill takes longer than an init waits.
      assert.ok(performance.now() - startMs > WAITED_MS, 'the init did not wait');
    }
  });
});

/** An init waits ten seconds for a nonce. */
const WAITED_MS = 9_000;

/**
 * Initializes a batch of one burn. On a busy machine a request may wait longer for a database connection than the
 * service allows (10 s); the answer then asks for the same request with the same key.
 */
async function initUntilAnswered(apiKey: string): Promise<Answer> {
  const [pipelines, key] = [[burnPipeline(1)], randomUUID()];
  return waitUntil(
    'init',
    () => init(world.url, apiKey, pipelines, key),
    ({ body }) => body.error !== 'ERR_BATCH_INIT_FAILED',
  );
}

/** Waits for free nonces: each batch leases one, and the pool is refilled in the background. */
async function waitForNonces(count: number): Promise<void> {
  await waitUntil(
    `${count} free nonces`,
    () => world.db.selectFrom('nonces').select('address').where('state', '=', 'available').execute(),
    (nonces) => nonces.length >= count,
  );
}

/** Counts the jobs that are due. */
async function countJobs(): Promise<number> {
  const { rows } = await sql`
    select from jobs.job where state in ('created', 'retry', 'active') and data->>'type' <> 'expire'
  `.execute(world.db);
  return rows.length;
}

async function createKey({ projectId, cookie }: TestProject): Promise<string> {
  const created = await send(world.url, 'POST', `/console/api/projects/${projectId}/keys`, {
    headers: { cookie },
    body: {},
  });
  return requireOk(created).apiKey;
}

async function batchCount({ projectId }: TestProject): Promise<number> {
  const rows = await world.db.selectFrom('batches').select('id').where('project_id', '=', projectId).execute();
  return rows.length;
}
