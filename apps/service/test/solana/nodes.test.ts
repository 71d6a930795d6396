import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { MAX_ANSWER_BYTES } from '@flywheel/solana-rpc';
import { waitUntil } from '@flywheel/testing/batches';
import { instantClock } from '@flywheel/testing/clock';
import { type Base64EncodedWireTransaction, getBase58Decoder, type Signature } from '@solana/kit';
import { createChain } from '../../src/solana/chain.ts';
import { type Answer, type HttpServer, type Request, startHttpServer } from './http-server.ts';

const SIGNATURE = getBase58Decoder().decode(new Uint8Array(64).fill(7)) as Signature; // 64 bytes
const WIRE = 'AQ==' as Base64EncodedWireTransaction;
const BEHIND = { error: { code: -32016, message: 'Minimum context slot has not been reached' } };

const servers: HttpServer[] = [];
after(() => Promise.all(servers.map((server) => server.stop())));

/** Starts a node for each way to answer, and a chain on all of them. */
async function openNodes(...answers: readonly ((request: Request, count: number) => Answer | Promise<Answer>)[]) {
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

  it('fail over from a node that switches protocols, or whose answer is too large', async () => {
    const large = `{"jsonrpc":"2.0","id":1,"result":3}${' '.repeat(MAX_ANSWER_BYTES)}`;
    const bad: Answer[] = ['switch protocols', { status: 200, text: large }];
    for (const answer of bad) {
      const { chain } = await openNodes(
        () => answer,
        () => ({ result: 5 }),
      );
      assert.equal(await chain.slot(), 5n);
    }
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

  it('answer a whole decision each, and it is made again on the next one if the first cannot answer', async () => {
    const { chain, asked } = await openNodes(
      (_request, count) => (count === 1 ? { result: 3 } : { status: 503 }),
      () => ({ result: 5 }),
    );
    const decided = await chain.decide(2n, async (view) => [await view.slot(), await view.blockHeight()]);
    assert.deepEqual(decided, [5n, 5n]);
    assert.deepEqual(
      asked[1]?.map(({ body: { method, params } }) => [method, Object(params?.[0]).minContextSlot]),
      [
        ['getSlot', 2],
        ['getBlockHeight', 2],
      ],
    );
    await assert.rejects(
      chain.decide(0n, async () => Promise.reject(new Error('refused'))),
      /refused/,
    );
    const { chain: without, asked: tried } = await openNodes(
      () => ({ status: 503 }),
      () => ({ status: 503 }),
    );
    await assert.rejects(
      without.decide(0n, (view) => view.slot()),
      /HTTP 503/,
    );
    assert.deepEqual([tried[0]?.length, tried[1]?.length], [2, 2]);
  });

  it('do not hide an error about the call itself', async () => {
    const { chain, asked } = await openNodes(
      () => ({ error: { code: -32602, message: 'Invalid params' } }),
      () => ({ result: 5 }),
    );
    await assert.rejects(chain.slot(), /Invalid params/);
    assert.equal(asked[1]?.length, 0);
  });

  for (const code of [-32001, -32004, -32005, -32010, -32011, -32014, -32016, -32019, -32020, -32021, -32603]) {
    it(`move reads to the next node on error ${code}, which is about the node`, async () => {
      const { chain, asked } = await openNodes(
        () => ({ error: { code, message: 'The node cannot answer.' } }),
        () => ({ result: 5 }),
      );
      assert.deepEqual([await chain.slot(), await chain.slot(), await chain.view().slot()], [5n, 5n, 5n]);
      assert.deepEqual([asked[0]?.length, asked[1]?.length], [1, 3]);
    });
  }

  for (const code of [-32007, -32009]) {
    it(`ask the next node too on error ${code}, a slot skipped or missing, and keep their order`, async () => {
      const { chain, asked } = await openNodes(
        (_request, count) => (count === 1 ? { error: { code, message: 'Slot 7 was skipped' } } : { result: 3 }),
        () => ({ result: 5 }),
      );
      assert.deepEqual([await chain.slot(), await chain.slot()], [5n, 3n]);
      assert.deepEqual([asked[0]?.length, asked[1]?.length], [2, 1]);
    });
  }

  it('are asked in turn for a past transaction until one knows it', async () => {
    const unknown = () => ({ result: null });
    const unable = () => ({ error: { code: -32011, message: 'Transaction history is not available from this node' } });
    const { chain, asked } = await openNodes(unknown, unable);
    assert.equal(await chain.landedTransaction(SIGNATURE), null);
    assert.deepEqual([asked[0]?.length, asked[1]?.length], [1, 1]);
    const { chain: without } = await openNodes(unable, unable);
    await assert.rejects(without.landedTransaction(SIGNATURE), /history is not available from this node \(-32011\)/);
  });

  it('do not know what a transaction has proven if they have not recorded what it called', async () => {
    const transaction = { message: { accountKeys: [], instructions: [] } };
    const unrecorded = () => ({ result: { slot: 1, transaction, meta: { err: null, innerInstructions: null } } });
    const recorded = () => ({ result: { slot: 2, transaction, meta: { err: null, innerInstructions: [] } } });
    const { chain } = await openNodes(unrecorded, recorded);
    assert.equal((await chain.landedTransaction(SIGNATURE))?.slot, 2n);
    const { chain: without } = await openNodes(unrecorded);
    assert.equal(await without.landedTransaction(SIGNATURE), null);
  });

  it('are chosen in turn for a decision that their answers were not enough for, each subject by itself', async () => {
    const { chain } = await openNodes(
      () => ({ result: 0 }),
      () => ({ result: 1 }),
      () => ({ result: 2 }),
    );
    const decide = async (subject: string) => {
      const view = chain.view(0n, subject);
      const slot = await view.slot();
      return [Number(slot), view.leaveNode() === null];
    };
    const turns = [await decide('a'), await decide('b'), await decide('a'), await decide('a'), await decide('a')];
    assert.deepEqual(turns, [
      [0, false],
      [0, false],
      [1, false],
      [2, true],
      [0, false],
    ]);
    assert.equal(await chain.slot(), 0n);
  });

  it('all receive each transaction, and one that accepts it is enough', async () => {
    const { chain, asked } = await openNodes(
      () => ({ status: 400, text: 'no' }),
      () => ({ result: SIGNATURE }),
      () => ({ result: SIGNATURE }),
    );
    assert.equal(await chain.send(WIRE), SIGNATURE);
    await waitUntil(
      'each node to receive it',
      async () => asked.map((requests) => requests.map(({ body }) => body.method).join()),
      (methods) => methods.every((method) => method === 'sendTransaction'),
    );
  });

  it('delay no transaction that one of them has accepted', async () => {
    const answered = Promise.withResolvers<Answer>();
    const { chain } = await openNodes(
      () => answered.promise,
      () => ({ result: SIGNATURE }),
    );
    // The first node answers only afterwards.
    assert.equal(await chain.send(WIRE), SIGNATURE);
    answered.resolve({ status: 400, text: 'no' });
  });

  it('refuse a transaction with the error of the preferred one if none accepts it', async () => {
    const { chain } = await openNodes(
      () => ({ error: { code: -32602, message: 'the first one' } }),
      () => ({ error: { code: -32602, message: 'the second one' } }),
    );
    await assert.rejects(chain.send(WIRE), /the first one/);
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

  it('waits for a lookup table that can be used from the next slot on', async () => {
    const text = 'invalid transaction: Transaction address table lookup uses an invalid index';
    const { chain } = await openNodes((_call, count) => {
      if (count === 1) return { error: { code: -32602, message: text } };
      return { result: { context: { slot: 100 }, value: { err: null, logs: [], unitsConsumed: 150 } } };
    });
    const options = { sigVerify: false, replaceRecentBlockhash: true } as const;
    assert.equal((await chain.view(100n).simulate(WIRE, options)).unitsConsumed, 150n);
  });
});
