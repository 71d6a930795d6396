import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  appendTransactionMessageInstructions,
  assertIsTransactionWithBlockhashLifetime,
  assertIsTransactionWithDurableNonceLifetime,
  createSolanaRpcSubscriptions,
  createTransactionMessage,
  generateKeyPairSigner,
  type KeyPairSigner,
  lamports,
  type Nonce,
  pipe,
  sendAndConfirmDurableNonceTransactionFactory,
  sendAndConfirmTransactionFactory,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLifetimeUsingDurableNonce,
  signTransactionMessageWithSigners,
} from '@solana/kit';
import {
  fetchNonce,
  getCreateAccountInstruction,
  getInitializeNonceAccountInstruction,
  getTransferSolInstruction,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system';
import { type Cluster, SOL, startCluster } from '../cluster.ts';

const NONCE_BYTES = 80n;

test('sendAndConfirmTransaction confirms with both ports for WebSockets: the RPC port and the next one', async (t) => {
  const cluster = await startCluster(t, { slotMs: 20 });
  const { localnet, rpc, wallet, balance } = cluster;
  const recipient = await wallet(0n);
  const payer = await wallet();
  for (const url of new Set([localnet.websocketUrl, localnet.url.replace('http', 'ws')])) {
    const rpcSubscriptions = createSolanaRpcSubscriptions(url);
    const sendAndConfirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions });
    const transaction = await signTransfer(cluster, payer, recipient);
    assertIsTransactionWithBlockhashLifetime(transaction);
    await sendAndConfirm(transaction, { commitment: 'confirmed' });
  }
  assert.equal(await balance(recipient.address), 2n * SOL);
});

test('sendAndConfirmDurableNonceTransaction confirms', async (t) => {
  const cluster = await startCluster(t, { slotMs: 20 });
  const { localnet, rpc, wallet, send, balance } = cluster;
  const [payer, recipient, nonce] = [await wallet(), await wallet(0n), await generateKeyPairSigner()];
  const rent = await rpc.getMinimumBalanceForRentExemption(NONCE_BYTES).send();
  await send(payer, [
    getCreateAccountInstruction({
      payer,
      newAccount: nonce,
      lamports: rent,
      space: NONCE_BYTES,
      programAddress: SYSTEM_PROGRAM_ADDRESS,
    }),
    getInitializeNonceAccountInstruction({ nonceAccount: nonce.address, nonceAuthority: payer.address }),
  ]);
  await localnet.warp({ slots: 3n });
  const { data } = await fetchNonce(rpc, nonce.address, { commitment: 'confirmed' });
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayerSigner(payer, empty),
    (paid) =>
      setTransactionMessageLifetimeUsingDurableNonce(
        {
          nonce: toNonce(data.blockhash),
          nonceAccountAddress: nonce.address,
          nonceAuthorityAddress: payer.address,
        },
        paid,
      ),
    (timed) => appendTransactionMessageInstructions([transferOf(payer, recipient)], timed),
  );
  const transaction = await signTransactionMessageWithSigners(message);
  assertIsTransactionWithDurableNonceLifetime(transaction);
  const sendAndConfirm = sendAndConfirmDurableNonceTransactionFactory({
    rpc,
    rpcSubscriptions: createSolanaRpcSubscriptions(localnet.websocketUrl),
  });
  await sendAndConfirm(transaction, { commitment: 'confirmed' });
  assert.equal(await balance(recipient.address), SOL);
});

test('subscriptions notify of accounts, programs, logs, slots and roots at their commitment', async (t) => {
  const cluster = await startCluster(t);
  const { localnet, wallet, send } = cluster;
  const [payer, recipient] = [await wallet(), await wallet(0n)];
  const subscriptions = createSolanaRpcSubscriptions(localnet.websocketUrl);
  const abort = new AbortController();
  t.after(() => abort.abort());
  const open = { abortSignal: abort.signal };
  const confirmed = { commitment: 'confirmed', encoding: 'base64' } as const;
  const account = await subscriptions.accountNotifications(recipient.address, confirmed).subscribe(open);
  const early = await subscriptions
    .accountNotifications(recipient.address, { commitment: 'processed', encoding: 'base64' })
    .subscribe(open);
  const program = await subscriptions.programNotifications(SYSTEM_PROGRAM_ADDRESS, confirmed).subscribe(open);
  const logs = await subscriptions
    .logsNotifications({ mentions: [recipient.address] }, { commitment: 'confirmed' })
    .subscribe(open);
  const slots = await subscriptions.slotNotifications().subscribe(open);
  const roots = await subscriptions.rootNotifications().subscribe(open);

  // kit drops notifications that arrive before they are awaited.
  const told = {
    account: first(account),
    early: first(early),
    program: first(program),
    logs: first(logs),
    slot: first(slots),
    root: first(roots),
  };
  const signature = await send(payer, [transferOf(payer, recipient)]);
  const atOnce = await told.early;
  assert.equal(atOnce.value.lamports, lamports(SOL));
  await localnet.warp();
  const later = await told.account;
  assert.deepEqual([later.value.lamports, later.context.slot], [lamports(SOL), atOnce.context.slot]);
  assert.equal((await told.program).value.account.owner, SYSTEM_PROGRAM_ADDRESS);
  assert.partialDeepStrictEqual((await told.logs).value, { signature, err: null });
  const slot = await told.slot;
  assert.deepEqual([slot.slot - slot.parent, slot.slot], [1n, atOnce.context.slot + 1n]);
  await localnet.warp({ slots: 40n });
  assert.ok((await told.root) >= slot.root);
});

/** Converts the value that the account's reader brands as an address. */
function toNonce(value: string): Nonce {
  return value as Nonce;
}

function transferOf(source: KeyPairSigner, recipient: KeyPairSigner) {
  return getTransferSolInstruction({ source, destination: recipient.address, amount: SOL });
}

async function signTransfer({ rpc }: Cluster, payer: KeyPairSigner, recipient: KeyPairSigner) {
  const { value } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send();
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayerSigner(payer, empty),
    (paid) => setTransactionMessageLifetimeUsingBlockhash(value, paid),
    (timed) => appendTransactionMessageInstructions([transferOf(payer, recipient)], timed),
  );
  return signTransactionMessageWithSigners(message);
}

async function first<T>(notifications: AsyncIterable<T>): Promise<T> {
  for await (const notification of notifications) return notification;
  throw new Error('The subscription ended without a notification.');
}
