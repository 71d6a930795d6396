import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '@flywheel/protocol';
import { SQUADS_PROGRAM_SHA256, withoutTrailingZeros } from '@flywheel/squads';

/** Name of the program's file in the cache. */
export const CACHED_FILE = 'squads_v4.so';

/** The implementation of the Squads program that runs, and a sentence that says why. */
export type SquadsProgram =
  | { readonly program: 'squads-v4'; readonly bytes: Uint8Array; readonly note: string }
  | { readonly program: 'emulation'; readonly note: string };

/** The error of a file that is not the Squads program. Its message names the file and the reason. */
export class SquadsProgramError extends Error {}

/**
 * Finds the Squads program: the given file, otherwise the file in the user's cache, otherwise 'emulation'.
 * @throws SquadsProgramError if a file is not exactly the deployed program, because tests on another program would be meaningless.
 */
export function findSquadsProgram(wanted: string | undefined, cacheDirectory = defaultCacheDirectory()): SquadsProgram {
  if (wanted === 'emulation') {
    return { program: 'emulation', note: 'Squads v4 is emulated, because the emulation was asked for.' };
  }
  if (wanted !== undefined) return readProgram(wanted, 'the file that was named');
  const cached = join(cacheDirectory, CACHED_FILE);
  if (existsSync(cached)) return readProgram(cached, 'the cache');
  return {
    program: 'emulation',
    note: `Squads v4 is emulated, because no file was named and ${cached} does not exist.`,
  };
}

/** The user's cache directory for this project. */
export function defaultCacheDirectory(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'flywheel');
}

function readProgram(path: string, source: string): SquadsProgram {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw new SquadsProgramError(`The Squads program ${path} cannot be read: ${messageOf(cause)}.`, { cause });
  }
  verifySquadsHash(bytes, path);
  return { program: 'squads-v4', bytes, note: `Squads v4 is the real program, from ${source}: ${path}.` };
}

/** @param place begins the message. @throws SquadsProgramError unless the bytes are the deployed program's. */
export function verifySquadsHash(bytes: Uint8Array, place: string): void {
  const found = createHash('sha256').update(withoutTrailingZeros(bytes)).digest('hex');
  if (found !== SQUADS_PROGRAM_SHA256) {
    throw new SquadsProgramError(
      `${place} is not the deployed Squads v4 program: its SHA-256 without trailing zeros is ${found}, expected ${SQUADS_PROGRAM_SHA256}.`,
    );
  }
}
