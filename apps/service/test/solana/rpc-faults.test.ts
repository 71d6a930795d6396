import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { instantClock } from '@flywheel/testing/clock';
import { address, type Base64EncodedWireTransaction, getBase58Encoder, type Signature } from '@solana/kit';
import { createChain } from '../../src/solana/chain.ts';
import { type Answer, type HttpServer, type Request, startHttpServer } from './http-server.ts';

const MINT = address('So11111111111111111111111111111111111111112');
const SIGNATURE =
  '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW' as Signature;

const servers: HttpServer[] = [];
after(() => Promise.all(servers.map((server) => server.stop())));

async function chainOn(answer: (request: Request, count: number) => Answer, { path = '', timeoutMs = 10_000 } = {}) {
  const server = await startHttpServer(answer);
  servers.push(server);
  const clock = instantClock();
  const chain = createChain({ rpcUrl: `${server.url}${path}`, clock, timeoutMs });
  return { server, clock, chain };
}

describe('faults of an RPC node', () => {
  it('asks again after HTTP 429 when as long has passed as Retry-After says', async () => {
    const { chain, clock, server } = await chainOn((_request, count) =>
      count < 3 ? { status: 429, headers: { 'retry-after': '3' } } : { result: 42 },
    );
    assert.equal(await chain.blockHeight(), 42n);
    assert.equal(server.requests.length, 3);
    assert.deepEqual(clock.sleeps, [3_000, 3_000]);
  });

  it('keeps the key in its address to itself, also where the node repeats it', async () => {
    const { chain } = await chainOn(
      ({ path }) => ({ status: 403, text: `{"error":"${path} is not allowed: key in-the-query-0 is unknown"}` }),
      { path: '/v2/in-the-path-00?api-key=in-the-query-0' },
    );
    await assert.rejects(chain.slot(), ({ message }: Error) => {
      assert.match(message, /answered HTTP 403: .*is not allowed/);
      assert.doesNotMatch(message, /in-the/);
      return true;
    });
  });

  it('does not wait where Retry-After asks for a minute', async () => {
    const { chain, server } = await chainOn(() => ({
      status: 429,
      headers: { 'retry-after': '60' },
      text: 'slow down',
    }));
    await assert.rejects(
      chain.slot(),
      /^Error: getSlot: 127\.0\.0\.1:\d+ answered HTTP 429: slow down \(attempt 1 of 4\)$/,
    );
    assert.equal(server.requests.length, 1);
  });

  it('survives three HTTP 500, waiting longer each time', async () => {
    const { chain, clock } = await chainOn((_request, count) => (count < 4 ? { status: 500 } : { result: 7 }));
    assert.equal(await chain.slot(), 7n);
    assert.deepEqual(clock.sleeps, [250, 500, 1_000]);
  });

  it('gives up after four HTTP 503, naming method and status', async () => {
    const { chain, server } = await chainOn(() => ({ status: 503, text: 'overloaded' }));
    await assert.rejects(
      chain.latestBlockhash(),
      /^Error: getLatestBlockhash: .* HTTP 503: overloaded \(attempt 4 of 4\)$/,
    );
    assert.equal(server.requests.length, 4);
  });

  it('asks a node that hangs again, and gives up after four time-outs', async () => {
    const { chain, server } = await chainOn(() => 'hang', { timeoutMs: 100 });
    await assert.rejects(chain.slot(), /^Error: getSlot: .* gave no answer within 100 ms \(attempt 4 of 4\)$/);
    assert.equal(server.requests.length, 4);
  });

  it('times out an answer that stops half-way', async () => {
    const { chain } = await chainOn((_request, count) => (count === 1 ? 'hang in the body' : { result: 5 }), {
      timeoutMs: 1_000,
    });
    assert.equal(await chain.slot(), 5n);
  });

  it('asks again over a new connection when the node hangs up', async () => {
    const { chain } = await chainOn((_request, count) => (count === 1 ? 'hang up' : { result: 5 }));
    assert.equal(await chain.slot(), 5n);
  });

  it('says so when nothing listens', async () => {
    const server = await startHttpServer(() => 'hang');
    await server.stop();
    const chain = createChain({ rpcUrl: server.url, clock: instantClock() });
    await assert.rejects(
      chain.slot(),
      /^Error: getSlot: 127\.0\.0\.1:\d+ is unreachable: .*ECONNREFUSED.* \(attempt 4 of 4\)$/,
    );
  });

  it('does not repeat a request that was refused, and quotes the refusal but no API key', async () => {
    const { chain, server } = await chainOn(() => ({ status: 403, text: 'key revoked' }), { path: '/?api-key=secret' });
    await assert.rejects(chain.slot(), (error: Error) => {
      assert.match(error.message, /HTTP 403: key revoked \(attempt 1 of 4\)/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
    assert.equal(server.requests.length, 1);
  });

  it('has the node’s own words for a JSON-RPC error', async () => {
    const { chain } = await chainOn(() => ({ error: { code: -32602, message: 'Invalid params: too many' } }));
    await assert.rejects(chain.slot(), /^Error: getSlot: .*Invalid params: too many/);
  });
});

describe('answers that are not as documented', () => {
  const nonsense: Record<string, Answer> = {
    'an HTML page': { status: 200, text: '<html>' },
    'JSON that is no object': { status: 200, text: 'null' },
    'an object without a result': { status: 200, text: '{}' },
    'a result of another type': { result: 'soon' },
    'a negative number': { result: -1 },
  };
  for (const [name, answer] of Object.entries(nonsense)) {
    it(`takes ${name} for an error that names the method`, async () => {
      const { chain } = await chainOn(() => answer);
      await assert.rejects(chain.blockHeight(), /^Error: getBlockHeight: /);
    });
  }

  it('refuses fewer accounts than asked for', async () => {
    const { chain } = await chainOn(() => ({ result: { context: { slot: 1 }, value: [] } }));
    await assert.rejects(chain.accounts([MINT]), /getMultipleAccounts: .*0 entries for 1/);
  });

  it('refuses an account whose owner is not an address', async () => {
    const account = { lamports: 1, owner: 'nobody', data: ['', 'base64'], executable: false, rentEpoch: 0, space: 0 };
    const { chain } = await chainOn(() => ({ result: { context: { slot: 1 }, value: [account] } }));
    await assert.rejects(chain.accounts([MINT]), /getMultipleAccounts: unexpected answer: .*is not an address/);
  });

  it('refuses a signature that is none', async () => {
    const { chain } = await chainOn(() => ({ result: 'accepted' }));
    await assert.rejects(chain.send('AAAA' as Base64EncodedWireTransaction), /sendTransaction: .*is not a signature/);
  });
});

describe('numbers and errors as they come', () => {
  it('takes a transaction that the node has processed already for sent', async () => {
    const data = { err: 'AlreadyProcessed', logs: [], accounts: null, unitsConsumed: 0 };
    const { chain } = await chainOn(() => ({
      error: { code: -32002, message: 'Transaction simulation failed', data },
    }));
    // One signature, then an empty legacy message.
    const wire = Buffer.from(
      Uint8Array.of(1, ...getBase58Encoder().encode(SIGNATURE), 1, 0, 0, 1, ...Array(65).fill(7), 0),
    );
    assert.equal(await chain.send(wire.toString('base64') as Base64EncodedWireTransaction), SIGNATURE);
  });

  it('has the reason for which a node refuses a transaction', async () => {
    const data = { err: 'BlockhashNotFound', logs: [], accounts: null, unitsConsumed: 0 };
    const { chain } = await chainOn(() => ({
      error: { code: -32002, message: 'Transaction simulation failed', data },
    }));
    await assert.rejects(chain.send('AAAA' as Base64EncodedWireTransaction), /^Error: sendTransaction: .*[Bb]lockhash/);
  });

  it('keeps every digit of a u64', async () => {
    const value =
      '[{"lamports":18446744073709551615,"owner":"11111111111111111111111111111111","data":["AQID","base64"]}]';
    const text = `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":1},"value":${value}}}`;
    const { chain } = await chainOn(() => ({ status: 200, text }));
    const [account] = await chain.accounts([MINT]);
    assert.equal(account?.lamports, 18446744073709551615n);
    assert.deepEqual(account?.data, Uint8Array.of(1, 2, 3));
    assert.equal(account?.address, MINT);
  });

  it('gives a transaction error as its JSON text', async () => {
    const err = { InstructionError: [3, { Custom: 6008 }] };
    const status = { slot: 9, confirmations: 1, err, confirmationStatus: 'confirmed', status: { Err: err } };
    const { chain } = await chainOn(() => ({ result: { context: { slot: 1 }, value: [status, null] } }));
    assert.deepEqual(await chain.signatureOutcomes([SIGNATURE, SIGNATURE]), [
      { slot: 9n, err: '{"InstructionError":[3,{"Custom":6008}]}', confirmation: 'confirmed' },
      'unknown',
    ]);
  });

  it('takes a status without confirmations, as long-term storage has it, for final', async () => {
    const status = { slot: 9, confirmations: null, err: null, status: { Ok: null } };
    const { chain } = await chainOn(() => ({ result: { context: { slot: 1 }, value: [status] } }));
    assert.deepEqual(await chain.signatureOutcomes([SIGNATURE]), [{ slot: 9n, err: null, confirmation: 'finalized' }]);
  });

  it('asks for no accounts without a request', async () => {
    const { chain, server } = await chainOn(() => 'hang');
    assert.deepEqual(await chain.accounts([]), []);
    assert.equal(server.requests.length, 0);
  });

  it('asks once for the rent of a size, and again after a failure', async () => {
    const { chain, server } = await chainOn((_request, count) =>
      count === 1 ? { error: { code: -32603, message: 'Internal error' } } : { result: 2_039_280 },
    );
    await assert.rejects(chain.minimumBalanceForRentExemption(165), /getMinimumBalanceForRentExemption/);
    assert.equal(await chain.minimumBalanceForRentExemption(165), 2_039_280n);
    assert.equal(await chain.minimumBalanceForRentExemption(165), 2_039_280n);
    assert.equal(server.requests.length, 2);
  });
});
