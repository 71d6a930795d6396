import { Worker } from 'node:worker_threads';
import type { WireTransaction } from './wire-transaction.ts';

// These two stand here as in `signature-worker.ts`: a test holds both files to load nothing that imports Kit.
const SIGNATURE_BYTES = 64;
const KEY_BYTES = 32;
/** The Ed25519 program's data: a count and padding, then offsets for each signature (solana-ed25519-program). */
const HEADER_BYTES = 2;
const OFFSETS_BYTES = 14;
/** Offset value that means the instruction itself. */
const THIS_INSTRUCTION = 0xffff;

/** The message with which the thread ends. */
const END = null;

/** Verifies signatures with the rules of a validator. */
export interface SignatureVerifier {
  /** Resolves to true if every signer's signature exists and is valid for these bytes. */
  verify(transaction: WireTransaction): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Creates a verifier with a thread of its own, because a signature takes four fifths of the time of a transfer. The
 * SVM's Ed25519 program checks them in 35 µs, where Node's crypto takes 60, and by the rules of the runtime. Requests
 * of one turn of the event loop are sent together.
 */
export function createSignatureVerifier(): SignatureVerifier {
  const worker = new Worker(new URL('./signature-worker.ts', import.meta.url));
  const exited = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
  });
  worker.unref();
  let waiting: Question[] = [];
  // Answered in the order of the requests.
  let asked: Question[] = [];
  let failure: Error | null = null;

  const ask = () => {
    asked.push(...waiting);
    worker.postMessage(waiting.map(({ instruction }) => instruction));
    waiting = [];
  };
  worker.on('message', (verdicts: readonly boolean[]) => {
    for (const [index, verdict] of verdicts.entries()) asked[index]?.resolve(verdict);
    asked = asked.slice(verdicts.length);
  });
  worker.on('error', (cause: unknown) => {
    failure = new Error('The thread that verifies signatures has failed.', { cause });
    for (const { reject } of [...asked, ...waiting]) reject(failure);
  });
  return {
    verify: async (transaction) => {
      const instruction = verifyingInstruction(transaction);
      if (instruction === null) return false;
      if (failure) throw failure;
      return new Promise<boolean>((resolve, reject) => {
        waiting.push({ instruction, resolve, reject });
        if (waiting.length === 1) setImmediate(ask);
      });
    },
    close: () => {
      // The thread ends by itself: ended from outside while it loads native code, it can abort the whole process.
      worker.ref();
      worker.postMessage(END);
      return exited;
    },
  };
}

interface Question {
  readonly instruction: Uint8Array;
  readonly resolve: (verdict: boolean) => void;
  readonly reject: (error: Error) => void;
}

/** Builds data for the Ed25519 program, which succeeds if all signatures are valid; null if one is missing. */
function verifyingInstruction({ transaction, signatures, addressesOffset }: WireTransaction): Uint8Array | null {
  const message = new Uint8Array(transaction.messageBytes);
  const signaturesStart = HEADER_BYTES + signatures.length * OFFSETS_BYTES;
  const messageStart = signaturesStart + signatures.length * SIGNATURE_BYTES;
  const instruction = new Uint8Array(messageStart + message.length);
  const view = new DataView(instruction.buffer);
  instruction[0] = signatures.length;
  instruction.set(message, messageStart);
  for (const [index, signature] of signatures.entries()) {
    if (signature === null) return null;
    const signatureStart = signaturesStart + index * SIGNATURE_BYTES;
    // The signers' keys are the first addresses of the message.
    const keyStart = messageStart + addressesOffset + index * KEY_BYTES;
    const offsets = [signatureStart, THIS_INSTRUCTION, keyStart, THIS_INSTRUCTION];
    offsets.push(messageStart, message.length, THIS_INSTRUCTION);
    for (const [position, offset] of offsets.entries()) {
      view.setUint16(HEADER_BYTES + index * OFFSETS_BYTES + 2 * position, offset, true);
    }
    instruction.set(signature, signatureStart);
  }
  return instruction;
}
