import { randomBytes } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import { hasCode } from '../model/has-code.ts';

/**
 * Writes a new file that only its owner can read, completely or not at all.
 * @returns false if the file exists: it is left as it is.
 */
export async function writeNewFile(path: string, text: string): Promise<boolean> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true });
  try {
    // Unlike a rename, a link fails if the file exists; and no reader sees half of it.
    await link(draft, path);
    return true;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    return false;
  } finally {
    await rm(draft);
  }
}
