import { PROOF_OPERATIONS, type PublicVault as Vault } from '@flywheel/api';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { toSol } from '../../lib/amounts.ts';
import { call } from '../../lib/api/call.ts';
import { tokenUnit } from '../../lib/format.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Stat, Stats } from '../../ui/layout.tsx';
import { AddressText, AmountText } from '../../ui/text.tsx';
import { DepositPanel } from './deposit-panel.tsx';
import { MovementsPanel } from './movements-panel.tsx';

const REFETCH_INTERVAL_MS = 10_000;

/** The public page of a vault: balance, deposit, history. It needs no sign-in. */
export function PublicVault() {
  const { address } = useParams({ from: '/vault/$address' });
  const vault = useQuery(publicVaultQuery(address));
  return (
    <Page
      title="Vault"
      action={
        <ButtonLink to="/audit/$vault" params={{ vault: address }}>
          Audit
        </ButtonLink>
      }
      lead={
        <span className="flex flex-wrap items-center gap-x-2">
          <AddressText address={address} of="vault" isLinked />
          <span>Anyone can deposit. Spending needs two approvals.</span>
        </span>
      }
    >
      <QueryView query={vault} skeleton={<SkeletonLines count={2} className="h-48" />}>
        {(found) => <VaultView vault={found} />}
      </QueryView>
    </Page>
  );
}

function publicVaultQuery(address: string) {
  return queryOptions({
    queryKey: ['vault', address],
    queryFn: () => call(PROOF_OPERATIONS.getVault, { params: { address } }),
    refetchInterval: REFETCH_INTERVAL_MS,
  });
}

function VaultView({ vault }: { readonly vault: Vault }) {
  const { address, tokenAccount, mint, decimals, lamports, tokens } = vault;
  const unit = tokenUnit(vault);
  return (
    <>
      <Stats>
        <Stat
          name={`Balance, ${unit}`}
          value={<AmountText amount={tokens} unit={unit} />}
          note={
            <>
              mint <AddressText address={mint} of="mint" isLinked />
            </>
          }
        />
        <Stat
          name="Balance, SOL"
          value={<AmountText amount={toSol(lamports)} unit="SOL" />}
          note="Pays for recipients’ new token accounts"
        />
      </Stats>
      <DepositPanel vault={address} mint={mint} decimals={decimals} />
      <MovementsPanel accounts={{ vault: address, tokenAccount }} decimals={decimals} unit={unit} />
    </>
  );
}
