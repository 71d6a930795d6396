import type { Environment, RegistrationMode } from '@flywheel/api';
import { publicClusterOf } from '@flywheel/protocol';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';

export interface EnvironmentDeps {
  readonly chain: { genesisHash(): Promise<string> };
  /** URL at which the service reaches the cluster. */
  readonly rpcUrl: string;
  /** URL at which browsers reach the cluster; null: derived by `urlForBrowsers`. */
  readonly publicRpcUrl: string | null;
  readonly explorerUrl: string;
  readonly registration: RegistrationMode;
}

/**
 * Creates a reader of the environment, without the service's public URL. It asks the cluster once, because the answer does
 * not change. Browsers get the service's own RPC URL only if that contains nothing that could be a secret.
 */
export function createEnvironment(deps: EnvironmentDeps): () => Promise<Omit<Environment, 'publicUrl'>> {
  let known: Omit<Environment, 'publicUrl'> | null = null;
  return async () => {
    known ??= describeEnvironment(deps, publicClusterOf(await deps.chain.genesisHash()) ?? 'localnet');
    return known;
  };
}

type Cluster = Environment['cluster'];

/** Public RPC nodes with rate limits (solana.com/docs/references/clusters). */
const PUBLIC_RPC_URLS: Readonly<Record<Exclude<Cluster, 'localnet'>, string>> = {
  mainnet: 'https://api.mainnet-beta.solana.com',
  devnet: 'https://api.devnet.solana.com',
  testnet: 'https://api.testnet.solana.com',
};

function describeEnvironment(deps: EnvironmentDeps, cluster: Cluster): Omit<Environment, 'publicUrl'> {
  const rpcUrl = deps.publicRpcUrl ?? urlForBrowsers(deps.rpcUrl, cluster);
  return {
    cluster,
    isLocal: cluster === 'localnet' && isOnThisMachine(deps.rpcUrl),
    rpcUrl,
    webSocketUrl: webSocketUrlOf(rpcUrl, cluster),
    explorer: { url: deps.explorerUrl.replace(/\/+$/, ''), query: explorerQuery(rpcUrl, cluster) },
    squadsProgram: SQUADS_PROGRAM_ADDRESS,
    registration: deps.registration,
  };
}

/** Tells if a cluster is a local one: its node is on this machine, and it is no public cluster. */
export function isLocalCluster(rpcUrl: string, genesisHash: string): boolean {
  return isOnThisMachine(rpcUrl) && publicClusterOf(genesisHash) === null;
}

/**
 * Tells if a URL names this machine. An unknown genesis hash alone does not make a cluster local: a company's private cluster has one too, and its visitors
 * must not get a test wallet whose key the page holds.
 */
export function isOnThisMachine(rpcUrl: string): boolean {
  const { hostname } = new URL(rpcUrl);
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
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
