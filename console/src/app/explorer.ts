import type { Environment } from '../service/environment.ts';

/** Where Solana Explorer shows an address or a transaction; null until the cluster is known. */
export function explorerLink(
  environment: Environment | undefined,
  kind: 'address' | 'signature',
  text: string,
): string | null {
  if (!environment) return null;
  const path = kind === 'signature' ? 'tx' : 'address';
  const query = environment.isLocal ? `?cluster=custom&customUrl=${encodeURIComponent(environment.rpcUrl)}` : '';
  return `https://explorer.solana.com/${path}/${text}${query}`;
}
