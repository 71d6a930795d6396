import { join } from 'node:path';
import type { Address } from '@solana/kit';
import type { Config } from './config.ts';
import { createLog } from './log.ts';
import { loadSigner } from './solana/signer.ts';
import { closeDb, openDb } from './store/db.ts';
import { type DatabaseDiagnostics, readDatabaseDiagnostics } from './store/diagnostics.ts';
import { fileExists } from './store/file-exists.ts';
import { diagnosePooler, findPooler, type Pooler, type PoolerDiagnostics } from './store/pooler.ts';
import { hasPostgres, startPostgres } from './store/postgres.ts';

/** `previousOperator` is the signer of OPERATOR_SIGNER_PREVIOUS, `previousCompany` that of COMPANY_SIGNER_PREVIOUS. */
export type SignerRole = 'operator' | 'company' | 'previousOperator' | 'previousCompany';

export interface SignerDiagnostics {
  readonly address: Address;
  /** False if the configuration has only an address, which suffices for `flywheel serve`. */
  readonly canSign: boolean;
}

/** Reads what a configuration refers to, without changing it: for `flywheel doctor`. */
export interface Diagnostics {
  /** Reads the database; null if none is configured and the embedded one does not exist yet. */
  database(): Promise<DatabaseDiagnostics | null>;
  /**
   * Reads if a pooler answers DATABASE_URL, and what is wrong with it and with DATABASE_DIRECT_URL.
   * @throws Error if one of them does not answer.
   */
  pooler(): Promise<PoolerDiagnostics>;
  /**
   * Reads a signer; null if none is configured and the local cluster's was not generated yet.
   * @throws Error that names the setting and why it is invalid, never a key.
   */
  signer(who: SignerRole): Promise<SignerDiagnostics | null>;
}

export function createDiagnostics(config: Config): Diagnostics {
  return {
    database: async () => {
      if (config.databaseUrl !== null) {
        const poolConfig = { connectionString: config.databaseUrl };
        return readDatabase(poolConfig, config, await findPooler(poolConfig));
      }
      if (!(await hasPostgres(config.dataDirectory))) return null;
      const embedded = await startPostgres({ dataDirectory: config.dataDirectory, log: createLog('silent') });
      try {
        return await readDatabase(embedded.poolConfig, config, null);
      } finally {
        await embedded.stop();
      }
    },

    pooler: async () =>
      config.databaseUrl === null
        ? { isPooled: false, issues: [] }
        : diagnosePooler(config.databaseUrl, config.databaseDirectUrl),

    signer: async (who) => {
      if (who === 'previousOperator' || who === 'previousCompany') {
        const previous = who === 'previousOperator' ? config.operatorSignerPrevious : config.companySignerPrevious;
        return previous === null ? null : openSigner(previous);
      }
      const [source, address] =
        who === 'operator'
          ? [config.operatorSigner, config.operatorAddress]
          : [config.companySigner, config.companyAddress];
      if (source === null && address !== null) return { address, canSign: false };
      const local = join(config.dataDirectory, 'keys', `${who}.json`);
      if (source === null && (config.solanaRpcUrls !== null || !(await fileExists(local)))) return null;
      const found = await openSigner(source ?? local);
      if (address === null || address === found.address) return found;
      const name = who.toUpperCase();
      throw new Error(`${name}_SIGNER holds ${found.address}, but ${name}_ADDRESS is ${address}.`);
    },
  };
}

async function openSigner(source: string): Promise<SignerDiagnostics> {
  const { address } = await loadSigner(source);
  return { address, canSign: true };
}

async function readDatabase(
  poolConfig: Parameters<typeof openDb>[0],
  { databaseRoles: roles }: Config,
  pooler: Pooler | null,
): Promise<DatabaseDiagnostics> {
  const db = openDb({ ...poolConfig, max: CONNECTIONS }, createLog('silent'), pooler);
  try {
    return await readDatabaseDiagnostics(db, roles);
  } finally {
    await closeDb(db);
  }
}

/** A database that needs a diagnosis may have few connections left. */
const CONNECTIONS = 2;
