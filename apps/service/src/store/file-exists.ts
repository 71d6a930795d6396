import { stat } from 'node:fs/promises';
import { hasCode } from '../model/has-code.ts';

/** Returns false if there is no such file. @throws any other error, such as missing permissions. */
export async function fileExists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: unknown) => {
      if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return false;
      throw error;
    },
  );
}
