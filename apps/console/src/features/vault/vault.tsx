import type { ProjectOverview } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { projectQuery } from '../../lib/service/projects.ts';
import { tokenUnit } from '../../lib/text/token-name.ts';
import { ButtonLink } from '../../ui/form/button.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Page } from '../../ui/state/page.tsx';
import { Lines } from '../../ui/state/skeleton.tsx';
import { DepositPanel } from './deposit-panel.tsx';
import { FundsPanel } from './funds-panel.tsx';
import { MovementsPanel } from './movements-panel.tsx';
import { WithdrawPanel } from './withdraw-panel.tsx';

/** What the project pays with: how much there is, what is missing, how to add to it, what came and went. */
export function VaultScreen() {
  const { projectId } = useParams({ from: '/p/$projectId' });
  const project = useQuery(projectQuery(projectId));
  const address = project.data?.vaultAddress;
  return (
    <Page
      title="Vault"
      lead="Nothing leaves it without your wallet’s vote and the company’s."
      action={
        address !== undefined && (
          <ButtonLink to="/vault/$address" params={{ address }}>
            Public page
          </ButtonLink>
        )
      }
    >
      <Loaded query={project} skeleton={<VaultSkeleton />}>
        {(found) => <VaultPanels project={found} />}
      </Loaded>
    </Page>
  );
}

function VaultPanels({ project }: { readonly project: ProjectOverview }) {
  const { token, vaultAddress: vault, vaultTokenAccount: tokenAccount } = project;
  const { mint, decimals } = token;
  return (
    <>
      <FundsPanel project={project} />
      <DepositPanel vault={vault} mint={mint} decimals={decimals} />
      <WithdrawPanel project={project} />
      <MovementsPanel accounts={{ vault, tokenAccount }} decimals={decimals} unit={tokenUnit(token)} />
    </>
  );
}

function VaultSkeleton() {
  return (
    <div className="flex flex-col gap-6">
      <Lines count={1} className="h-56" />
      <Lines count={1} className="h-64" />
      <Lines count={1} className="h-64" />
    </div>
  );
}
