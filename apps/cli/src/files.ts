import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isJsonObject, messageOf } from '@flywheel/protocol';
import { parseWallet } from '@flywheel/sdk/node';
import type { KeyPairSigner } from '@solana/kit';
import { CliError } from './errors.ts';
import { shellWord } from './format.ts';

/**
 * Reads a wallet from a Solana CLI keypair file: a JSON array of 64 numbers.
 * @throws CliError `ERR_WALLET`; its message never quotes the file, which may contain a key.
 */
export async function readWallet(path: string): Promise<KeyPairSigner> {
  const text = await readWalletText(path);
  try {
    return await parseWallet(text, path);
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    throw new CliError('ERR_WALLET', cause.message, { cause });
  }
}

async function readWalletText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    // The advice is for a missing file only: a new wallet must not replace a key that cannot be read now.
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
    const word = shellWord(path);
    const problem = isMissing
      ? `. Create one with node examples/new-wallet.js ${word} or solana-keygen new -o ${word}.`
      : `: ${messageOf(cause)}.`;
    throw new CliError('ERR_WALLET', `Cannot read the wallet ${path}${problem}`, { cause });
  }
}

/**
 * Reads an init request as JSON text; the service validates its content.
 * @throws CliError `ERR_FILE` if the file cannot be read or is not JSON.
 */
export async function readRequestFile(path: string): Promise<string> {
  const text = await readTextFile(path, 'Expected an init request, like examples/rewards.json.');
  parseJson(path, text);
  return text;
}

/**
 * Reads a file with one JSON object.
 * @param expected what it should contain, as a noun.
 * @throws CliError `ERR_FILE`.
 */
export async function readJsonObject(path: string, expected: string): Promise<Record<string, unknown>> {
  const parsed = parseJson(path, await readTextFile(path, `Expected ${expected}.`));
  if (isJsonObject(parsed)) return { ...parsed };
  throw new CliError('ERR_FILE', `${path} is not one JSON object. Expected ${expected}.`);
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CliError('ERR_FILE', `${path} is not JSON: ${messageOf(cause)}.`, { cause });
  }
}

/**
 * Reads a text file.
 * @param expected a sentence that tells what the file should contain.
 * @throws CliError `ERR_FILE`.
 */
export async function readTextFile(path: string, expected: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new CliError('ERR_FILE', `Cannot read ${path}. ${expected}`, { cause });
  }
}

/** Mode of a file that only its owner reads and writes. */
export const OWNER_ONLY = 0o600;
/** Mode of a file that the system's umask alone restricts. */
const UMASK_ONLY = 0o666;

/**
 * Replaces a file, or creates it with this mode. A crash leaves the old text or the new one, never a part.
 * @throws the error of the file system; then the file is as it was, and no draft of it is left.
 */
export function writeWhole(path: string, text: string, mode = UMASK_ONLY): void {
  const draft = draftPath(path);
  try {
    // `flush` waits until the text is on the disk: a rename may get there before the text otherwise.
    writeFileSync(draft, text, { mode, flush: true });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Requires that `writeWhole` can write a file, for a command whose work would be done when it fails.
 * @throws CliError `ERR_FILE`
 */
export function requireWritable(path: string): void {
  const draft = draftPath(path);
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw new Error('it is a directory');
    writeFileSync(draft, '');
    rmSync(draft);
  } catch (cause) {
    throw new CliError('ERR_FILE', `Cannot write ${path}: ${messageOf(cause)}. Name another file.`, { cause });
  }
}

/** Names the file beside another one in which its next text is written: one for each process. */
export function draftPath(path: string): string {
  return `${path}.${process.pid}`;
}
