import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { instantClock } from '@flywheel/testing/clock';
import { type Base64EncodedWireTransaction, getBase58Decoder } from '@solana/kit';
import { createChain } from '../../src/solana/chain.ts';
import { type Answer, type HttpServer, type Request, startHttpServer } from './http-server.ts';

const SIGNATURE = getBase58Decoder().decode(new Uint8Array(64).fill(7));
const WIRE = 'AQ==' as Base64EncodedWireTransaction;
const BEHIND = { error: { code: -32016, message: 'Minimum context slot has not been reached' } };

const servers: HttpServer[] = [];
after(() => Promise.all(servers.map((server) => server.stop())));

/** Starts a node for each way to answer, and a chain on all of them. */
async function openNodes(...answers: readonly ((request: Request, count: number) => Answer)[]) {
  const nodes = await Promise.all(answers.map(startHttpServer));
  servers.push(...nodes);
  const asked = nodes.map(({ requests }) => requests);
  return { chain: createChain({ rpcUrls: nodes.map(({ url }) => url), clock: instantClock() }), asked };
}

describe('several RPC URLs', () => {
  it('fail over between reads, and stay with the node that answered', async () => {
    const { chain, asked } = await openNodes(
      () => ({ status: 503 }),
      () => ({ result: 5 }),
    );
    assert.equal(await chain.slot(), 5n);
    assert.equal(await chain.slot(), 5n);
    assert.deepEqual([asked[0]?.length, asked[1]?.length], [2, 2]);
  });

  it('do not fail over within a view; the next view is on another node', async () => {
    const { chain, asked } = await openNodes(
      (_request, count) => (count === 1 ? { result: 3 } : { status: 503 }),
      () => ({ result: 5 }),
    );
    const view = chain.view();
    assert.equal(await view.slot(), 3n);
    await assert.rejects(view.slot(), /HTTP 503/);
    await assert.rejects(view.slot(), /HTTP 503/);
    assert.equal(asked[1]?.length, 0);
    assert.equal(await chain.view().slot(), 5n);
  });

  it('do not hide an error about the call itself', async () => {
    const { chain, asked } = await openNodes(
      () => ({ error: { code: -32602, message: 'Invalid params' } }),
      () => ({ result: 5 }),
    );
    await assert.rejects(chain.slot(), /Invalid params/);
    assert.equal(asked[1]?.length, 0);
  });

  it('all receive each transaction, and one that accepts it is enough', async () => {
    const { chain, asked } = await openNodes(
      () => ({ status: 400, text: 'no' }),
      () => ({ result: SIGNATURE }),
      () => ({ result: SIGNATURE }),
    );
    assert.equal(await chain.send(WIRE), SIGNATURE);
    assert.deepEqual(
      asked.map((requests) => requests.map(({ body }) => body.method)),
      [['sendTransaction'], ['sendTransaction'], ['sendTransaction']],
    );
  });
});

describe('a view', () => {
  it('waits for a node that lags behind, and never reads an older state than it has seen', async () => {
    const asked: unknown[] = [];
    const { chain } = await openNodes(({ body: { method, params } }, count) => {
      asked.push(Object(params?.[0]).minContextSlot ?? null);
      if (count === 1) return BEHIND;
      return { result: method === 'getEpochInfo' ? { absoluteSlot: 80, blockHeight: 70 } : 90 };
    });
    const view = chain.view(100n);
    assert.equal(await view.blockHeight(), 90n);
    assert.deepEqual(await view.finalizedBlock(), { slot: 80n, blockHeight: 70n });
    await view.finalizedBlock();
    assert.deepEqual(asked, [100, 100, null, 80]);
    await chain.finalizedBlock();
    assert.equal(asked.at(-1), null);
  });
});
