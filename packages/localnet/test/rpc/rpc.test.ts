import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Cluster, startCluster } from '../cluster.ts';
import { DOCUMENTED, DOCUMENTED_ERRORS } from '../shapes/documented.ts';

const METHODS = [
  ...new Set(Object.keys(DOCUMENTED).map((name) => name.split(' ')[0] ?? '')),
  ...Object.keys(DOCUMENTED_ERRORS),
  'sendBundle',
  'getBundleStatuses',
  'getInflightBundleStatuses',
  'localnet_createMint',
  'localnet_fund',
];

describe('JSON-RPC', () => {
  test('answers each kind of malformed request with its own code', async (t) => {
    const cluster = await startCluster(t);
    const cases: readonly (readonly [body: string, code: number])[] = [
      ['{"jsonrpc":', -32700],
      ['', -32700],
      ['17', -32700],
      ['{"jsonrpc":"1.0","id":1,"method":"getSlot"}', -32600],
      ['{"jsonrpc":"2.0","id":{},"method":"getSlot"}', -32700],
      ['{"jsonrpc":"2.0","id":1,"method":7}', -32600],
      ['{"jsonrpc":"2.0","id":1,"method":"getNothing"}', -32601],
      ['{"jsonrpc":"2.0","id":1,"method":"constructor"}', -32601],
      ['{"jsonrpc":"2.0","id":1,"method":"getBalance"}', -32602],
      ['{"jsonrpc":"2.0","id":1,"method":"getBalance","params":{"address":1}}', -32602],
      ['{"jsonrpc":"2.0","id":1,"method":"getBalance","params":["not an address"]}', -32602],
      ['{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[{"minContextSlot":999999}]}', -32016],
    ];
    for (const [body, code] of cases) {
      const { json } = await post(cluster, body);
      assert.equal(errorCode(json), code, body);
    }
  });

  test('takes a member of a configuration that is null for a missing one, as clients in Rust and Python write them', async (t) => {
    const cluster = await startCluster(t);
    const clock = '"SysvarC1ock11111111111111111111111111111111"';
    const nulls = '"dataSlice":null,"minContextSlot":null';
    for (const [method, params] of [
      // The order of solana-cli 4.2.2 and solders 0.29.0.
      ['getAccountInfo', `${clock},{"encoding":"base64","commitment":"confirmed",${nulls}}`],
      ['getBalance', `${clock},{"commitment":null,"minContextSlot":null}`],
      [
        'getTransaction',
        `"${'2'.repeat(88)}",{"encoding":null,"commitment":null,"maxSupportedTransactionVersion":null}`,
      ],
      ['getSignaturesForAddress', `${clock},{"limit":null,"before":null,"until":null,"minContextSlot":null}`],
      [
        'getTokenAccountsByOwner',
        `${clock},{"programId":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"},{"encoding":"base64",${nulls}}`,
      ],
    ]) {
      const { json } = await post(cluster, `{"jsonrpc":"2.0","id":1,"method":"${method}","params":[${params}]}`);
      assert.equal(errorCode(json), null, `${method}: ${JSON.stringify(json)}`);
    }
  });

  test('answers a batch in order, with each error in its position, and notifications not at all', async (t) => {
    const cluster = await startCluster(t);
    const { json } = await post(
      cluster,
      JSON.stringify([
        { jsonrpc: '2.0', id: 'a', method: 'getHealth' },
        { jsonrpc: '2.0', method: 'getHealth' },
        { jsonrpc: '2.0', id: null, method: 'getNothing' },
      ]),
    );
    assert.partialDeepStrictEqual(json, [
      { id: 'a', result: 'ok' },
      { id: null, error: { code: -32601 } },
    ]);
    assert.equal(Array.isArray(json) && json.length, 2);
    const silent = await post(cluster, JSON.stringify({ jsonrpc: '2.0', method: 'getHealth' }));
    assert.deepEqual([silent.status, silent.text], [200, '']);
  });

  test('bounds the answer of a batch: the members after about 32 MiB are not executed, and say so', async (t) => {
    const cluster = await startCluster(t);
    const call = { jsonrpc: '2.0', id: 1, method: 'getLeaderSchedule' };
    const schedules = `[${Array.from({ length: 940 }, () => JSON.stringify(call)).join()}]`;
    const { text, json } = await post(cluster, schedules);
    assert.ok(text.length < 40 * 1024 * 1024, `${text.length} characters`);
    assert.ok(Array.isArray(json) && json.length === 940);
    const executed = json.filter((answer) => errorCode(answer) === null).length;
    assert.ok(executed > 5 && executed < 20, `${executed} were executed`);
    assert.partialDeepStrictEqual(json[executed], {
      id: 1,
      error: {
        code: -32000,
        message:
          'Not executed: the answers before it in this batch have 32 MiB, the maximum. Send getLeaderSchedule in another request.',
      },
    });
  });

  test('says that the System program, the address of zeros, takes no lamports', async (t) => {
    const cluster = await startCluster(t);
    const zeros = '11111111111111111111111111111111';
    for (const [method, params] of [
      ['localnet_fund', [{ address: zeros, lamports: 5 }]],
      ['requestAirdrop', [zeros, 5]],
    ] as const) {
      const { json } = await post(cluster, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
      assert.partialDeepStrictEqual(json, {
        error: { code: -32602, message: `Invalid params: ${zeros} is the System program, which takes no lamports.` },
      });
    }
  });

  test('rejects a body of more than 50 KiB with 413 and continues', async (t) => {
    const cluster = await startCluster(t);
    const { status } = await post(cluster, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(60_000) }));
    assert.equal(status, 413);
    assert.equal(await cluster.rpc.getHealth().send(), 'ok');
  });

  test('ignores the offer of another protocol, as Java’s HttpClient makes it with each request', async (t) => {
    const { localnet } = await startCluster(t);
    const body = '{"jsonrpc":"2.0","id":1,"method":"getHealth"}';
    const offer = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAEAAEAAAAIAAAAB' };
    const headers = { 'content-type': 'application/json', 'content-length': body.length, ...offer };
    const asked = request(localnet.url, { method: 'POST', headers }).end(body);
    const [answer]: IncomingMessage[] = await once(asked, 'response');
    assert.ok(answer);
    assert.equal(answer.statusCode, 200);
    assert.deepEqual(JSON.parse(await text(answer)), { jsonrpc: '2.0', result: 'ok', id: 1 });
  });

  test('keeps every digit of a u64', async (t) => {
    const cluster = await startCluster(t);
    const { address } = await cluster.wallet(9_007_199_254_740_993n);
    const { text } = await post(
      cluster,
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getBalance', params: [address, { commitment: 'processed' }] }),
    );
    assert.match(text, /"value":9007199254740993[,}]/);
  });

  test('answers arbitrary input with JSON-RPC and never an internal error', async (t) => {
    const cluster = await startCluster(t);
    const { address } = await cluster.wallet();
    const junk = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constant(address),
      fc.constant([address]),
      fc.record({
        commitment: fc.constantFrom('processed', 'confirmed'),
        encoding: fc.constantFrom('base64', 'jsonParsed'),
      }),
      fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map((number) => ({ raw: number })),
    );
    const call = fc.record(
      {
        jsonrpc: fc.oneof({ weight: 8, arbitrary: fc.constant('2.0') }, fc.jsonValue()),
        id: fc.oneof({ weight: 8, arbitrary: fc.nat() }, fc.jsonValue()),
        method: fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...METHODS) }, fc.string()),
        params: fc.oneof({ weight: 8, arbitrary: fc.array(junk, { maxLength: 4 }) }, fc.jsonValue()),
      },
      { requiredKeys: ['id'] },
    );
    const body = fc.oneof(
      { weight: 6, arbitrary: call.map(withRawNumbers) },
      { weight: 1, arbitrary: fc.array(call, { maxLength: 3 }).map(withRawNumbers) },
      { weight: 1, arbitrary: fc.string() },
    );
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const { status, json } = await post(cluster, text);
        assert.ok([200, 204, 413].includes(status), `status ${status}`);
        for (const answer of Array.isArray(json) ? json : [json]) {
          assert.notEqual(errorCode(answer), -32603, text);
        }
      }),
      { numRuns: 600 },
    );
    assert.equal(await cluster.rpc.getHealth().send(), 'ok');
  });
});

/** Writes a number beyond a double into the text, which JSON.stringify cannot. */
function withRawNumbers(value: unknown): string {
  return JSON.stringify(value, (_key, member) =>
    typeof member === 'object' && member !== null && typeof member.raw === 'bigint' ? `#${member.raw}#` : member,
  ).replace(/"#(-?\d+)#"/g, '$1');
}

async function post({ localnet }: Cluster, body: string) {
  const response = await fetch(localnet.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
  const json: unknown = isJson ? JSON.parse(text) : null;
  return { status: response.status, text, json };
}

function errorCode(answer: unknown): unknown {
  const error = typeof answer === 'object' && answer !== null && 'error' in answer ? answer.error : null;
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : null;
}
