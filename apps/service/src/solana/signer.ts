import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { addressDecoder, addressEncoder, tryParseJson } from '@flywheel/protocol';
import {
  type Address,
  createKeyPairSignerFromBytes,
  createKeyPairSignerFromPrivateKeyBytes,
  isSolanaError,
  SOLANA_ERROR__KEYS__PUBLIC_KEY_MUST_MATCH_PRIVATE_KEY,
} from '@solana/kit';
import * as z from 'zod';
import { hasCode } from '../model/has-code.ts';
import { isKmsUri, type KeySigner, kmsAddress, openKmsSigner } from './kms-signer.ts';
import { writeNewFile } from './new-file.ts';

export type { KeySigner };

/**
 * Loads the signer of a `kms://` URI or of a Solana CLI keypair file: a JSON array of 64 numbers, the private key’s 32
 * bytes, then the public key’s. The key cannot be exported from the signer.
 * @throws Error that names the file and what is wrong with it, never its content.
 */
export async function loadSigner(source: string): Promise<KeySigner> {
  return isKmsUri(source) ? openKmsSigner(source) : loadKeypair(source);
}

async function loadKeypair(path: string): Promise<KeySigner> {
  const bytes = await readKeypair(path);
  try {
    return await createKeyPairSignerFromBytes(bytes);
  } catch (cause) {
    if (!isSolanaError(cause, SOLANA_ERROR__KEYS__PUBLIC_KEY_MUST_MATCH_PRIVATE_KEY)) throw cause;
    throw new Error(`Keypair file ${path}: its public key, numbers 33 to 64, does not match its private key.`, {
      cause,
    });
  }
}

/**
 * Writes a new keypair file that only its owner can read, completely or not at all.
 * @throws Error if the file exists: a key is never overwritten.
 */
export async function createSignerFile(path: string): Promise<Address> {
  const privateKey = randomBytes(32);
  const { address } = await createKeyPairSignerFromPrivateKeyBytes(privateKey);
  const numbers = [...privateKey, ...addressEncoder.encode(address)];
  if (await writeNewFile(path, JSON.stringify(numbers))) return address;
  throw new Error(`Keypair file ${path} exists already; it is not overwritten.`);
}

/** Reads only the signer's address, for processes that never sign. @throws Error like `loadSigner`. */
export async function readSignerAddress(source: string): Promise<Address> {
  return isKmsUri(source) ? kmsAddress(source) : addressDecoder.decode(await readKeypair(source), 32);
}

const KEYPAIR_NUMBERS = 64;

async function readKeypair(path: string): Promise<Uint8Array> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (cause) {
    const problem = hasCode(cause, 'ENOENT') ? 'does not exist' : 'cannot be read';
    throw new Error(`Keypair file ${path} ${problem}.`, { cause });
  }
  const numbers = z.array(z.int().min(0).max(255)).safeParse(tryParseJson(text));
  // Errors have no cause from here on, because it would quote the key.
  if (!numbers.success) throw new Error(`Keypair file ${path} is not a JSON array of numbers from 0 to 255.`);
  if (numbers.data.length !== KEYPAIR_NUMBERS) {
    throw new Error(`Keypair file ${path} holds ${numbers.data.length} numbers; a keypair has ${KEYPAIR_NUMBERS}.`);
  }
  return Uint8Array.from(numbers.data);
}
