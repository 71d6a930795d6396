import type { Environment } from '../service/environment.ts';

/** What wallets call the cluster. @throws Error before the cluster is known. */
export function chainOf(environment: Environment | undefined): `solana:${string}` {
  if (!environment) throw new Error('The service has not said yet which cluster it is on. Try again in a moment.');
  return `solana:${environment.cluster}`;
}
