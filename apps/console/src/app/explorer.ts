import type { Environment } from '../lib/service/environment.ts';

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
