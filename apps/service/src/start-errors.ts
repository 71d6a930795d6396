import { mkdir } from 'node:fs/promises';
import { ConfigError } from './config.ts';
import { hasCode } from './model/has-code.ts';

interface ListenSettings {
  /** The variable of the port. */
  readonly name: 'PORT' | 'METRICS_PORT' | 'LOCALNET_PORT';
  readonly host: string;
  readonly port: number;
}

/** The settings of clients that must change with a port. Only the monitoring reads METRICS_PORT. */
const CLIENT_OF = {
  PORT: ', and FLYWHEEL_URL of the command line to its URL',
  METRICS_PORT: '',
  LOCALNET_PORT: ', and SOLANA_RPC_URL of the command line to its URL',
} as const;

/**
 * Returns a handler for the error of a server that cannot listen.
 * @throws ConfigError from the handler, if another port or host helps; otherwise the error.
 */
export function cannotListen({ name, host, port }: ListenSettings): (error: unknown) => never {
  return (cause) => {
    const set = `Set ${name} to a free port${CLIENT_OF[name]}.`;
    if (hasCode(cause, 'EADDRINUSE')) {
      throw new ConfigError([`${name} ${port} is in use by another process (EADDRINUSE). ${set}`], { cause });
    }
    if (hasCode(cause, 'EACCES')) {
      throw new ConfigError([`This process may not use ${name} ${port} (EACCES). ${set}`], { cause });
    }
    if (hasCode(cause, 'EADDRNOTAVAIL')) {
      const message = `HOST ${host} is not an address of this machine (EADDRNOTAVAIL). Set HOST to one, such as 127.0.0.1.`;
      throw new ConfigError([message], { cause });
    }
    throw cause;
  };
}

/**
 * Creates the data directory, for its owner only: keys are in it, and what the guide has people write there. One that exists stays
 * as it is.
 * @throws ConfigError if the directory cannot be created, e.g. below a file.
 */
export async function createDataDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
  } catch (cause) {
    const message = `The data directory cannot be created: ${reasonOf(cause)}. Set FLYWHEEL_DATA_DIR to another one.`;
    throw new ConfigError([message], { cause });
  }
}

/** Returns the error of a database that does not answer. Its message has no URL, which may contain a password. */
export function unreachableDatabase(name: string, cause: unknown): ConfigError {
  const message = `The database of ${name} does not answer: ${reasonOf(cause)}. Check that PostgreSQL runs there, and the user, password and database name of ${name}.`;
  return new ConfigError([message], { cause });
}

/** Node collects the errors of a name's addresses in an AggregateError without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : String(error);
}
