import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { Address } from '@solana/kit';
import { decodeBase58 } from './base58.ts';
import type { WireTransaction } from './wire-transaction.ts';

/** What stands before the 32 bytes of an Ed25519 public key in DER (RFC 8410). */
const DER_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
/** Making a key object takes a third as long as checking a signature with it, and the same wallets sign over and over. */
const REMEMBERED_KEYS = 10_000;

/** Says whether every signature is there and was made over these bytes by the account that must sign. */
export type VerifySignatures = (transaction: WireTransaction) => Promise<boolean>;

/** A verifier that works off the main thread and remembers the keys it has seen. */
export function createSignatureVerifier(): VerifySignatures {
  const keys = new Map<Address, KeyObject>();
  const keyOf = (signer: Address): KeyObject => {
    const known = keys.get(signer);
    if (known) return known;
    const der = Buffer.concat([DER_PREFIX, decodeBase58(signer) ?? new Uint8Array()]);
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    if (keys.size >= REMEMBERED_KEYS) keys.clear();
    keys.set(signer, key);
    return key;
  };
  return async ({ transaction, signatures, staticAddresses }) => {
    const message = new Uint8Array(transaction.messageBytes);
    const verdicts = signatures.map((signature, index) => {
      const signer = staticAddresses[index];
      return signature !== null && signer !== undefined && verifyOne(keyOf(signer), new Uint8Array(signature), message);
    });
    return (await Promise.all(verdicts)).every(Boolean);
  };
}

function verifyOne(key: KeyObject, signature: Uint8Array, message: Uint8Array): Promise<boolean> {
  return new Promise((resolve, reject) => {
    verify(null, message, key, signature, (error, verified) => (error ? reject(error) : resolve(verified)));
  });
}
