import { describeFreezeRisk } from '@flywheel/protocol';
import { type Mint, readMint } from '@flywheel/sdk';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useEnvironment } from '../../lib/api/environment.ts';
import { Notice } from '../../ui/feedback.tsx';

/** Reads a mint from the chain, on this page’s own connection. */
export function useMint(mint: string): UseQueryResult<Mint> {
  const rpcUrl = useEnvironment()?.rpcUrl;
  return useQuery({
    queryKey: ['mint-on-chain', mint, rpcUrl],
    queryFn: () => {
      if (rpcUrl === undefined) throw new Error('The RPC URL of the cluster is not known yet.');
      return readMint(rpcUrl, mint);
    },
    enabled: rpcUrl !== undefined,
  });
}

/** Warns of a token whose accounts somebody can freeze; nothing for any other. */
export function MintRisk({ mint }: { readonly mint: string }) {
  const freezeAuthority = useMint(mint).data?.freezeAuthority ?? null;
  return freezeAuthority === null ? null : (
    <Notice tone="waiting" title="Risk: the vault can be frozen">
      {describeFreezeRisk(freezeAuthority)}
    </Notice>
  );
}
