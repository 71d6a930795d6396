import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createFlywheelClient,
  type FlywheelClient,
  type FlywheelClientOptions,
  isFlywheelError,
  type Retry,
} from '@flywheel/sdk';
import { MAX_ANSWER_BYTES } from '@flywheel/solana-rpc';
import { BATCH, BATCH_ID, initAnswer, PIPELINES } from './batches.ts';
import { type Answer, type Respond, type StubService, startStubService } from './stub-service.ts';

const INIT_ANSWER = initAnswer('AQID');
const MEGABYTE = new TextEncoder().encode(' '.repeat(1_024 * 1_024));

describe('a client’s request', () => {
  it('has the API key, and init a fresh UUID as idempotency key', async () => {
    await using service = await startStubService(() => ({ status: 200, body: INIT_ANSWER }));
    const client = createFlywheelClient({ url: `${service.url}/`, apiKey: 'fw_key' });
    await client.initBatch({ pipelines: PIPELINES });
    await client.initBatch({ pipelines: PIPELINES });
    const [first, second] = service.received;
    assert.equal(first?.method, 'POST');
    assert.equal(first?.path, '/v1/flywheel/batch/init');
    assert.equal(first?.headers['x-service-api-key'], 'fw_key');
    assert.match(String(first?.headers['x-idempotency-key']), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab]/);
    assert.notEqual(first?.headers['x-idempotency-key'], second?.headers['x-idempotency-key']);
    assert.deepEqual(JSON.parse(first?.body ?? ''), { pipelines: PIPELINES });
  });

  it('sends an init of JSON text byte for byte', async () => {
    await using service = await startStubService(() => ({ status: 200, body: INIT_ANSWER }));
    const requestText = '{ "pipelines": [{"type":"A","payload":"{}","actions":[{"action":"BURN","amount":0.10}]}] }';
    await client(service).initBatch(requestText);
    assert.equal(service.received[0]?.body, requestText);
  });

  it('returns answers unchanged, with fields newer than this client', async () => {
    const body = { ...BATCH, rentReturnedLamports: '4906800' };
    await using service = await startStubService(() => ({ status: 200, body }));
    assert.deepEqual(await client(service).getBatch(BATCH_ID), body);
  });

  it('names the parts for get to include, and escapes path parameters', async () => {
    await using service = await startStubService(() => ({ status: 200, body: BATCH }));
    await client(service).getBatch('a/b', { include: ['pipelines', 'approval'] });
    assert.equal(service.received[0]?.path, '/v1/flywheel/batch/a%2Fb?include=pipelines%2Capproval');
  });

  it('reads the answers of a fetch that has no streams', async () => {
    const answer = { status: 200, headers: new Headers(), text: async () => JSON.stringify(BATCH) };
    for (const body of [undefined, { pipe: () => undefined }]) {
      // It is what libraries before Node 18, React Native and doubles of tests give.
      const fetch = async () => ({ ...answer, body }) as unknown as Response;
      assert.deepEqual(
        await createFlywheelClient({ url: 'http://service', apiKey: 'k', fetch }).getBatch(BATCH_ID),
        BATCH,
      );
    }
  });

  it('accepts null as the current batch', async () => {
    await using service = await startStubService(() => ({ status: 200, body: 'null' }));
    assert.equal(await client(service).getCurrentBatch(), null);
  });

  it('names how long execute may wait, and accepts an answer that the execution continues', async () => {
    const pending = { batchId: BATCH_ID, status: 'FINALIZED' };
    await using service = await startStubService(() => ({ status: 202, body: pending }));
    const answer = await client(service).executeBatch({ batchId: BATCH_ID, signedTx: 'AQID' }, { waitSeconds: 5 });
    assert.deepEqual(answer, pending);
    assert.equal(service.received[0]?.headers.prefer, 'wait=5');
  });
});

