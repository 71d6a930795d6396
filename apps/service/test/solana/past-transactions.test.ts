import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { address, getBase58Decoder, type Signature } from '@solana/kit';
import { createChain } from '../../src/solana/chain.ts';
import { startHttpServer } from './http-server.ts';

const NAMED = address('SysvarRent111111111111111111111111111111111');
const OTHER = address('So11111111111111111111111111111111111111112');
const FINALIZED = { commitment: 'finalized' } as const;

describe('transactionsNaming', () => {
  it('yields the successful transactions of all pages, newest first', async () => {
    const [failed, ...succeeded] = Array.from({ length: 1_003 }, (_, i) => signature(i)).toReversed();
    assert.ok(failed);
    const node = await startNode([failed, ...succeeded], { failed, ...SMALL });
    try {
      const read = await Array.fromAsync(createChain({ rpcUrls: [node.url] }).transactionsNaming(NAMED, FINALIZED));
      assert.deepEqual(
        read.map((each) => each !== 'incomplete' && each.signature),
        succeeded,
      );
    } finally {
      await node.stop();
    }
  });

  it('takes the same memory for ten and for a hundred of the largest transactions of strangers', async () => {
    const node = await startNode(
      Array.from({ length: 100 }, (_, i) => signature(i)),
      LARGEST,
    );
    try {
      let [count, bytesAtTen] = [0, 0];
      for await (const each of createChain({ rpcUrls: [node.url] }).transactionsNaming(NAMED, FINALIZED)) {
        assert.notEqual(each, 'incomplete');
        count += 1;
        if (count === 10) bytesAtTen = usedBytes();
      }
      assert.equal(count, 100);
      // The ninety others take 13 MB if they are kept.
      assert.ok(usedBytes() - bytesAtTen < 5_000_000);
    } finally {
      await node.stop();
    }
  });

  it('reads no transaction before it is asked for', async () => {
    const node = await startNode(
      Array.from({ length: 100 }, (_, i) => signature(i)),
      SMALL,
    );
    try {
      for await (const each of createChain({ rpcUrls: [node.url] }).transactionsNaming(NAMED, FINALIZED)) {
        assert.notEqual(each, 'incomplete');
        break;
      }
      assert.ok(node.requests.length <= 5);
    } finally {
      await node.stop();
    }
  });
});

const SMALL = { inner: 0, accounts: 1 };
/** One call of a program that calls another one 62 times, with 255 accounts each. */
const LARGEST = { inner: 62, accounts: 255 };

/** Starts a node that lists these signatures, newest first, and answers each with a transaction of a size. */
function startNode(
  signatures: readonly Signature[],
  { failed, inner, accounts }: { readonly failed?: Signature; readonly inner: number; readonly accounts: number },
) {
  const call = { programIdIndex: 1, accounts: Array.from({ length: accounts }, (_, i) => i % 2), data: '3' };
  const result = {
    slot: 5,
    transaction: { message: { accountKeys: [NAMED, OTHER], instructions: [call] } },
    meta: { err: null, innerInstructions: [{ index: 0, instructions: Array.from({ length: inner }, () => call) }] },
  };
  return startHttpServer(({ body: { method, params = [] } }) => {
    if (method === 'getTransaction') return { result };
    const { before, limit } = params[1] as { before?: Signature; limit: number }; // the method's config
    const start = before === undefined ? 0 : signatures.indexOf(before) + 1;
    const listed = signatures.slice(start, start + limit);
    return { result: listed.map((each) => ({ signature: each, err: each === failed ? 'AccountInUse' : null })) };
  });
}

function signature(i: number): Signature {
  const bytes = new Uint8Array(64).fill(1);
  new DataView(bytes.buffer).setUint32(0, i);
  return getBase58Decoder().decode(bytes) as Signature; // 64 bytes
}

setFlagsFromString('--expose_gc');
const collectGarbage: () => void = runInNewContext('gc');

function usedBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
