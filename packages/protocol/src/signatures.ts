import {
  type Address,
  getPublicKeyFromAddress,
  isSignatureBytes,
  type ReadonlyUint8Array,
  verifySignature,
} from '@solana/kit';
import { decodeBase58 } from './base58.ts';
import { SIGNATURE_BYTES } from './runtime.ts';

/**
 * Checks that a wallet has signed bytes. A text stands for its UTF-8, which is what wallets sign of a message.
 * @param signature base58, or its bytes. What is no signature, such as another text, is not the wallet's.
 */
export async function isSignedBy(
  wallet: Address,
  message: ReadonlyUint8Array | string,
  signature: ReadonlyUint8Array | string,
): Promise<boolean> {
  const bytes = typeof signature === 'string' ? decodeSignature(signature) : new Uint8Array(signature);
  if (bytes === null || !isSignatureBytes(bytes)) return false;
  const signed = typeof message === 'string' ? new TextEncoder().encode(message) : message;
  return verifySignature(await getPublicKeyFromAddress(wallet), bytes, signed);
}

/** Checks if a text is the base58 of 64 bytes. */
export function isSignatureText(text: string): boolean {
  return decodeSignature(text)?.length === SIGNATURE_BYTES;
}

/** Characters of the longest base58 text of 64 bytes. A longer text costs time to decode. */
const MAX_SIGNATURE_CHARACTERS = 88;

function decodeSignature(text: string): Uint8Array | null {
  return text.length > MAX_SIGNATURE_CHARACTERS ? null : decodeBase58(text);
}
