import { parentPort } from 'node:worker_threads';
import { decodeBase58 } from '@flywheel/protocol/base58';
import { Account, FailedTransactionMetadata, FeatureSet, LiteSvm } from 'litesvm/dist/internal.js';
import { ED25519_PROGRAM } from './programs.ts';

// The worker of `signatures.ts`: it receives data for the Ed25519 program and answers if each was accepted; null ends it. Its
// SVM has only that program and a fee payer. It uses LiteSVM's native part, because the wrapper takes a thread 60 ms to load,
// and imports nothing that imports Kit, which takes it 150 ms and a second native library.

/** Answers per message: each message costs the other side 10 µs, but small ones give it new work sooner. */
const ANSWERED_TOGETHER = 4;
const SIGNATURE_BYTES = 64;
const BLOCKHASH_BYTES = 32;
/** Enough lamports for any number of fees. */
const PAYER_LAMPORTS = 10n ** 18n;
const PAYER = new Uint8Array(32).fill(1);
const ED25519_KEY = decodeBase58(ED25519_PROGRAM) ?? new Uint8Array();

/** A legacy transaction up to the length of its one instruction's data; its own signature is not checked. */
const PREFIX = Buffer.concat([
  Buffer.of(1),
  Buffer.alloc(SIGNATURE_BYTES),
  // One signer; one of two accounts is read-only.
  Buffer.of(1, 0, 1, 2),
  PAYER,
  ED25519_KEY,
  Buffer.alloc(BLOCKHASH_BYTES),
  // One instruction of the second account's program, without accounts.
  Buffer.of(1, 1, 0),
]);

const svm = LiteSvm.default();
svm.setFeatureSet(FeatureSet.allEnabled());
svm.setSysvars();
svm.setPrecompiles();
svm.setSigverify(false);
svm.setBlockhashCheck(false);
svm.setTransactionHistory(0n);
svm.setAccount(PAYER, new Account(PAYER_LAMPORTS, new Uint8Array(), new Uint8Array(32), false, 0n));

parentPort?.on('message', (instructions: readonly Uint8Array[] | null) => {
  if (instructions === null) return parentPort?.close();
  for (let start = 0; start < instructions.length; start += ANSWERED_TOGETHER) {
    parentPort?.postMessage(instructions.slice(start, start + ANSWERED_TOGETHER).map(isAccepted));
  }
});

function isAccepted(instruction: Uint8Array): boolean {
  const transaction = Buffer.concat([PREFIX, shortLength(instruction.length), instruction]);
  return !(svm.sendLegacyTransaction(transaction) instanceof FailedTransactionMetadata);
}

/** Encodes a length with seven bits per byte, the lowest first. */
function shortLength(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  return Uint8Array.of((length & 0x7f) | 0x80, length >> 7);
}
