import { describeFreezeRisk } from '@flywheel/protocol';
import { type Mint, readMint } from '@flywheel/sdk';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { requireRpcUrl, useEnvironment } from '../../lib/api/environment.ts';
import { Button } from '../../ui/button.tsx';
import { Notice, sentenceOf } from '../../ui/feedback.tsx';
import { MessageText } from '../../ui/text.tsx';

/** Reads a mint from the chain, on this page’s own connection. */
export function useMint(mint: string): UseQueryResult<Mint> {
  const environment = useEnvironment();
  return useQuery({
    queryKey: ['mint-on-chain', mint, environment?.rpcUrl],
    queryFn: ({ signal }) => readMint(requireRpcUrl(environment), mint, { signal }),
    enabled: environment !== undefined,
  });
}

interface MintRiskProps {
  readonly mint: string;
  /** In a list a node that is away is not said again in each row. */
  readonly isInList?: boolean;
}

/** Warns of a token whose accounts somebody can freeze, and says if that could not be read; nothing for any other. */
export function MintRisk({ mint, isInList = false }: MintRiskProps) {
  const { data, error, isFetching, refetch } = useMint(mint);
  if (data === undefined && error && !isInList) {
    return (
      <Notice
        tone="failed"
        title="The token’s freeze authority could not be read"
        action={
          <Button size="small" isBusy={isFetching} onClick={() => void refetch()}>
            Retry
          </Button>
        }
      >
        {sentenceOf(error)}
      </Notice>
    );
  }
  const freezeAuthority = data?.freezeAuthority ?? null;
  return freezeAuthority === null ? null : (
    <Notice tone="waiting" title="Risk: the vault can be frozen">
      <MessageText text={describeFreezeRisk(freezeAuthority)} />
    </Notice>
  );
}
