import { type Address, getAddressDecoder, getBase64Encoder, getTransactionDecoder } from '@solana/kit';

/** Returns the address whose 32 bytes all have this value. */
export function addressOf(byte: number): Address {
  return getAddressDecoder().decode(new Uint8Array(32).fill(byte));
}

/** Decodes a transaction in base64. */
export function decodeTransaction(wire: string) {
  return getTransactionDecoder().decode(getBase64Encoder().encode(wire));
}
