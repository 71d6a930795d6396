import { LOCAL_SERVICE_URL } from '@flywheel/api';
import { publicClusterOf } from '@flywheel/protocol';
import { LOCAL_RPC_URL } from '@flywheel/solana-rpc';
import { readGenesisHash } from '../chain/rpc.ts';
import { createFlywheelClient, type FlywheelClient } from '../client.ts';
import { nodeProcess } from './process.ts';

/** A program's service and cluster. */
export interface EnvironmentConnection {
  readonly client: FlywheelClient;
  /** Nodes of one cluster, at which the program verifies before its wallet signs. */
  readonly rpcUrl: readonly string[];
  /** True for a cluster of your own, which undoes nothing: an option of `createCollector`. */
  readonly isLocalCluster: boolean;
}

/**
 * Connects as the environment says, with the variables of the command line: `FLYWHEEL_API_KEY`, `FLYWHEEL_URL` (by default
 * the service of `npm start`) and `SOLANA_RPC_URL`, one node or several of one cluster, separated by commas. Only the
 * default service has a default node: another one must not choose the node at which your wallet verifies it.
 * @throws Error if a variable is missing; FlywheelError if the node does not answer.
 *
 * @example
 * const { client, rpcUrl } = await connectFromEnvironment();
 */
export async function connectFromEnvironment(
  environment: Environment = nodeProcess().env,
): Promise<EnvironmentConnection> {
  const { FLYWHEEL_API_KEY: apiKey, FLYWHEEL_URL: url, SOLANA_RPC_URL: nodes } = environment;
  if (!apiKey) throw new Error('FLYWHEEL_API_KEY is not set. flywheel register prints a key.');
  if (url && !nodes) throw new Error('FLYWHEEL_URL is set without SOLANA_RPC_URL. Name a Solana node of your choice.');
  const rpcUrl = (nodes || LOCAL_RPC_URL).split(',').map((each) => each.trim());
  const genesisHash = await readGenesisHash(rpcUrl);
  const client = createFlywheelClient({ url: url || LOCAL_SERVICE_URL, apiKey });
  return { client, rpcUrl, isLocalCluster: publicClusterOf(genesisHash) === null };
}

/** Environment variables by name, as `process.env` has them. */
export interface Environment {
  readonly [name: string]: string | undefined;
}
