import type { ProjectOverview } from '@flywheel/api';
import { Notice } from '../../ui/feedback.tsx';
import { DescriptionList } from '../../ui/layout.tsx';
import { AddressText } from '../../ui/text.tsx';
import { MintRisk, useMint } from '../project/mint-risk.tsx';

interface SignedTokenProps {
  readonly project: Pick<ProjectOverview, 'token' | 'multisig'>;
}

/** Shows the whole addresses that a decision about amounts names, and what the chain says of the token. */
export function SignedToken({ project: { token, multisig } }: SignedTokenProps) {
  const decimals = useMint(token.mint).data?.decimals;
  return (
    <>
      <MintRisk mint={token.mint} />
      {decimals !== undefined && decimals !== token.decimals && (
        <Notice tone="failed" title="Do not sign: the token has other decimals on chain">
          It has {decimals} on chain; the service says {token.decimals}, so the amounts shown here would be others.
        </Notice>
      )}
      <DescriptionList
        items={[
          { name: 'Token', value: <AddressText address={token.mint} of="mint" isLinked isWhole /> },
          { name: 'Multisig', value: <AddressText address={multisig.address} of="multisig" isLinked isWhole /> },
        ]}
      />
    </>
  );
}

/** True once the chain has the decimals that the service says: amounts are signed in base units. */
export function useHasTrueDecimals({ mint, decimals }: ProjectOverview['token']): boolean {
  return useMint(mint).data?.decimals === decimals;
}