describe('a client’s error', () => {
  it('has code, status, message and request id, and is narrowed by its code', async () => {
    await using service = await startStubService(() => ({
      status: 404,
      body: { error: 'ERR_BATCH_NOT_FOUND', message: `No batch ${BATCH_ID}.` },
      headers: { 'x-request-id': 'req-7' },
    }));
    const error = await rejection(client(service).getBatch(BATCH_ID));
    assert.ok(isFlywheelError(error, 'ERR_BATCH_NOT_FOUND'));
    assert.ok(!isFlywheelError(error, 'ERR_UNAUTHORIZED'));
    assert.deepEqual([error.status, error.message, error.requestId], [404, `No batch ${BATCH_ID}.`, 'req-7']);
    assert.equal(service.received.length, 1, 'a refusal is not asked for again');
  });

  it('says if an answer does not have the wire format', async () => {
    await using service = await startStubService(() => ({ status: 502, body: '<html>Bad gateway</html>' }));
    const error = await rejection(client(service, { maxAttempts: 1 }).getBatch(BATCH_ID));
    assert.ok(isFlywheelError(error, 'ERR_UNEXPECTED_REPLY'));
    assert.match(error.message, /GET \/v1\/flywheel\/batch\/\{batchId\} answered 502/);
  });

  it('names the position at which a successful answer has another shape', async () => {
    await using service = await startStubService(() => ({ status: 200, body: { ...BATCH, status: 'DONE' } }));
    const error = await rejection(client(service, { maxAttempts: 1 }).getBatch(BATCH_ID));
    assert.ok(isFlywheelError(error, 'ERR_UNEXPECTED_REPLY'));
    assert.match(error.message, /status/);
  });

  for (const [name, status, read] of [
    ['a batch', 200, (client) => client.getBatch(BATCH_ID)],
    ['a refusal', 404, (client) => client.getBatch(BATCH_ID)],
    ['a refused stream', 404, (client) => client.streamBatchEvents(BATCH_ID).next()],
  ] satisfies [string, number, (client: FlywheelClient) => Promise<unknown>][]) {
    it(`comes before ${name} is larger than what a client can hold`, async () => {
      let bytes = 0;
      const pull = (stream: ReadableStreamDefaultController<Uint8Array>) => {
        bytes += MEGABYTE.length;
        if (bytes < 2 * MAX_ANSWER_BYTES) stream.enqueue(MEGABYTE);
        else stream.close();
      };
      const fetch = async () => new Response(new ReadableStream({ pull }), { status });
      const error = await rejection(read(createFlywheelClient({ url: 'http://service', apiKey: 'k', fetch })));
      assert.ok(isFlywheelError(error, 'ERR_UNEXPECTED_REPLY'), String(error));
      assert.match(error.message, new RegExp(`answered ${status} .*\\(more than ${MAX_ANSWER_BYTES} bytes\\)`));
      assert.ok(bytes <= MAX_ANSWER_BYTES + 2 * MEGABYTE.length, `${bytes} bytes were read`);
    });
  }

  it('is thrown at its creation for a url that is not an address of the web', () => {
    for (const url of ['nope', 'localhost:4000', 'ws://localhost', 'me:secret@host', JSON.parse('[null]')[0]]) {
      const message = 'url does not begin with http:// or https://.';
      assert.throws(() => createFlywheelClient({ url, apiKey: 'k' }), { name: 'RangeError', message });
    }
    for (const url of ['https://me:secret@host', 'HTTP:///me:secret@host', 'http://:secret@host/api', '//token@host']) {
      const message = 'url has a user or password. Pass them in headers.';
      assert.throws(() => createFlywheelClient({ url, apiKey: 'k' }), { name: 'RangeError', message });
    }
    for (const url of [
      'http://127.0.0.1:4000',
      'http://127.0.0.1:4000/@team?a@b',
      '/@team',
      'HTTPS://flywheel.example/',
      '/flywheel',
      '',
    ])
      assert.ok(createFlywheelClient({ url, apiKey: 'k' }));
  });

  it('is thrown at its creation for an API key that HTTP cannot send, and does not quote it', () => {
    for (const apiKey of ['fwk_secret…', '\ufefffwk_secret', 'fwk_secret\nfwk_secret']) {
      const message = 'The API key has characters that HTTP cannot send.';
      const expected = { name: 'RangeError', message };
      assert.throws(() => createFlywheelClient({ url: 'http://service', apiKey }), expected);
    }
    assert.ok(createFlywheelClient({ url: 'http://service', apiKey: 'read from a file\n' }));
  });

  it('says if nothing answers', async () => {
    const url = await unusedUrl();
    const error = await rejection(createFlywheelClient({ url, apiKey: 'k', maxAttempts: 1 }).getCurrentBatch());
    assert.ok(isFlywheelError(error, 'ERR_UNREACHABLE'));
    assert.equal(error.message, `No service answers at ${url}.`);
    assert.equal(error.status, null);
  });
});

