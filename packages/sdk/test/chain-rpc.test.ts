import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TOKEN_ACCOUNT_TYPE, writeMergedPayload } from '@flywheel/protocol';
import { isFlywheelError, type ProofQuery, readMint, verifyProofOnChain } from '@flywheel/sdk';
import { openSyntheticVault } from '@flywheel/testing/synthetic-vault';
import type { ReadonlyUint8Array } from '@solana/kit';
import { getMintEncoder, getTokenSize, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { askRpc } from '../src/chain/rpc.ts';
import { startStubService } from './stub-service.ts';

describe('askRpc', () => {
  it('names the host once, and nothing else of the URL, if the node is unreachable', async () => {
    await using node = await startStubService(() => 'hangUp');
    const url = `${node.url}/secret-path`;
    await assert.rejects(askRpc(url, 'getSlot', []), (error) => {
      assert.ok(isFlywheelError(error, 'ERR_UNREACHABLE'), String(error));
      assert.match(error.message, new RegExp(`^getSlot: ${new URL(url).host} is unreachable: `));
      assert.doesNotMatch(error.message, /secret-path/);
      return true;
    });
  });

  for (const [moment, answer] of [
    ['a node that never answers', 'silence'],
    ['a pause before another attempt', { status: 500, body: '', headers: { 'retry-after': '9' } }],
  ] as const) {
    it(`rejects with the signal’s reason at once, during ${moment}, and leaves no timer and no socket`, async () => {
      const controller = new AbortController();
      const reason = new Error('enough');
      const timers = countTimers();
      await using node = await startStubService(() => {
        // Later than the answer, so that the pause has begun.
        setTimeout(() => controller.abort(reason), 100);
        return answer;
      });
      await assert.rejects(askRpc(node.url, 'getSlot', [], controller.signal), (error) => error === reason);
      assert.equal(node.received.length, 1);
      assert.equal(countTimers(), timers);
      if (answer === 'silence') await node.allGone();
    });
  }

  it('asks nothing if its signal is aborted already', async () => {
    await using node = await startStubService(() => 'silence');
    const reason = new Error('enough');
    await assert.rejects(askRpc(node.url, 'getSlot', [], AbortSignal.abort(reason)), (error) => error === reason);
    assert.equal(node.received.length, 0);
  });
});

describe('readMint', () => {
  it('takes no other account of a token program for a mint', async () => {
    const mint = { mintAuthority: null, supply: 0n, decimals: 6, isInitialized: true, freezeAuthority: null };
    const mintBytes = getMintEncoder().encode(mint);
    const typed = (type: number) =>
      Uint8Array.from({ length: getTokenSize() + 1 }, (_, i) => mintBytes[i] ?? (i === getTokenSize() ? type : 0));
    const read = async (program: string, bytes: ReadonlyUint8Array) => {
      const account = { owner: program, data: [Buffer.from(bytes).toString('base64'), 'base64'] };
      const result = { context: { slot: 1 }, value: [account] };
      await using node = await startStubService(() => ({ status: 200, body: { jsonrpc: '2.0', id: 1, result } }));
      return (await readMint(node.url, TOKEN_PROGRAM_ADDRESS)).decimals;
    };
    for (const [program, bytes] of [
      [TOKEN_PROGRAM_ADDRESS, typed(0).slice(0, getTokenSize())],
      [TOKEN_PROGRAM_ADDRESS, getMintEncoder().encode({ ...mint, isInitialized: false })],
      [TOKEN_2022_PROGRAM_ADDRESS, typed(TOKEN_ACCOUNT_TYPE.account)],
      [TOKEN_2022_PROGRAM_ADDRESS, typed(0).slice(0, getTokenSize())],
    ] as const) {
      await assert.rejects(read(program, bytes), /is not an initialized mint/);
    }
    assert.equal(await read(TOKEN_PROGRAM_ADDRESS, mintBytes), 6);
    assert.equal(await read(TOKEN_2022_PROGRAM_ADDRESS, mintBytes), 6);
    assert.equal(await read(TOKEN_2022_PROGRAM_ADDRESS, typed(TOKEN_ACCOUNT_TYPE.mint)), 6);
  });

  it('quotes an answer that is not as documented, with its long integers', async () => {
    const account = '{"owner":7,"data":[],"rentEpoch":18446744073709551615}';
    const body = `{"jsonrpc":"2.0","id":1,"result":{"context":{"slot":1},"value":[${account}]}}`;
    await using node = await startStubService(() => ({ status: 200, body }));
    await assert.rejects(readMint(node.url, '12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9'), (error) => {
      return (
        isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && error.message.endsWith('"rentEpoch":"18446744073709551615"}')
      );
    });
  });
});

describe('verifyProofOnChain', () => {
  it('takes no other transaction for the one that it has asked for', async () => {
    await using vault = await openSyntheticVault();
    const [first = ''] = vault.runBatch([{ proof: { type: 'WATCH_AD', payload: '{"adId":"1"}' } }]);
    const second = vault.depositLamports(1n);
    await using mixed = await startStubService(async ({ body }) => {
      const swapped = { method: 'POST', body: body.replace(second, first) };
      return { status: 200, body: await (await fetch(vault.node.url, swapped)).text() };
    });
    const question = { type: 'WATCH_AD', payload: '{"adId":"1"}', signature: second, vault: vault.vault };
    await assert.rejects(verifyProofOnChain(mixed.url, question), (error) => {
      return isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && error.message.includes(first);
    });
    assert.equal((await verifyProofOnChain([mixed.url, vault.node.url], question)).isProven, false);
  });

  for (const blockTime of ['1e20', '-1', '1e999', '"today"']) {
    it(`takes no block of the time ${blockTime} for one of the cluster`, async () => {
      await using vault = await openSyntheticVault();
      const proof = { type: 'WATCH_AD', payload: '{"adId":"1"}' };
      const [signature = ''] = vault.runBatch([{ proof }]);
      await using timeless = await startStubService(async ({ body }) => {
        const answer = await (await fetch(vault.node.url, { method: 'POST', body })).text();
        return { status: 200, body: answer.replace(/"blockTime":\d+/, `"blockTime":${blockTime}`) };
      });
      const question = { ...proof, signature, vault: vault.vault };
      await assert.rejects(verifyProofOnChain(timeless.url, question), (error) => {
        return isFlywheelError(error, 'ERR_UNEXPECTED_REPLY') && /answered getTransaction/.test(error.message);
      });
      assert.equal((await verifyProofOnChain([timeless.url, vault.node.url], question)).isProven, true);
    });
  }

  it('proves nothing by a failed transaction, another vault, a call of another program, or a text that does not list the event', async () => {
    await using vault = await openSyntheticVault();
    const proof = { type: 'WATCH_AD', payload: '{"adId":"1"}' };
    const payloads = [proof.payload, '{"adId":"2"}'];
    const merged = { type: proof.type, payload: writeMergedPayload(proof.type, payloads) };
    const [honest = '', together = ''] = [proof, merged].flatMap((each) => vault.runBatch([{ proof: each }]));
    const index = vault.takeIndex();
    vault.land([vault.creation(index)]);
    const call = vault.execution(index, 0, { proof });
    const failed = vault.land([call], { hasFailed: true });
    const program = { ...call.instruction, programAddress: vault.stranger };
    const called = vault.land([{ instruction: program, inner: [call.instruction, ...(call.inner ?? [])] }]);
    const verify = async (changes: Partial<ProofQuery>) => {
      const query = { ...proof, signature: honest, vault: vault.vault, ...changes };
      const { isProven, found, reason } = await verifyProofOnChain(vault.node.url, query);
      return [isProven, found.length, reason];
    };
    const none = [false, 0, 'The vault wrote no proof in this transaction.'];
    const notListed = 'The text is not a merged payload, or does not list this event.';
    assert.deepEqual(await verify({}), [true, 1, null]);
    assert.deepEqual(await verify({ signature: failed }), [
      ...[false, 0],
      'The transaction failed: {"InstructionError":[0,{"Custom":1}]}.',
    ]);
    assert.deepEqual(await verify({ signature: called }), none);
    assert.deepEqual(await verify({ vault: vault.stranger }), none);
    const byMerged = { signature: together, mergedPayload: merged.payload };
    assert.deepEqual(await verify(byMerged), [true, 1, null]);
    assert.deepEqual(await verify({ ...byMerged, payload: '{"adId":"3"}' }), [false, 1, notListed]);
    assert.deepEqual(await verify({ payload: '{"adId":"3"}', mergedPayload: proof.payload }), [false, 1, notListed]);
  });

  it('says in one line why a proof is not there, whatever types the vault has written', async () => {
    await using vault = await openSyntheticVault();
    const written = { type: 'A\n✓ Proven: transaction 5VERv8 contains this proof', payload: '{}' };
    const [signature = ''] = vault.runBatch([{ proof: written }]);
    const question = { type: 'WATCH_AD', payload: '{}', signature, vault: vault.vault };
    const { found, reason } = await verifyProofOnChain(vault.node.url, question);
    assert.deepEqual(
      found.map(({ type }) => type),
      [written.type],
    );
    assert.match(reason ?? '', /^The vault wrote proofs of A\uFFFD✓ Proven.*, not of WATCH_AD\.$/);
  });

  it('does not say that no node knows a transaction while one of them does not answer', async () => {
    await using pruned = await startStubService(() => ({ status: 200, body: { jsonrpc: '2.0', id: 1, result: null } }));
    await using broken = await startStubService(() => 'hangUp');
    const vault = '12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9';
    const question = { type: 'WATCH_AD', payload: '{"adId":"1"}', signature: '1'.repeat(64), vault };
    for (const nodes of [
      [pruned.url, broken.url],
      [broken.url, pruned.url],
    ]) {
      await assert.rejects(verifyProofOnChain(nodes, question), (error) => isFlywheelError(error, 'ERR_UNREACHABLE'));
    }
    const { isProven, reason } = await verifyProofOnChain([pruned.url, pruned.url], question);
    assert.equal(isProven, false);
    assert.match(reason ?? '', /^No node knows the confirmed transaction /);
  });
});

/** Timers that keep this process alive. */
function countTimers(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
}
