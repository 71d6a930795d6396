import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { InitBatchResponse } from '@flywheel/api';
import { openapi } from '@flywheel/api/openapi';
import { BATCH_ID, json, SESSION_TOKEN, startTestServer, type TestServer } from '@flywheel/testing/test-server';

const IDEMPOTENCY_KEY = 'A6F8D0B2-2C1E-4B8A-9D57-6E0F1A2B3C4D';

let server: TestServer;
const received: unknown[] = [];
before(async () => {
  server = await startTestServer({
    handlers: {
      initBatch: {
        checksBody: async (_context, input) => {
          received.push(input);
          return { status: 200, body: { proposalApproveTx: '', batch: INITIALIZED } };
        },
      },
      executeBatch: async (_context, input) => {
        received.push(input);
        return { status: 202, body: { batchId: input.body.batchId, status: 'FINALIZED' } };
      },
      getBatch: async (_context, { query }) => {
        received.push(query);
        return { status: 200, body: BATCH };
      },
    },
    consoleHandlers: {
      createRegistration: async (_context, { body }) => {
        received.push(body);
        return { status: 200, body: REGISTRATION };
      },
    },
  });
});
after(() => server[Symbol.asyncDispose]());

describe('a handler', () => {
  it('receives each part parsed by the operation’s schemas, and nothing else of the request', async () => {
    const body = { batchId: BATCH_ID, signedTx: 'AA==' };
    assert.equal((await execute(body, { prefer: 'wait=5' })).status, 202);
    assert.deepEqual(received.pop(), { headers: { prefer: 'wait=5' }, body });
    assert.equal((await server.fetch(`/v1/flywheel/batch/${BATCH_ID}?include=pipelines&x=1`)).status, 200);
    assert.deepEqual(received.pop(), { include: 'pipelines' });
  });

  it('receives ids in lower case, as the database writes them, also those of a body', async () => {
    assert.equal((await execute({ batchId: BATCH_ID.toUpperCase(), signedTx: 'AA==' })).status, 202);
    assert.deepEqual(received.pop(), { headers: {}, body: { batchId: BATCH_ID, signedTx: 'AA==' } });
  });

  it('receives the operation’s defaults', async () => {
    const body = { mint: '1'.repeat(32), burnLimit: '1', airdropLimit: '0.5', scopes: ['burn'] };
    assert.equal((await register(body)).status, 200);
    assert.deepEqual(received.pop(), { ...body, proofTypes: [], approvalMode: 'automatic' });
  });

  it('with its own body check receives the body unchecked, and the headers checked', async () => {
    for (const body of [{ pipelines: 'no array', extra: 1 }, [], 'text', 5, null, false]) {
      assert.equal((await init(body, { 'x-idempotency-key': IDEMPOTENCY_KEY })).status, 200);
      // In lower case, as the database writes it.
      assert.deepEqual(received.pop(), { headers: { 'x-idempotency-key': IDEMPOTENCY_KEY.toLowerCase() }, body });
    }
    const { responses } = JSON.parse(JSON.stringify(openapi())).paths['/v1/flywheel/batch/init'].post;
    const { message } = responses[400].content['application/json'].examples.ERR_INVALID_REQUEST.value;
    assert.equal(await refused(init({}, {}), /^headers\.x-idempotency-key is missing; /), message);
    await refused(init({}, { 'x-idempotency-key': 'x' }), /^headers\.x-idempotency-key must be a UUID\.$/);
    const unsent = server.fetch('/v1/flywheel/batch/init', { method: 'POST' });
    await refused(unsent, /^headers\.x-idempotency-key is missing; send a UUID .*, and 1 more\.$/);
  });

  it('receives the numbers of a JSON Schema as doubles, however many digits they have', async () => {
    const schema = '{"maximum":9007199254740991,"enum":[1234567890123456,-0.10000000000000000555]}';
    const registration = { mint: '1'.repeat(32), burnLimit: '1', airdropLimit: '1', scopes: ['burn'] };
    const proofTypes = `[{"type":"A","payloadSchema":${schema}}]`;
    const text = JSON.stringify(registration).replace(/}$/, `,"proofTypes":${proofTypes}}`);
    assert.equal((await register(text)).status, 200);
    const expected = { ...registration, proofTypes: JSON.parse(proofTypes), approvalMode: 'automatic' };
    assert.deepEqual(received.pop(), expected);
  });

  it('receives numbers only if they are exact', async () => {
    await init('{"amount":1.23456789012345678}', { 'x-idempotency-key': IDEMPOTENCY_KEY });
    assert.match(JSON.stringify(received.pop()), /"imprecise":"1.23456789012345678"/);
  });
});