describe('a client’s retry', () => {
  it('sends a lost init again with the same idempotency key', async () => {
    await using service = await startStubService((_, count) =>
      count === 1 ? 'hangUp' : { status: 200, body: INIT_ANSWER },
    );
    await client(service).initBatch({ pipelines: PIPELINES });
    const keys = service.received.map(({ headers }) => headers['x-idempotency-key']);
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1]);
  });

  it('waits as long as Retry-After says', async () => {
    await using service = await startStubService((_, count) =>
      count === 1 ? rateLimited('1') : { status: 200, body: BATCH },
    );
    const retries: Retry[] = [];
    const startedAtMs = performance.now();
    await client(service, { onRetry: (retry) => retries.push(retry) }).getBatch(BATCH_ID);
    assert.ok(performance.now() - startedAtMs >= 990);
    assert.deepEqual(
      retries.map(({ waitMs, error }) => [waitMs, error.code]),
      [[1_000, 'ERR_RATE_LIMITED']],
    );
  });

  it('repeats an init that a replacement of a member refuses, with the same idempotency key', async () => {
    const body = { error: 'ERR_ROTATION_OPEN', message: 'A member is being replaced.' };
    await using service = await startStubService((_, count) =>
      count === 1 ? { status: 409, body, headers: { 'retry-after': '0' } } : { status: 200, body: INIT_ANSWER },
    );
    await client(service).initBatch({ pipelines: PIPELINES });
    const keys = service.received.map(({ headers }) => headers['x-idempotency-key']);
    assert.deepEqual(keys, [keys[0], keys[0]]);
  });

  it('is left to the caller if the wait exceeds a minute, or has no time', async () => {
    for (const retryAfter of ['61', undefined]) {
      await using service = await startStubService(() => rateLimited(retryAfter));
      const error = await rejection(client(service).getBatch(BATCH_ID));
      assert.ok(isFlywheelError(error, 'ERR_RATE_LIMITED'));
      assert.equal(error.retryAfterSeconds, retryAfter === undefined ? null : 61);
      assert.equal(service.received.length, 1);
    }
  });

  it('ends after four attempts', async () => {
    const failing: Respond = () => ({ status: 500, body: { error: 'ERR_INTERNAL', message: 'Unforeseen.' } });
    await using service = await startStubService(failing);
    const error = await rejection(client(service).getBatch(BATCH_ID));
    assert.ok(isFlywheelError(error, 'ERR_INTERNAL'));
    assert.equal(service.received.length, 4);
  });

  it('ends at once when the caller aborts, during a wait and during a request', async () => {
    const waiting = new AbortController();
    await using limiting = await startStubService(() => rateLimited('30'));
    const onRetry = () => waiting.abort(new Error('enough'));
    const waited = client(limiting, { onRetry }).getBatch(BATCH_ID, { signal: waiting.signal });
    await assert.rejects(waited, { message: 'enough' });

    const asking = new AbortController();
    await using silent = await startStubService(() => {
      asking.abort(new Error('enough'));
      return 'silence';
    });
    await assert.rejects(client(silent).getBatch(BATCH_ID, { signal: asking.signal }), { message: 'enough' });
  });
});

function client({ url }: StubService, options: Partial<FlywheelClientOptions> = {}) {
  return createFlywheelClient({ url, apiKey: 'fw_key', ...options });
}

function rateLimited(retryAfter: string | undefined): Answer {
  return {
    status: 429,
    body: { error: 'ERR_RATE_LIMITED', message: 'More than 10 requests in 1 s.' },
    headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  };
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail('it was expected to fail'),
    (error: unknown) => error,
  );
}

async function unusedUrl(): Promise<string> {
  const { url } = await startStubService(() => 'silence').then(async (service) => {
    await service[Symbol.asyncDispose]();
    return service;
  });
  return url;
}
