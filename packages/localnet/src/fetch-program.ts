import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CACHED_FILE, defaultCacheDirectory, verifySquadsHash } from './programs.ts';

export const MAINNET_RPC_URL = 'https://api.mainnet-beta.solana.com';
/** Program data account of the deployed program, which holds its bytes (BPF upgradeable loader). */
const PROGRAM_DATA = 'Fy3YMJCvwbAXUgUM5b91ucUVA3jYzwWLHL3MwBqKsh8n';
const UPGRADEABLE_LOADER = 'BPFLoaderUpgradeab1e11111111111111111111111';
/**
 * Header before the bytes: kind u32 (3 is program data), slot u64, u8 that is 1 with an upgrade authority, its address.
 */
const HEADER_BYTES = 45;
const PROGRAM_DATA_KIND = 3;
const AUTHORITY_OFFSET = 12;
const TIMEOUT_MS = 60_000;

const answerSchema = z.object({
  result: z.object({
    value: z.object({ owner: z.string(), data: z.tuple([z.string(), z.literal('base64')]) }).nullable(),
  }),
});

export interface FetchOptions {
  /** Mainnet's public RPC by default. */
  readonly rpcUrl?: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** The user's cache directory by default. */
  readonly cacheDirectory?: string | undefined;
}

/**
 * Fetches the deployed Squads v4 program over RPC into the cache, where later starts find it. Returns the file's path.
 * Throws if the RPC node does not answer in time, if the program could be upgraded, or if its SHA-256 is not the pinned
 * one; then the cache is not changed.
 */
export async function fetchSquadsProgram(options: FetchOptions = {}): Promise<string> {
  const { rpcUrl = MAINNET_RPC_URL, timeoutMs = TIMEOUT_MS, cacheDirectory = defaultCacheDirectory() } = options;
  const account = await readProgramData(rpcUrl, timeoutMs);
  const place = `The program data account ${PROGRAM_DATA} at ${rpcUrl}`;
  if (!account) throw new Error(`${place} does not exist.`);
  if (account.owner !== UPGRADEABLE_LOADER) throw new Error(`${place} belongs to ${account.owner}, not to the loader.`);
  const content = Buffer.from(account.data[0], 'base64');
  if (content.length <= HEADER_BYTES || content.readUInt32LE(0) !== PROGRAM_DATA_KIND) {
    throw new Error(`${place} is no program data: ${content.length} bytes.`);
  }
  if (content[AUTHORITY_OFFSET] !== 0) throw new Error(`${place} names an upgrade authority; the real one has none.`);
  const bytes = content.subarray(HEADER_BYTES);
  verifySquadsHash(bytes, place);
  await mkdir(cacheDirectory, { recursive: true });
  const path = join(cacheDirectory, CACHED_FILE);
  // Renaming is atomic: a start at the same time finds the complete file or none.
  const partial = `${path}.${process.pid}`;
  await writeFile(partial, bytes);
  await rename(partial, path);
  return path;
}

async function readProgramData(rpcUrl: string, timeoutMs: number) {
  try {
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'getAccountInfo',
        params: [PROGRAM_DATA, { encoding: 'base64', commitment: 'finalized' }],
      }),
      signal: AbortSignal.timeout(timeoutMs),
    });
    return answerSchema.parse(await response.json()).result.value;
  } catch (cause) {
    throw new Error(`The Squads program cannot be fetched from ${rpcUrl} within ${timeoutMs} ms.`, { cause });
  }
}
