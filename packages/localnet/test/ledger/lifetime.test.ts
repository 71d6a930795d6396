import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Address,
  appendTransactionMessageInstructions,
  type Commitment,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64Decoder,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  type Instruction,
  type KeyPairSigner,
  type Nonce,
  pipe,
  setTransactionMessageConfig,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLifetimeUsingDurableNonce,
  signTransactionMessageWithSigners,
  type TransactionMessageBytesBase64,
} from '@solana/kit';
import {
  fetchNonce,
  getCreateAccountInstruction,
  getInitializeNonceAccountInstruction,
  getTransferSolInstruction,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system';
import { type Cluster, preflightError, SOL, startCluster } from '../cluster.ts';

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr' as Address;

describe('a blockhash', () => {
  test('is accepted through its 150th slot and rejected in the next', async (t) => {
    const { localnet, wallet, sign, submit } = await startCluster(t);
    const payer = await wallet();
    const [first, second] = [await sign(payer, [memo('first')]), await sign(payer, [memo('second')])];
    await localnet.warp({ slots: 149n });
    await submit(first.wire);
    await localnet.warp();
    assert.match(String(await preflightError(submit(second.wire))), /[Bb]lockhash/);
  });

  test('is known until its last valid block height', async (t) => {
    const { localnet, rpc } = await startCluster(t);
    const { value } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send();
    const height = await rpc.getBlockHeight({ commitment: 'processed' }).send();
    await localnet.warp({ slots: value.lastValidBlockHeight - height });
    const isValid = () => rpc.isBlockhashValid(value.blockhash, { commitment: 'processed' }).send();
    assert.equal((await isValid()).value, true);
    await localnet.warp();
    assert.equal((await isValid()).value, false);
  });

  test('accepts a transaction once, however often it is sent', async (t) => {
    const { localnet, wallet, sign, submit, balance, call } = await startCluster(t);
    const [source, recipient] = [await wallet(), await wallet(0n)];
    const transfer = getTransferSolInstruction({ source, destination: recipient.address, amount: SOL });
    const { wire } = await sign(source, [transfer]);
    const sends = Array.from({ length: 20 }, () => call('sendTransaction', [wire, { encoding: 'base64' }]));
    await Promise.all(sends);
    await localnet.warp();
    assert.match(String(await preflightError(submit(wire))), /already been processed/);
    await submit(wire, { skipPreflight: true });
    assert.equal(await balance(recipient.address), SOL);
  });
});

describe('a durable nonce', () => {
  test('lets a transaction wait for 100,000 slots and land once', async (t) => {
    const cluster = await startCluster(t);
    const payer = await cluster.wallet();
    const nonce = await createNonce(cluster, payer);
    const recipient = await cluster.wallet(0n);
    const transfer = getTransferSolInstruction({ source: payer, destination: recipient.address, amount: SOL });
    const { wire } = await signDurable(cluster, payer, nonce, [transfer]);
    await cluster.localnet.warp({ slots: 100_000n });
    const before = await nonceValue(cluster, nonce);
    await cluster.submit(wire);
    assert.notEqual(await nonceValue(cluster, nonce), before);
    await cluster.localnet.warp();
    assert.match(String(await preflightError(cluster.submit(wire))), /[Bb]lockhash/);
    assert.equal(await cluster.balance(recipient.address), SOL);
  });

  test('advances, and the fee is charged, if the transaction fails, so that it cannot be sent again', async (t) => {
    const cluster = await startCluster(t);
    const payer = await cluster.wallet();
    const nonce = await createNonce(cluster, payer);
    const recipient = await cluster.wallet(0n);
    const tooMuch = getTransferSolInstruction({ source: payer, destination: recipient.address, amount: 1000n * SOL });
    const { wire, signature } = await signDurable(cluster, payer, nonce, [tooMuch]);
    await cluster.localnet.warp();
    const [value, funds] = [await nonceValue(cluster, nonce), await cluster.balance(payer.address)];
    await cluster.submit(wire, { skipPreflight: true });
    const moved = await nonceValue(cluster, nonce);
    assert.notEqual(moved, value);
    assert.equal(await cluster.balance(payer.address), funds - 5000n);
    await cluster.localnet.warp();
    await cluster.submit(wire, { skipPreflight: true });
    assert.equal(await cluster.balance(payer.address), funds - 5000n);
    const { value: statuses } = await cluster.rpc.getSignatureStatuses([signature]).send();
    assert.deepEqual(statuses[0]?.err, { InstructionError: [1n, { Custom: 1n }] });
    // The value that a failed transaction wrote is a valid nonce.
    await cluster.submit((await signDurable(cluster, payer, nonce, [memo('next')])).wire);
    assert.notEqual(await nonceValue(cluster, nonce), moved);
  });

  test('has a fee at every commitment that knows its value', async (t) => {
    const cluster = await startCluster(t);
    const payer = await cluster.wallet();
    const nonce = await createNonce(cluster, payer);
    const { message, wire } = await signDurable(cluster, payer, nonce, [memo('priced')]);
    const fee = async (commitment: Commitment) =>
      (await cluster.rpc.getFeeForMessage(message, { commitment }).send()).value;
    assert.deepEqual([await fee('processed'), await fee('finalized')], [5000n, null]);
    await cluster.localnet.warp({ slots: 32n });
    assert.equal(await fee('finalized'), 5000n);
    await cluster.submit(wire);
    assert.deepEqual([await fee('processed'), await fee('finalized')], [null, 5000n]);
  });

  test('is not changed by a failed preflight', async (t) => {
    const cluster = await startCluster(t);
    const payer = await cluster.wallet();
    const nonce = await createNonce(cluster, payer);
    await cluster.localnet.warp();
    const tooMuch = getTransferSolInstruction({ source: payer, destination: payer.address, amount: 1000n * SOL });
    const { wire } = await signDurable(cluster, payer, nonce, [tooMuch]);
    const value = await nonceValue(cluster, nonce);
    await assert.rejects(cluster.submit(wire));
    assert.equal(await nonceValue(cluster, nonce), value);
  });

  test('is rejected if its value was never issued, or if another wallet advances it', async (t) => {
    const cluster = await startCluster(t);
    const [payer, stranger] = [await cluster.wallet(), await cluster.wallet()];
    const nonce = await createNonce(cluster, payer);
    await cluster.localnet.warp();
    const invented = await signDurable(
      cluster,
      payer,
      nonce,
      [memo('x')],
      '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi' as Nonce,
    );
    assert.match(String(await preflightError(cluster.submit(invented.wire))), /[Bb]lockhash/);
    const stolen = await signDurable(cluster, stranger, nonce, [memo('x')]);
    assert.match(String(await preflightError(cluster.submit(stolen.wire))), /[Bb]lockhash/);
  });

  test('advances at most once in a slot', async (t) => {
    const cluster = await startCluster(t);
    const payer = await cluster.wallet();
    const nonce = await createNonce(cluster, payer);
    const fresh = await signDurable(cluster, payer, nonce, [memo('same slot')]);
    await assert.rejects(cluster.submit(fresh.wire));
    await cluster.localnet.warp();
    await cluster.submit(fresh.wire);
  });
});

describe('a transaction', () => {
  test('has at most 1232 bytes in version 0', async (t) => {
    const { wallet, sign, submit } = await startCluster(t);
    const payer = await wallet();
    const { wire: smallest } = await sign(payer, [memo('')]);
    // From 128 bytes of data on, the length prefix has one more byte.
    const room = 1232 - Buffer.from(smallest, 'base64').length - 1;
    await submit((await sign(payer, [memo('m'.repeat(room))])).wire);
    const tooLong = await sign(payer, [memo('m'.repeat(room + 1))]);
    await assert.rejects(submit(tooLong.wire), /too large: 1233 bytes \(max: 1232 bytes\)/);
  });

  test('has at most 4096 bytes in version 1, whose limits are its config', async (t) => {
    const cluster = await startCluster(t);
    const payer = await cluster.wallet();
    const { value: lifetime } = await cluster.rpc.getLatestBlockhash({ commitment: 'confirmed' }).send();
    const sign = async (text: string) => {
      const message = pipe(
        createTransactionMessage({ version: 1 }),
        (empty) => setTransactionMessageFeePayerSigner(payer, empty),
        (paid) => setTransactionMessageLifetimeUsingBlockhash(lifetime, paid),
        (timed) =>
          setTransactionMessageConfig(
            { computeUnitLimit: 1_400_000, loadedAccountsDataSizeLimit: 1_000_000, priorityFeeLamports: 777n },
            timed,
          ),
        (limited) => appendTransactionMessageInstructions([memo(text)], limited),
      );
      return getBase64EncodedWireTransaction(await signTransactionMessageWithSigners(message));
    };
    const overhead = Buffer.from(await sign(''), 'base64').length;
    const signature = await cluster.submit(await sign('m'.repeat(3000)));
    assert.equal(await cluster.balance(payer.address), 10n * SOL - 5000n - 777n);
    await assert.rejects(cluster.submit(await sign('m'.repeat(4097 - overhead))), /max: 4096 bytes/);
    await cluster.localnet.warp();
    await assert.rejects(
      cluster.rpc
        .getTransaction(signature, { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 0 })
        .send(),
      /version/,
    );
  });
});

async function createNonce({ rpc, send }: Cluster, authority: KeyPairSigner): Promise<Address> {
  const account = await generateKeyPairSigner();
  const space = 80n;
  await send(authority, [
    getCreateAccountInstruction({
      payer: authority,
      newAccount: account,
      lamports: await rpc.getMinimumBalanceForRentExemption(space).send(),
      space,
      programAddress: SYSTEM_PROGRAM_ADDRESS,
    }),
    getInitializeNonceAccountInstruction({ nonceAccount: account.address, nonceAuthority: authority.address }),
  ]);
  return account.address;
}

async function nonceValue({ rpc }: Cluster, address: Address): Promise<Nonce> {
  return (await fetchNonce(rpc, address, { commitment: 'processed' })).data.blockhash as string as Nonce; // the stored value is the nonce
}

async function signDurable(
  cluster: Cluster,
  payer: KeyPairSigner,
  nonceAccountAddress: Address,
  instructions: readonly Instruction[],
  nonce?: Nonce,
) {
  const lifetime = {
    nonce: nonce ?? (await nonceValue(cluster, nonceAccountAddress)),
    nonceAccountAddress,
    nonceAuthorityAddress: payer.address,
  };
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayerSigner(payer, empty),
    (paid) => setTransactionMessageLifetimeUsingDurableNonce(lifetime, paid),
    (timed) => appendTransactionMessageInstructions(instructions, timed),
  );
  const transaction = await signTransactionMessageWithSigners(message);
  const wireMessage = getBase64Decoder().decode(transaction.messageBytes) as TransactionMessageBytesBase64;
  return {
    message: wireMessage,
    wire: getBase64EncodedWireTransaction(transaction),
    signature: getSignatureFromTransaction(transaction),
  };
}

function memo(text: string): Instruction {
  return { programAddress: MEMO_PROGRAM, data: new TextEncoder().encode(text) };
}
