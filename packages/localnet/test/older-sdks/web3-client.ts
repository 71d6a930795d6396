import assert from 'node:assert/strict';
import {
  Connection,
  Keypair,
  LAMPORTS_PER_SOL,
  SystemProgram,
  sendAndConfirmTransaction,
  Transaction,
} from '@solana/web3.js';

/** A separate program, because web3.js keeps its WebSocket open and so the process alive. */
const [url = '', wsEndpoint = ''] = process.argv.slice(2);
const connection = new Connection(url, { commitment: 'confirmed', wsEndpoint });
const [payer, recipient] = [Keypair.generate(), Keypair.generate()];
const latest = await connection.getLatestBlockhash();
const gift = await connection.requestAirdrop(payer.publicKey, 5 * LAMPORTS_PER_SOL);
await connection.confirmTransaction({ signature: gift, ...latest });
const transfer = SystemProgram.transfer({
  fromPubkey: payer.publicKey,
  toPubkey: recipient.publicKey,
  lamports: LAMPORTS_PER_SOL,
});
const signature = await sendAndConfirmTransaction(connection, new Transaction().add(transfer), [payer]);
assert.equal(await connection.getBalance(recipient.publicKey), LAMPORTS_PER_SOL);
const read = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0 });
assert.equal(read?.meta?.err, null);
const block = await connection.getBlock(read?.slot ?? 0, { maxSupportedTransactionVersion: 0 });
assert.ok(block?.transactions.some(({ transaction }) => transaction.signatures.includes(signature)));
const parsed = await connection.getParsedTransaction(signature, { maxSupportedTransactionVersion: 0 });
assert.equal(parsed?.slot, read?.slot);
const [listed] = await connection.getSignaturesForAddress(recipient.publicKey);
assert.equal(listed?.signature, signature);
assert.ok((await connection.getSupply()).value.total > 0);
assert.equal((await connection.getVoteAccounts()).current.length, 1);
assert.equal((await connection.getClusterNodes()).length, 1);
process.exit(0);
