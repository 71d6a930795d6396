import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Address } from '@solana/kit';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { createLog } from './log.ts';
import { loadSigner } from './solana/signer.ts';
import { closeDb, openDb } from './store/db.ts';
import { type DatabaseFindings, examineDatabase } from './store/examine-database.ts';
import { startPostgres } from './store/postgres.ts';

/** `previousCompany`: the approver of before, of COMPANY_SIGNER_PREVIOUS. */
export type ExaminedSigner = 'operator' | 'company' | 'previousCompany';

export interface SignerFindings {
  readonly address: Address;
  /** False where the configuration names an address alone, as for `flywheel serve`. */
  readonly canSign: boolean;
}

/** What a configuration leads to, looked at without changing it: for whoever asks why a service does not run. */
export interface Examination {
  /** null where there is no data directory yet, and so no embedded database. */
  database(): Promise<DatabaseFindings | null>;
  /**
   * null where none is named, and the local cluster’s has not been made yet.
   * @throws Error that names the setting and what is wrong with it, never a key.
   */
  signer(who: ExaminedSigner): Promise<SignerFindings | null>;
}

export function examine(config: Config): Examination {
  return {
    database: async () => {
      if (config.databaseUrl !== null) return readFindings({ connectionString: config.databaseUrl });
      if (!(await exists(config.dataDirectory))) return null;
      const embedded = await startPostgres({ dataDirectory: config.dataDirectory, log: createLog('silent') });
      try {
        return await readFindings(embedded.poolConfig);
      } finally {
        await embedded.stop();
      }
    },

    signer: async (who) => {
      if (who === 'previousCompany') {
        return config.companySignerPrevious === null ? null : openSigner(config.companySignerPrevious);
      }
      const [source, address] =
        who === 'operator'
          ? [config.operatorSigner, config.operatorAddress]
          : [config.companySigner, config.companyAddress];
      if (source === null && address !== null) return { address, canSign: false };
      const local = join(config.dataDirectory, 'keys', `${who}.json`);
      if (source === null && (config.solanaRpcUrl !== null || !(await exists(local)))) return null;
      const found = await openSigner(source ?? local);
      if (address === null || address === found.address) return found;
      const name = who.toUpperCase();
      throw new Error(`${name}_SIGNER holds ${found.address}, but ${name}_ADDRESS is ${address}.`);
    },
  };
}

async function openSigner(source: string): Promise<SignerFindings> {
  const { address } = await loadSigner(source);
  return { address, canSign: true };
}

async function readFindings(poolConfig: Parameters<typeof openDb>[0]): Promise<DatabaseFindings> {
  const db = openDb({ ...poolConfig, max: CONNECTIONS }, createLog('silent'));
  try {
    return await examineDatabase(db, systemClock.now());
  } finally {
    await closeDb(db);
  }
}

/** A database in trouble may have none to spare. */
const CONNECTIONS = 2;

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
