import type { Environment, RegistrationMode } from '@flywheel/api';
import { publicClusterOf } from '@flywheel/protocol';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';

export interface EnvironmentDeps {
  readonly chain: { genesisHash(): Promise<string> };
  /** URL at which the service reaches the cluster. */
  readonly rpcUrl: string;
  /** URL at which browsers reach the cluster; null: derived by `urlForBrowsers`. */
  readonly publicRpcUrl: string | null;
  /** True if the process has started the cluster itself, or if its configuration says that it is a local one. */
  readonly isClusterLocal: boolean;
  readonly explorerUrl: string;
  readonly registration: RegistrationMode;
}

/** Reads the environment, without the service's public URL. */
export type EnvironmentReader = () => Promise<Omit<Environment, 'publicUrl'>>;

/**
 * Creates a reader of the environment. It asks the cluster once, because the answer does
 * not change. Browsers get the service's own RPC URL only if that contains nothing that could be a secret.
 */
export function createEnvironment(deps: EnvironmentDeps): EnvironmentReader {
  const read = async () => {
    const genesisHash = await deps.chain.genesisHash();
    const cluster = publicClusterOf(genesisHash) ?? 'localnet';
    return describeEnvironment(deps, { cluster, isLocal: isLocalCluster(deps.isClusterLocal, genesisHash) });
  };
  let reading: Promise<Omit<Environment, 'publicUrl'>> | null = null;
  return () => {
    // Everyone may ask, so that those who ask at the same time share one request.
    reading ??= read().catch((error: unknown) => {
      reading = null;
      throw error;
    });
    return reading;
  };
}

type Cluster = Environment['cluster'];

/** Public RPC nodes with rate limits (solana.com/docs/references/clusters). */
const PUBLIC_RPC_URLS: Readonly<Record<Exclude<Cluster, 'localnet'>, string>> = {
  mainnet: 'https://api.mainnet-beta.solana.com',
  devnet: 'https://api.devnet.solana.com',
  testnet: 'https://api.testnet.solana.com',
};

function describeEnvironment(
  deps: EnvironmentDeps,
  { cluster, isLocal }: Pick<Environment, 'cluster' | 'isLocal'>,
): Omit<Environment, 'publicUrl'> {
  const rpcUrl = deps.publicRpcUrl ?? urlForBrowsers(deps.rpcUrl, cluster);
  return {
    cluster,
    isLocal,
    rpcUrl,
    webSocketUrl: webSocketUrlOf(rpcUrl, cluster),
    explorer: { url: deps.explorerUrl.replace(/\/+$/, ''), query: explorerQuery(rpcUrl, cluster) },
    squadsProgram: SQUADS_PROGRAM_ADDRESS,
    registration: deps.registration,
  };
}

/**
 * Returns true if a cluster is a local one. An unknown genesis hash and an address of this machine are not enough: a private
 * cluster has both behind a tunnel, and its visitors must not get a test wallet whose key the page holds.
 * @param isClusterLocal what the process knows: see `EnvironmentDeps`.
 */
export function isLocalCluster(isClusterLocal: boolean, genesisHash: string): boolean {
  return isClusterLocal && publicClusterOf(genesisHash) === null;
}

/** Providers put keys into the user, path or query of a URL, so a URL with any of these is not given to browsers. */
function urlForBrowsers(ownRpcUrl: string, cluster: Cluster): string {
  const { origin, username, password, pathname, search, hash } = new URL(ownRpcUrl);
  const isBare = `${username}${password}${search}${hash}` === '' && pathname === '/';
  return isBare || cluster === 'localnet' ? origin : PUBLIC_RPC_URLS[cluster];
}

/** The local cluster and providers use one port for both; a validator's WebSocket port is its RPC port plus one (Agave). */
function webSocketUrlOf(rpcUrl: string, cluster: Cluster): string {
  const url = new URL(rpcUrl);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  if (cluster !== 'localnet' && url.port !== '') url.port = String(Number(url.port) + 1);
  return url.href.replace(/\/$/, '');
}

/** Query of Solana Explorer, which other explorers have adopted. */
function explorerQuery(rpcUrl: string, cluster: Cluster): string {
  if (cluster === 'mainnet') return '';
  return cluster === 'localnet' ? `?cluster=custom&customUrl=${encodeURIComponent(rpcUrl)}` : `?cluster=${cluster}`;
}
