import { createPublicKey, verify } from 'node:crypto';
import { type Address, getAddressEncoder } from '@solana/kit';
import type { WireTransaction } from './wire-transaction.ts';

/** What stands before the 32 bytes of an Ed25519 public key in DER (RFC 8410). */
const DER_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Whether every signature is there and was made over these bytes by the account that must sign. Runs off the main thread. */
export async function verifySignatures(transaction: WireTransaction): Promise<boolean> {
  const message = new Uint8Array(transaction.transaction.messageBytes);
  const verdicts = transaction.signatures.map((signature, index) => {
    const signer = transaction.staticAddresses[index];
    return signature !== null && signer !== undefined && verifyOne(signer, new Uint8Array(signature), message);
  });
  return (await Promise.all(verdicts)).every(Boolean);
}

function verifyOne(signer: Address, signature: Uint8Array, message: Uint8Array): Promise<boolean> {
  const der = Buffer.concat([DER_PREFIX, new Uint8Array(getAddressEncoder().encode(signer))]);
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return new Promise((resolve, reject) => {
    verify(null, message, key, signature, (error, verified) => (error ? reject(error) : resolve(verified)));
  });
}
