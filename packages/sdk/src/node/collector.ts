import { type Collector, type CollectorOptions, createCollector } from '../collector/collector.ts';
import { openSqliteStore } from '../collector/sqlite.ts';
import { connectFromEnvironment, type Environment } from './environment.ts';
import { nodeProcess } from './process.ts';
import { readWallet } from './wallet.ts';

/** Options of `createCollectorFromEnvironment`: those of a collector, with files for its store and its wallet. */
export interface CollectorFiles extends Omit<CollectorOptions, 'client' | 'store' | 'approval' | 'isLocalCluster'> {
  /** SQLite file of the events, on a local disk; created if it is missing. */
  readonly storeFile: string;
  /** Solana CLI keypair file of the project's wallet. */
  readonly walletFile: string;
}

/**
 * Creates a collector for the service and the nodes of the environment, as `connectFromEnvironment` finds them, with a SQLite
 * store and a wallet from files. Each batch is verified at those nodes before the wallet signs. Node 22.13 or later.
 * @throws Error as `connectFromEnvironment`, `readWallet`, `openSqliteStore` and `createCollector`.
 *
 * @example
 * const collector = await createCollectorFromEnvironment({ storeFile: 'payments.db', walletFile: 'wallet.json', onPaid });
 */
export async function createCollectorFromEnvironment(
  { storeFile, walletFile, ...options }: CollectorFiles,
  environment: Environment = nodeProcess().env,
): Promise<Collector> {
  const { client, rpcUrl, isLocalCluster } = await connectFromEnvironment(environment);
  const approval = { wallet: await readWallet(walletFile), verify: { rpcUrl } };
  const store = await openSqliteStore(storeFile);
  try {
    return await createCollector({ client, store, approval, isLocalCluster, ...options });
  } catch (error) {
    await store.close();
    throw error;
  }
}
