import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyPairSignerFromBytes, type KeyPairSigner } from '@solana/kit';

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
  /** Writes a file into the folder. @returns its path. */
  write(name: string, content: string): Promise<string>;
}

/** Creates a folder that is removed after the test. */
export async function makeTemporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'flywheel-cli-test-'));
  // For root, the embedded PostgreSQL runs as another user; its socket is below the temporary directory.
  await chmod(path, 0o755);
  return {
    path,
    write: async (name, content) => {
      await writeFile(join(path, name), content);
      return join(path, name);
    },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** Creates a keypair in the Solana CLI’s format: private key, then public key. */
export function newKeypairBytes(): Uint8Array {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' });
  return Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]);
}

/** Writes a new wallet into the folder. */
export async function writeWallet(
  folder: TemporaryFolder,
  name = 'wallet.json',
): Promise<{ readonly file: string; readonly signer: KeyPairSigner }> {
  const bytes = newKeypairBytes();
  const file = await folder.write(name, JSON.stringify([...bytes]));
  return { file, signer: await createKeyPairSignerFromBytes(bytes) };
}
