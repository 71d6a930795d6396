import { IDENTITY_OPERATIONS } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { call } from './call.ts';

export type Environment = Awaited<ReturnType<typeof readEnvironment>>;

/** The service’s cluster and the RPC URL for browsers; constant while the service runs. */
export const environmentQuery = {
  queryKey: ['environment'],
  queryFn: readEnvironment,
  staleTime: Number.POSITIVE_INFINITY,
};

/** Returns the environment; undefined until it is loaded. */
export function useEnvironment(): Environment | undefined {
  return useQuery(environmentQuery).data;
}

function readEnvironment() {
  return call(IDENTITY_OPERATIONS.getEnvironment, {});
}

/** Chain identifier of the Wallet Standard, for example `solana:mainnet`. @throws Error until the environment is loaded. */
export function walletChain(environment: Environment | undefined): `solana:${string}` {
  if (!environment) throw new Error('The service’s cluster is not known yet. Retry in a moment.');
  return `solana:${environment.cluster}`;
}

/** The RPC URL for browsers. @throws Error until the environment is loaded. */
export function requireRpcUrl(environment: Environment | undefined): string {
  if (!environment) throw new Error('The RPC URL of the cluster is not known yet. Retry in a moment.');
  return environment.rpcUrl;
}

/** Explorer URL of an address or a transaction; null until the environment is loaded. */
export function explorerLink(
  environment: Environment | undefined,
  kind: 'address' | 'signature',
  text: string,
): string | null {
  if (!environment) return null;
  const { url, query } = environment.explorer;
  return `${url}/${kind === 'signature' ? 'tx' : 'address'}/${text}${query}`;
}
