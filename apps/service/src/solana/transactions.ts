import { unsignedTransaction } from '@flywheel/protocol';
import {
  type Address,
  type Base64EncodedWireTransaction,
  type Blockhash,
  compileTransactionMessage,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getSignatureFromTransaction,
  getTransactionDecoder,
  getTransactionSize,
  getTransactionSizeLimit,
  type Nonce,
  partiallySignTransactionWithSigners,
  type ReadonlyUint8Array,
  type Signature,
  setTransactionMessageLifetimeUsingBlockhash,
  setTransactionMessageLifetimeUsingDurableNonce,
  type Transaction,
  type TransactionMessage,
  type TransactionMessageWithFeePayer,
  type TransactionPartialSigner,
} from '@solana/kit';

export interface SignedTransaction {
  readonly wire: Base64EncodedWireTransaction;
  /** Fee payer’s signature, which identifies the transaction. */
  readonly signature: Signature;
}

/** Lifetime of a transaction on a recent block: it can land up to this block height. */
export interface BlockhashLifetime {
  readonly blockhash: Blockhash;
  readonly lastValidBlockHeight: bigint;
}

/** Lifetime of a transaction on a durable nonce, which it advances before everything else: it can land once, at any time. */
export interface NonceLifetime {
  readonly nonce: Nonce;
  readonly nonceAccountAddress: Address;
  readonly nonceAuthorityAddress: Address;
}

/**
 * Compiles a message on a recent block or on a durable nonce, and signs it with all its signers.
 * @throws Error if it is larger than its version allows, or if signatures are missing, with the signers' addresses.
 */
export async function signTransaction(
  message: TransactionMessage & TransactionMessageWithFeePayer,
  lifetime: BlockhashLifetime | NonceLifetime,
  signers: readonly TransactionPartialSigner[],
): Promise<SignedTransaction> {
  return signed(await completed(compileOn(message, lifetime), signers));
}

/** Signs like `signTransaction`, but allows missing signatures, which others add; they sign `messageBytes`. */
export async function partiallySignTransaction(
  message: TransactionMessage & TransactionMessageWithFeePayer,
  lifetime: BlockhashLifetime,
  signers: readonly TransactionPartialSigner[],
): Promise<{ readonly wire: Base64EncodedWireTransaction; readonly messageBytes: ReadonlyUint8Array }> {
  const transaction = await withSignatures(compileOn(message, lifetime), signers);
  return { wire: getBase64EncodedWireTransaction(transaction), messageBytes: transaction.messageBytes };
}

/** Compiles a message on a recent block, for others to sign. */
export function compileUnsigned(
  message: TransactionMessage & TransactionMessageWithFeePayer,
  lifetime: BlockhashLifetime,
): Base64EncodedWireTransaction {
  return getBase64EncodedWireTransaction(compileOn(message, lifetime));
}

/**
 * Adds missing signatures to a transaction, and keeps the existing ones.
 * @throws Error like `signTransaction`, and if the text is not a transaction.
 */
export async function addSignatures(
  wire: Base64EncodedWireTransaction,
  signers: readonly TransactionPartialSigner[],
): Promise<SignedTransaction> {
  return signed(await completed(decode(wire), signers));
}

/**
 * Reads the fee payer's signature.
 * @throws Error if the text is not a transaction or its fee payer has not signed it.
 */
export function signatureOf(wire: Base64EncodedWireTransaction): Signature {
  return getSignatureFromTransaction(decode(wire));
}

function decode(wire: Base64EncodedWireTransaction): Transaction {
  return getTransactionDecoder().decode(getBase64Encoder().encode(wire));
}

function compileOn(
  message: TransactionMessage & TransactionMessageWithFeePayer,
  lifetime: BlockhashLifetime | NonceLifetime,
): Transaction {
  const limited =
    'nonce' in lifetime
      ? setTransactionMessageLifetimeUsingDurableNonce(lifetime, message)
      : setTransactionMessageLifetimeUsingBlockhash(lifetime, message);
  return unsignedTransaction(compileTransactionMessage(limited));
}

async function completed(transaction: Transaction, signers: readonly TransactionPartialSigner[]): Promise<Transaction> {
  const complete = await withSignatures(transaction, signers);
  const missing = Object.entries(complete.signatures).filter(([, signature]) => signature === null);
  if (missing.length > 0) {
    throw new Error(`The transaction lacks the signature of ${missing.map(([address]) => address).join(', ')}.`);
  }
  return complete;
}

async function withSignatures(
  transaction: Transaction,
  signers: readonly TransactionPartialSigner[],
): Promise<Transaction> {
  const [bytes, maxBytes] = [getTransactionSize(transaction), getTransactionSizeLimit(transaction)];
  if (bytes > maxBytes) throw new Error(`The transaction takes ${bytes} bytes; it may have ${maxBytes}.`);
  return partiallySignTransactionWithSigners(signers, transaction);
}

function signed(transaction: Transaction): SignedTransaction {
  return { wire: getBase64EncodedWireTransaction(transaction), signature: getSignatureFromTransaction(transaction) };
}
