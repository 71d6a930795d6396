import { execFileSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Python that runs the samples: `python3`, or the one that this variable names, e.g. of a virtual environment with solders. */
export const PYTHON = process.env.FLYWHEEL_PYTHON || 'python3';

/** Clients that this project neither has written nor installs, and a command that succeeds where they are. */
const CLIENTS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  python: [PYTHON, '--version'],
  solders: [PYTHON, '-c', 'import solders'],
  solana: ['solana', '--version'],
  'spl-token': ['spl-token', '--version'],
};

/** Says why a client cannot be used here; null if it can. @throws Error for a client that is not known. */
export function absenceOf(client: string): string | null {
  const probe = CLIENTS[client];
  if (!probe) throw new Error(`There is no client ${client}: known are ${Object.keys(CLIENTS).join(', ')}.`);
  const [command, ...args] = probe;
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return null;
  } catch {
    return client === 'solders'
      ? `${PYTHON} has no solders: pip install solders, or set FLYWHEEL_PYTHON`
      : `${client} is not in PATH`;
  }
}

/** Makes `python3` the Python of the samples in a directory for the PATH. */
export async function makeBinDirectory(directory: string): Promise<string> {
  const bin = join(directory, 'bin');
  await mkdir(bin);
  if (PYTHON === 'python3') return bin;
  // A symbolic link would not find the packages of a virtual environment.
  await writeFile(join(bin, 'python3'), `#!/bin/sh\nexec '${PYTHON}' "$@"\n`);
  await chmod(join(bin, 'python3'), 0o755);
  return bin;
}
