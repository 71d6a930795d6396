import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { callRpc, createRpcTransport } from '@flywheel/solana-rpc';
import { decodeProgramData, SQUADS_PROGRAM_DATA_ADDRESS, UPGRADEABLE_LOADER_ADDRESS } from '@flywheel/squads';
import { z } from 'zod';
import { CACHED_FILE, defaultCacheDirectory, verifySquadsHash } from './programs.ts';

export const MAINNET_RPC_URL = 'https://api.mainnet-beta.solana.com';
const TIMEOUT_MS = 60_000;

const answerSchema = z.object({
  value: z.object({ owner: z.string(), data: z.tuple([z.string(), z.literal('base64')]) }).nullable(),
});

export interface FetchOptions {
  /** Mainnet's public RPC by default. */
  readonly rpcUrl?: string | undefined;
  /** Time for all attempts together; 60 s by default. */
  readonly timeoutMs?: number | undefined;
  /** Attempts, the first included; those of the transport by default. */
  readonly maxAttempts?: number | undefined;
  /** The user's cache directory by default. */
  readonly cacheDirectory?: string | undefined;
}

/**
 * Fetches the deployed Squads v4 program over RPC into the cache, where later starts find it.
 * @returns the file's path.
 * @throws Error if the RPC node does not answer in time, if the program could be upgraded, or if its SHA-256 is not the
 * pinned one; then the cache is not changed. The error names no more of the URL than its host.
 */
export async function fetchSquadsProgram(options: FetchOptions = {}): Promise<string> {
  const { rpcUrl = MAINNET_RPC_URL, timeoutMs = TIMEOUT_MS, cacheDirectory = defaultCacheDirectory() } = options;
  const account = await readProgramData(rpcUrl, timeoutMs, options.maxAttempts);
  const place = `The program data account ${SQUADS_PROGRAM_DATA_ADDRESS} at ${new URL(rpcUrl).host}`;
  if (!account) throw new Error(`${place} does not exist.`);
  if (account.owner !== UPGRADEABLE_LOADER_ADDRESS) {
    throw new Error(`${place} belongs to ${account.owner}, not to the loader.`);
  }
  const content = Buffer.from(account.data[0], 'base64');
  const found = decodeProgramData(content);
  if (found === null) throw new Error(`${place} is no program data: ${content.length} bytes.`);
  if (found.upgradeAuthority !== null) {
    throw new Error(`${place} names an upgrade authority; the real one has none.`);
  }
  const bytes = new Uint8Array(found.bytes);
  verifySquadsHash(bytes, place);
  await mkdir(cacheDirectory, { recursive: true });
  const path = join(cacheDirectory, CACHED_FILE);
  // Renaming is atomic: a start at the same time finds the complete file or none.
  const partial = `${path}.${process.pid}`;
  await writeFile(partial, bytes);
  await rename(partial, path);
  return path;
}

async function readProgramData(rpcUrl: string, timeoutMs: number, maxAttempts: number | undefined) {
  const transport = createRpcTransport({ url: rpcUrl, timeoutMs, ...(maxAttempts && { maxAttempts }) });
  const params = [SQUADS_PROGRAM_DATA_ADDRESS, { encoding: 'base64', commitment: 'finalized' }];
  try {
    const answer = await callRpc(transport, 'getAccountInfo', params, AbortSignal.timeout(timeoutMs));
    return answerSchema.parse(answer).value;
  } catch (cause) {
    const { host } = new URL(rpcUrl);
    throw new Error(`The Squads program cannot be fetched from ${host} within ${timeoutMs} ms.`, { cause });
  }
}
