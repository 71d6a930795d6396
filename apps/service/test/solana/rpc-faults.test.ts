import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { instantClock } from '@flywheel/testing/clock';
import { address, type Base64EncodedWireTransaction, getBase58Encoder, type Signature } from '@solana/kit';
import { createChain } from '../../src/solana/chain.ts';
import { type Answer, type HttpServer, type Request, startHttpServer } from './http-server.ts';

const MINT = address('So11111111111111111111111111111111111111112');
const SIGNATURE =
  '5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW' as Signature;
const OTHER_SIGNATURE = `4${SIGNATURE.slice(1)}` as Signature;

const servers: HttpServer[] = [];
after(() => Promise.all(servers.map((server) => server.stop())));

async function chainOn(answer: (request: Request, count: number) => Answer, { path = '', timeoutMs = 10_000 } = {}) {
  const server = await startHttpServer(answer);
  servers.push(server);
  const clock = instantClock();
  const chain = createChain({ rpcUrls: [`${server.url}${path}`], clock, timeoutMs });
  return { server, clock, chain };
}

describe('the RPC client, on errors of a node,', () => {
  it('retries HTTP 429 after the time in Retry-After', async () => {
    const { chain, clock, server } = await chainOn((_request, count) =>
      count < 3 ? { status: 429, headers: { 'retry-after': '3' } } : { result: 42 },
    );
    assert.equal(await chain.blockHeight(), 42n);
    assert.equal(server.requests.length, 3);
    assert.deepEqual(clock.sleeps, [3_000, 3_000]);
  });

  it('never exposes the key in its URL, even if the node repeats it', async () => {
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

  it('does not wait for a Retry-After of a minute', async () => {
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

  it('retries HTTP 500 three times, waiting longer each time', async () => {
    const { chain, clock } = await chainOn((_request, count) => (count < 4 ? { status: 500 } : { result: 7 }));
    assert.equal(await chain.slot(), 7n);
    assert.deepEqual(clock.sleeps, [250, 500, 1_000]);
  });

  it('throws after four HTTP 503, with method and status', async () => {
    const { chain, server } = await chainOn(() => ({ status: 503, text: 'overloaded' }));
    await assert.rejects(
      chain.latestBlockhash(),
      /^Error: getLatestBlockhash: .* HTTP 503: overloaded \(attempt 4 of 4\)$/,
    );
    assert.equal(server.requests.length, 4);
  });

  it('retries a hanging node, and throws after four timeouts', async () => {
    const { chain, server } = await chainOn(() => 'hang', { timeoutMs: 1_000 });
    await assert.rejects(chain.slot(), /^Error: getSlot: .* gave no answer within 1000 ms \(attempt 4 of 4\)$/);
    assert.equal(server.requests.length, 4);
  });

  it('times out an answer that stops half-way', async () => {
    const { chain } = await chainOn((_request, count) => (count === 1 ? 'hang in the body' : { result: 5 }), {
      timeoutMs: 1_000,
    });
    assert.equal(await chain.slot(), 5n);
  });

  it('retries over a new connection after the node has closed one', async () => {
    const { chain } = await chainOn((_request, count) => (count === 1 ? 'hang up' : { result: 5 }));
    assert.equal(await chain.slot(), 5n);
  });

  it('throws if nothing listens', async () => {
    const server = await startHttpServer(() => 'hang');
    await server.stop();
    const chain = createChain({ rpcUrls: [server.url], clock: instantClock() });
    await assert.rejects(
      chain.slot(),
      /^Error: getSlot: 127\.0\.0\.1:\d+ is unreachable: .*ECONNREFUSED.* \(attempt 4 of 4\)$/,
    );
  });

  it('does not retry a client error, and quotes the answer but no API key', async () => {
    const { chain, server } = await chainOn(() => ({ status: 403, text: 'key revoked' }), { path: '/?api-key=secret' });
    await assert.rejects(chain.slot(), (error: Error) => {
      assert.match(error.message, /HTTP 403: key revoked \(attempt 1 of 4\)/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
    assert.equal(server.requests.length, 1);
  });

  it('throws the node’s own message for a JSON-RPC error', async () => {
    const { chain } = await chainOn(() => ({ error: { code: -32602, message: 'Invalid params: too many' } }));
    await assert.rejects(chain.slot(), /^Error: getSlot: .*Invalid params: too many/);
  });
});

describe('the RPC client, on undocumented answers,', () => {
  const nonsense: Record<string, Answer> = {
    'an HTML page': { status: 200, text: '<html>' },
    'JSON that is no object': { status: 200, text: 'null' },
    'an object without a result': { status: 200, text: '{}' },
    'a result of another type': { result: 'soon' },
    'a negative number': { result: -1 },
  };
  for (const [name, answer] of Object.entries(nonsense)) {
    it(`throws an error with the method for ${name}`, async () => {
      const { chain } = await chainOn(() => answer);
      await assert.rejects(chain.blockHeight(), /^Error: getBlockHeight: /);
    });
  }

  it('rejects fewer accounts than requested', async () => {
    const { chain } = await chainOn(() => ({ result: { context: { slot: 1 }, value: [] } }));
    await assert.rejects(chain.accounts([MINT]), /getMultipleAccounts: .*0 entries for 1/);
  });

  it('rejects an account whose owner is not an address', async () => {
    const account = { lamports: 1, owner: 'nobody', data: ['', 'base64'], executable: false, rentEpoch: 0, space: 0 };
    const { chain } = await chainOn(() => ({ result: { context: { slot: 1 }, value: [account] } }));
    await assert.rejects(chain.accounts([MINT]), /getMultipleAccounts: unexpected answer: .*is not an address/);
  });

  it('rejects block heights above what the slot allows: a bundle would never expire, or before its time', async () => {
    const blockhash = '4NCYB3kRT8sCNodPNuCZo8VUh4xqpBQxsxed2wd9xaD4';
    const answerWith = (lastValidBlockHeight: number) =>
      chainOn(() => ({ result: { context: { slot: 1_000 }, value: { blockhash, lastValidBlockHeight } } }));
    assert.equal((await (await answerWith(1_150)).chain.latestBlockhash()).lastValidBlockHeight, 1_150n);
    const tooLate = (await answerWith(1_151)).chain.latestBlockhash();
    await assert.rejects(tooLate, /getLatestBlockhash: unexpected answer: value\.lastValidBlockHeight: is later/);
    const { chain } = await chainOn(() => ({ result: { absoluteSlot: 1_000, blockHeight: 1_001 } }));
    await assert.rejects(chain.finalizedBlock(), /getEpochInfo: unexpected answer: blockHeight: is later/);
  });

  for (const blockTime of [1e20, -1]) {
    it(`rejects a block of the time ${blockTime}`, async () => {
      const transaction = { message: { accountKeys: [], instructions: [] } };
      const meta = { err: null, innerInstructions: [] };
      const { chain } = await chainOn(() => ({ result: { slot: 1, blockTime, transaction, meta } }));
      await assert.rejects(chain.landedTransaction(SIGNATURE), /getTransaction: unexpected answer: .*blockTime/);
    });
  }

  it('rejects an invalid signature', async () => {
    const { chain } = await chainOn(() => ({ result: 'accepted' }));
    await assert.rejects(chain.send('AAAA' as Base64EncodedWireTransaction), /sendTransaction: .*is not a signature/);
  });
});

describe('the RPC client', () => {
  it('accepts a transaction that the node has already processed', async () => {
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

  it('throws the reason for which a node rejects a transaction', async () => {
    const data = { err: 'BlockhashNotFound', logs: [], accounts: null, unitsConsumed: 0 };
    const { chain } = await chainOn(() => ({
      error: { code: -32002, message: 'Transaction simulation failed', data },
    }));
    await assert.rejects(chain.send('AAAA' as Base64EncodedWireTransaction), /^Error: sendTransaction: .*[Bb]lockhash/);
  });

  it('keeps every digit of a u64', async () => {
    const value =
      '[{"lamports":18446744073709551615,"owner":"11111111111111111111111111111111","executable":false,"data":["AQID","base64"],"space":3}]';
    const text = `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":1},"value":${value}}}`;
    const { chain } = await chainOn(() => ({ status: 200, text }));
    const [account] = await chain.accounts([MINT]);
    assert.equal(account?.lamports, 18446744073709551615n);
    assert.deepEqual(account?.data, Uint8Array.of(1, 2, 3));
    assert.equal(account?.address, MINT);
  });

  it('returns a transaction error as JSON text', async () => {
    const err = { InstructionError: [3, { Custom: 6008 }] };
    const status = { slot: 9, confirmations: 1, err, confirmationStatus: 'confirmed', status: { Err: err } };
    const { chain } = await chainOn(() => ({ result: { context: { slot: 9 }, value: [status, null] } }));
    assert.deepEqual((await chain.signatureOutcomes([SIGNATURE, OTHER_SIGNATURE])).outcomes, [
      { slot: 9n, err: '{"InstructionError":[3,{"Custom":6008}]}', confirmation: 'confirmed' },
      'unknown',
    ]);
  });

  it('rejects a status of a later slot than the answer: all later reads would wait for that slot', async () => {
    const status = { slot: 10, confirmations: 1, err: null, confirmationStatus: 'confirmed', status: { Ok: null } };
    const { chain } = await chainOn(() => ({ result: { context: { slot: 9 }, value: [status] } }));
    await assert.rejects(chain.signatureOutcomes([SIGNATURE]), /is in slot 10, after 9/);
  });

  it('treats a status without confirmations, from long-term storage, as final', async () => {
    const status = { slot: 9, confirmations: null, err: null, status: { Ok: null } };
    const { chain } = await chainOn(() => ({ result: { context: { slot: 9 }, value: [status] } }));
    assert.deepEqual((await chain.signatureOutcomes([SIGNATURE])).outcomes, [
      { slot: 9n, err: null, confirmation: 'finalized' },
    ]);
  });

  it('sends no request for an empty list of accounts', async () => {
    const { chain, server } = await chainOn(() => 'hang');
    assert.deepEqual(await chain.accounts([]), []);
    assert.equal(server.requests.length, 0);
  });

  it('reads the rent of a size once, and again after a failure', async () => {
    const { chain, server } = await chainOn((_request, count) =>
      count === 1 ? { error: { code: -32603, message: 'Internal error' } } : { result: 2_039_280 },
    );
    await assert.rejects(chain.minimumBalanceForRentExemption(165), /getMinimumBalanceForRentExemption/);
    assert.equal(await chain.minimumBalanceForRentExemption(165), 2_039_280n);
    assert.equal(await chain.minimumBalanceForRentExemption(165), 2_039_280n);
    assert.equal(server.requests.length, 2);
  });
});
