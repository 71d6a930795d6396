import type { ProjectOverview } from '@flywheel/api';
import type { ClaimedProject } from '@flywheel/sdk';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useEnvironment } from '../../lib/api/environment.ts';
import { checkPin, describePinMismatch } from '../../lib/pins.ts';
import { Notice, QueryView } from '../../ui/feedback.tsx';
import { AddressText } from '../../ui/text.tsx';

export interface KnownVaultProps {
  readonly project: ProjectOverview;
  /** Shown until the browser has looked. */
  readonly skeleton: ReactNode;
  /** Leads to a deposit. */
  readonly children: ReactNode;
}

/**
 * Shows what leads to a deposit, unless this browser knows another vault or the chain another multisig: the service could show
 * a stranger’s.
 */
export function KnownVault({ project: { wallet, vaultAddress, token }, skeleton, children }: KnownVaultProps) {
  const rpcUrl = useEnvironment()?.rpcUrl ?? '';
  const claimed = { vaultAddress, mintAddress: token.mint };
  const known = useQuery({
    queryKey: ['pin', rpcUrl, wallet, vaultAddress, token.mint],
    queryFn: ({ signal }) => checkPin(rpcUrl, { wallet, ...claimed }, signal),
    enabled: rpcUrl !== '',
    gcTime: 0,
  });
  return (
    <QueryView query={known} skeleton={skeleton}>
      {({ search }) => {
        const mismatch = describePinMismatch(search, claimed);
        if (mismatch === null) {
          return (
            <>
              {search.pin === null && <FirstUse {...claimed} />}
              {children}
            </>
          );
        }
        return (
          <Notice tone="failed" title="Do not deposit: this browser does not know this vault">
            {mismatch} If you registered this project in another browser, open the approval of one of its batches first,
            and enter its vault there. Otherwise report this to the company, but not through this page.
          </Notice>
        );
      }}
    </QueryView>
  );
}

function FirstUse({ vaultAddress, mintAddress }: ClaimedProject) {
  return (
    <Notice tone="waiting" title="First use of this vault in this browser">
      Only the service names the vault <AddressText address={vaultAddress} of="vault" isWhole /> and the mint{' '}
      <AddressText address={mintAddress} of="mint" isWhole />. Compare both with what you noted at the registration
      before you deposit. This browser keeps them when you approve a batch, and refuses others from then on.
    </Notice>
  );
}
