import { PROOF_OPERATIONS, type PublicVault as Vault } from '@flywheel/api';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { call } from '../../lib/service/call.ts';
import { toSol } from '../../lib/text/amount.ts';
import { tokenUnit } from '../../lib/text/token-name.ts';
import { Stat, Stats } from '../../ui/layout/stat.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { AmountText } from '../../ui/show/amount-text.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Page } from '../../ui/state/page.tsx';
import { Lines } from '../../ui/state/skeleton.tsx';
import { DepositPanel } from './deposit-panel.tsx';
import { MovementsPanel } from './movements-panel.tsx';

const EVERY_MS = 10_000;

/** What anyone may see of a vault, and how to deposit; no wallet needed. */
export function PublicVault() {
  const { address } = useParams({ from: '/vault/$address' });
  const vault = useQuery(publicVaultQuery(address));
  return (
    <Page
      title="Vault"
      lead={
        <span className="flex flex-wrap items-center gap-x-2">
          <AddressText address={address} of="vault" isLinked />
          <span>Anyone may deposit. Nothing leaves it without two votes.</span>
        </span>
      }
    >
      <Loaded query={vault} skeleton={<Lines count={2} className="h-48" />}>
        {(found) => <VaultView vault={found} />}
      </Loaded>
    </Page>
  );
}

function publicVaultQuery(address: string) {
  return queryOptions({
    queryKey: ['vault', address],
    queryFn: () => call(PROOF_OPERATIONS.getVault, { params: { address } }),
    refetchInterval: EVERY_MS,
  });
}

function VaultView({ vault }: { readonly vault: Vault }) {
  const { address, tokenAccount, mint, decimals, lamports, tokens } = vault;
  const unit = tokenUnit(vault);
  return (
    <>
      <Stats>
        <Stat
          name={`It holds, ${unit}`}
          value={<AmountText amount={tokens} unit={unit} />}
          note={
            <>
              mint <AddressText address={mint} of="mint" isLinked />
            </>
          }
        />
        <Stat
          name="It holds, SOL"
          value={<AmountText amount={toSol(lamports)} unit="SOL" />}
          note="Pays for recipients’ new token accounts"
        />
      </Stats>
      <DepositPanel vault={address} mint={mint} decimals={decimals} />
      <MovementsPanel accounts={{ vault: address, tokenAccount }} decimals={decimals} unit={unit} />
    </>
  );
}
