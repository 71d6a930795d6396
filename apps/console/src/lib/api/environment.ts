import { IDENTITY_OPERATIONS } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { call } from './call.ts';

export type Environment = Awaited<ReturnType<typeof readEnvironment>>;

/** Which cluster the service is on, and where a browser reaches it. It does not change while the service runs. */
export const environmentQuery = {
  queryKey: ['environment'],
  queryFn: readEnvironment,
  staleTime: Number.POSITIVE_INFINITY,
};

/** undefined until it is known. */
export function useEnvironment(): Environment | undefined {
  return useQuery(environmentQuery).data;
}

function readEnvironment() {
  return call(IDENTITY_OPERATIONS.getEnvironment, {});
}

/** What wallets call the cluster. @throws Error before the cluster is known. */
export function walletChain(environment: Environment | undefined): `solana:${string}` {
  if (!environment) throw new Error('The service has not said yet which cluster it is on. Try again in a moment.');
  return `solana:${environment.cluster}`;
}

/** Where the explorer shows an address or a transaction; null until the cluster is known. */
export function explorerLink(
  environment: Environment | undefined,
  kind: 'address' | 'signature',
  text: string,
): string | null {
  if (!environment) return null;
  const { url, query } = environment.explorer;
  return `${url}/${kind === 'signature' ? 'tx' : 'address'}/${text}${query}`;
}