describe('a validation error', () => {
  it('names the position of the first issue and counts the others', async () => {
    await refused(execute({}), /^body\.batchId is missing, and 1 more\.$/);
    await refused(execute({ batchId: 'x', signedTx: 'y' }), /^body\.batchId must be a UUID\.$/);
    await refused(
      execute({ batchId: 7, signedTx: null }),
      /^body\.batchId must be a string, not a number, and 1 more\.$/,
    );
    await refused(execute({ batchId: BATCH_ID, signedTx: '' }), /^body\.signedTx must not be empty\.$/);
    await refused(execute({ batchId: BATCH_ID, signedTx: 'y', wait: 1 }), /^body has the unknown field "wait"\.$/);
    await refused(execute([]), /^body must be an object, not an array\.$/);
    await refused(server.fetch('/v1/flywheel/batch/x'), /^params\.batchId must be a UUID\.$/);
    const include = server.fetch(`/v1/flywheel/batch/${BATCH_ID}?include=all`);
    await refused(include, /^query\.include must be pipelines, approval, ledger or rest, separated by commas\.$/);
    const twice = server.fetch(`/v1/flywheel/batch/${BATCH_ID}?include=pipelines&include=approval`);
    await refused(twice, /^query\.include must be a string, not an array\.$/);
    const registration = { mint: '0', burnLimit: 'x', airdropLimit: '1', scopes: ['mint'], proofTypes: [{ type: '' }] };
    await refused(register(registration), /^body\.mint must be a base58 address, and 3 more\.$/);
    await refused(
      register({ ...registration, mint: '1'.repeat(32), burnLimit: '1' }),
      /^body\.scopes\[0\] must be "burn" or "airdrop", and 1 more\.$/,
    );
    const empty = { ...registration, mint: '1'.repeat(32), burnLimit: '1', scopes: [], proofTypes: [] };
    await refused(register(empty), /^body\.scopes must not be empty\.$/);
  });

  it('lists its issues with the place of each, at most 20, and counts the rest', async () => {
    const problemsOf = async (answer: Promise<Response>) => JSON.parse(await (await answer).text()).problems;
    const code = 'ERR_INVALID_REQUEST';
    assert.deepEqual(await problemsOf(execute({})), [
      { code, place: 'body.batchId', message: 'is missing.' },
      { code, place: 'body.signedTx', message: 'is missing.' },
    ]);
    const unsent = server.fetch('/v1/flywheel/batch/init', { method: 'POST' });
    assert.deepEqual(
      (await problemsOf(unsent)).map(({ place }: { place: string }) => place),
      ['headers.x-idempotency-key', 'body'],
    );
    const proofTypes = Array.from({ length: 25 }, () => ({ type: '' }));
    const registration = { mint: '1'.repeat(32), burnLimit: '1', airdropLimit: '1', scopes: ['burn'], proofTypes };
    const problems = await problemsOf(register(registration));
    assert.deepEqual([problems.length, problems[0].place], [21, 'body.proofTypes[0].type']);
    assert.deepEqual(problems[20], { code, message: 'And 5 more.' });
  });

  it('says that a header was sent twice', async () => {
    const head = `POST /v1/flywheel/batch/init HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n`;
    const [key, idempotency] = [`x-service-api-key: ${server.apiKey}\r\n`, `x-idempotency-key: ${IDEMPOTENCY_KEY}\r\n`];
    const keys = await server.send(`${head}${key}${key}\r\n{}`);
    assert.match(keys, /^HTTP\/1\.1 401 .*"message":"The header x-service-api-key was sent 2 times\. Send it once\."/s);
    const idempotencyKeys = await server.send(`${head}${key}${idempotency}${idempotency}\r\n{}`);
    assert.match(idempotencyKeys, /^HTTP\/1\.1 400 .*"headers\.x-idempotency-key was sent 2 times; send it once\."/s);
  });

  it('quotes the caller’s names, shortened', async () => {
    const name = 'n'.repeat(50_000);
    const message = await refused(execute({ batchId: BATCH_ID, signedTx: 'y', [name]: 1 }), /unknown field "n+…"/);
    assert.ok(message.length < 200);
  });
});

