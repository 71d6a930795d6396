import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The system user that runs the server in place of root. */
export interface ServerAccount {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL does not run as root; then the user `postgres` runs it, or `nobody` if that does not exist. */
const ACCOUNT_NAMES = ['postgres', 'nobody'] as const;

/**
 * Finds the account that runs the server; null if it is the current user.
 * @throws Error if the current user is root and neither account exists.
 */
export async function findServerAccount(): Promise<ServerAccount | null> {
  if (process.getuid?.() !== 0) return null;
  for (const name of ACCOUNT_NAMES) {
    const [uid, gid] = await Promise.all([readId('-u', name), readId('-g', name)]);
    if (uid !== null && gid !== null) return { name, uid, gid };
  }
  throw new Error(
    `PostgreSQL refuses to run as root, and this machine has none of the users ${ACCOUNT_NAMES.join(', ')}. ` +
      'Start as another user, or set DATABASE_URL to a PostgreSQL of your own.',
  );
}

const run = promisify(execFile);

async function readId(flag: '-u' | '-g', name: string): Promise<number | null> {
  // `id` fails for an unknown name, which is the result that is needed.
  const id = await run('id', [flag, name]).then(
    ({ stdout }) => Number(stdout),
    () => 0,
  );
  return id > 0 ? id : null;
}
