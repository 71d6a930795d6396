import { createKeyPairSignerFromBytes, type KeyPairSigner } from '@solana/kit';
import { nodeProcess } from './process.ts';

/**
 * Reads a wallet from a Solana CLI keypair file: a JSON array of 64 numbers.
 * @throws Error if the file cannot be read or is no keypair; it never quotes the file, which may contain a key.
 */
export async function readWallet(path: string): Promise<KeyPairSigner> {
  const { readFile } = nodeProcess().getBuiltinModule('node:fs/promises');
  return parseWallet(await readFile(path, 'utf8'), path);
}

/**
 * Parses the text of a Solana CLI keypair file.
 * @param name of the file, for the error.
 * @throws Error if it is no keypair; it never quotes the text, which may be a key.
 */
export async function parseWallet(text: string, name: string): Promise<KeyPairSigner> {
  const numbers = parseArray(text);
  const isByte = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
  if (numbers?.length !== KEYPAIR_BYTES || !numbers.every(isByte)) {
    const found = numbers === null ? 'something else' : `${numbers.length} values`;
    throw new Error(
      `${name} is not a Solana CLI keypair file: expected a JSON array of ${KEYPAIR_BYTES} numbers from 0 to 255, found ${found}.`,
    );
  }
  try {
    return await createKeyPairSignerFromBytes(Uint8Array.from(numbers, Number));
  } catch (cause) {
    throw new Error(`${name} is not a keypair: its public key does not match its private key.`, { cause });
  }
}

/** Size of a keypair: 32 bytes of private key, then 32 bytes of public key. */
const KEYPAIR_BYTES = 64;

function parseArray(text: string): readonly unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : null;
  } catch {
    // The parser's message quotes the text, which may be a key.
    return null;
  }
}