describe('hostile JSON', () => {
  it('cannot set a prototype', async () => {
    for (const text of [
      `{"__proto__":{"admin":true},"batchId":"${BATCH_ID}","signedTx":"y"}`,
      `{"constructor":{"prototype":{"admin":true}},"batchId":"${BATCH_ID}","signedTx":"y"}`,
    ]) {
      await refused(execute(text), /__proto__|constructor/);
    }
    await init('{"constructor":{"prototype":{"admin":true}}}', { 'x-idempotency-key': IDEMPOTENCY_KEY });
    assert.equal(Reflect.get({}, 'admin'), undefined);
  });

  it('with a repeated key has the last value, like JSON.parse', async () => {
    const text = `{"batchId":"x","batchId":"${BATCH_ID}","signedTx":"y"}`;
    assert.equal((await execute(text)).status, 202);
  });

  it('cannot contain text that the database cannot store', async () => {
    const registration = { mint: '1'.repeat(32), burnLimit: '1', airdropLimit: '1', scopes: ['burn'] };
    for (const description of ['a\\u0000b', '\\ud800', '\\udc00x']) {
      const proofTypes = `[{"type":"A","description":"${description}"}]`;
      const text = JSON.stringify(registration).replace(/}$/, `,"proofTypes":${proofTypes}}`);
      await refused(register(text), /^body\.proofTypes\[0\]\.description must be Unicode text without U\+0000\.$/);
    }
    const schema = '[{"type":"A","payloadSchema":{"a\\u0000":1}}]';
    const text = JSON.stringify(registration).replace(/}$/, `,"proofTypes":${schema}}`);
    await refused(register(text), /^body\.proofTypes\[0\]\.payloadSchema must have field names without U\+0000\.$/);
  });
});

const INITIALIZED: InitBatchResponse['batch'] = {
  id: BATCH_ID,
  flywheelId: 'f',
  status: 'AVAILABLE_TO_QUEUE',
  pipelines: [],
  dateCreated: '2026-11-21T12:00:00.000Z',
};

const BATCH = {
  id: BATCH_ID,
  flywheelId: 'f',
  tokenId: 't',
  mintAddress: 'm',
  status: 'FINALIZED',
  batchIndex: '1',
  vaultIndex: '0',
  multisig: 's',
  vaultAddress: 'v',
  dateCreated: '2026-11-21T12:00:00.000Z',
  dateUpdated: '2026-11-21T12:00:00.000Z',
} as const;

const REGISTRATION = {
  registrationId: BATCH_ID,
  transaction: '',
  multisig: 's',
  vaultAddress: 'v',
  costLamports: '0',
  warnings: [],
};

function init(body: unknown, headers: { readonly [name: string]: string }) {
  return server.fetch(
    '/v1/flywheel/batch/init',
    json(typeof body === 'string' && body !== 'text' ? body : JSON.stringify(body), headers),
  );
}

function execute(body: unknown, headers: { readonly [name: string]: string } = {}) {
  return server.fetch('/v1/flywheel/batch/execute', json(body, headers));
}

function register(body: unknown) {
  return server.fetch('/console/api/registrations', json(body, { cookie: `flywheel_session=${SESSION_TOKEN}` }));
}

async function refused(answer: Promise<Response>, message: RegExp): Promise<string> {
  const response = await answer;
  const body: { error: string; message: string } = JSON.parse(await response.text());
  assert.equal(response.status, 400, body.message);
  assert.equal(body.error, 'ERR_INVALID_REQUEST');
  assert.match(body.message, message);
  return body.message;
}
