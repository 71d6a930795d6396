import { readFile } from 'node:fs/promises';
import { createKeyPairSignerFromBytes, type KeyPairSigner } from '@solana/kit';
import { CliError } from './errors.ts';

/** A Solana CLI keypair: 32 bytes of private key, then 32 of public key. */
const KEYPAIR_BYTES = 64;

/**
 * Reads a wallet from a Solana CLI keypair file: a JSON array of 64 numbers.
 * @throws CliError `ERR_WALLET`; no part of the key is ever in its message.
 */
export async function readWallet(path: string): Promise<KeyPairSigner> {
  const bytes = parseKeypair(path, await readText(path));
  try {
    return await createKeyPairSignerFromBytes(bytes);
  } catch (cause) {
    throw new CliError('ERR_WALLET', `${path} is no keypair: its public half does not belong to its private half.`, {
      cause,
    });
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new CliError(
      'ERR_WALLET',
      `No wallet can be read from ${path}. Make one with node examples/new-wallet.js ${path} or solana-keygen new -o ${path}.`,
      {
        cause,
      },
    );
  }
}

function parseKeypair(path: string, text: string): Uint8Array {
  const numbers = parseArray(text);
  const isByte = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
  if (numbers?.length !== KEYPAIR_BYTES || !numbers.every(isByte)) {
    const found = numbers === null ? 'something else' : `${numbers.length} values`;
    throw new CliError(
      'ERR_WALLET',
      `${path} is no Solana CLI keypair file: it must hold a JSON array of ${KEYPAIR_BYTES} numbers from 0 to 255, and holds ${found}.`,
    );
  }
  return Uint8Array.from(numbers, Number);
}

function parseArray(text: string): readonly unknown[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return Array.isArray(parsed) ? parsed : null;
  } catch {
    // Whatever the text is, it must not be quoted: it may be a key.
    return null;
  }
}
