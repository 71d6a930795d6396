import { REGISTRATION_OPERATIONS, type RegisteredProject } from '@flywheel/api';
import { signTransaction } from '@flywheel/sdk';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { queryClient } from '../../app/query-client.ts';
import { formatSol, groupDigits } from '../../lib/amounts.ts';
import { call } from '../../lib/api/call.ts';
import { useEnvironment, walletChain } from '../../lib/api/environment.ts';
import { projectsQuery } from '../../lib/api/projects.ts';
import { walletSigner } from '../../lib/wallet/signing.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Notice, SkeletonLines } from '../../ui/feedback.tsx';
import { DescriptionList } from '../../ui/layout.tsx';
import { Ring } from '../../ui/ring.tsx';
import { AddressText } from '../../ui/text.tsx';
import { readDraft } from '../proof-types/proof-type-draft.ts';
import { Created } from './created.tsx';
import type { RegistrationDraft } from './draft.ts';

/** The service waits for the transaction to be confirmed by the cluster. */
const CONFIRM_TIMEOUT_MS = 90_000;

export interface ReviewStepProps {
  readonly draft: RegistrationDraft;
  readonly wallet: string;
}

/** Everything on one page with what it costs; then the wallet signs, and the project comes to be. */
export function ReviewStep({ draft, wallet }: ReviewStepProps) {
  const environment = useEnvironment();
  const begin = useMutation({
    mutationFn: () => call(REGISTRATION_OPERATIONS.createRegistration, { body: requestOf(draft) }),
  });
  const finish = useMutation({ mutationFn: () => register(draft, wallet, walletChain(environment)) });
  const hasBegun = useRef(false);
  useEffect(() => {
    if (hasBegun.current) return;
    hasBegun.current = true;
    begin.mutate();
  }, [begin]);
  if (finish.data) return <Created project={finish.data} draft={draft} />;
  if (finish.isPending) return <Creating />;
  return (
    <div className="flex flex-col gap-5">
      <DescriptionList
        items={[
          { name: 'Token', value: <AddressText address={draft.mint} of="mint" /> },
          { name: 'Burns a day', value: draft.isBurnAllowed ? `up to ${groupDigits(draft.burnLimit)}` : 'none' },
          {
            name: 'Airdrops a day',
            value: draft.isAirdropAllowed ? `up to ${groupDigits(draft.airdropLimit)}` : 'none',
          },
          { name: 'Proof types', value: draft.proofTypes.map(({ type }) => type).join(', ') || 'any' },
          { name: 'Company approval', value: draft.approvalMode === 'automatic' ? 'automatic' : 'by a person' },
          { name: 'Approving wallet', value: <AddressText address={wallet} of="your wallet" /> },
        ]}
      />
      {begin.isPending && <SkeletonLines count={1} className="h-12" />}
      {begin.error && <ErrorNotice error={begin.error} onRetry={() => begin.mutate()} />}
      {begin.data && (
        <>
          {begin.data.warnings.map((warning) => (
            <Notice key={warning} tone="waiting" title={warning} />
          ))}
          <DescriptionList
            items={[
              { name: 'Your wallet pays, once', value: formatSol(begin.data.costLamports) },
              { name: 'The vault will be', value: <AddressText address={begin.data.vaultAddress} of="vault" /> },
            ]}
          />
        </>
      )}
      {finish.error && <ErrorNotice error={finish.error} />}
      <div className="flex flex-col gap-2">
        <div>
          <Button tone="primary" disabled={!begin.data} onClick={() => finish.mutate()}>
            Sign and create the project
          </Button>
        </div>
        <p className="text-sm text-quiet">
          The transaction creates a multisig of your wallet and the company, and its vault.
        </p>
      </div>
    </div>
  );
}

function Creating() {
  return (
    <div role="status" className="flex flex-col items-center gap-4 py-16 text-center">
      <Ring size={56} progress={0.7} isSpinning className="text-accent" />
      <p className="text-lg font-medium">Creating the multisig and its vault</p>
      <p className="text-quiet">Signed by your wallet, waiting for the cluster to confirm. A few seconds.</p>
    </div>
  );
}

/** A registration’s transaction lives for about a minute: a fresh one is signed, whatever was shown before. */
async function register(
  draft: RegistrationDraft,
  wallet: string,
  chain: `solana:${string}`,
): Promise<RegisteredProject> {
  const { registrationId, transaction } = await call(REGISTRATION_OPERATIONS.createRegistration, {
    body: requestOf(draft),
  });
  const signedTransaction = await signTransaction(transaction, await walletSigner(wallet, chain));
  const project = await call(
    REGISTRATION_OPERATIONS.confirmRegistration,
    { params: { registrationId }, body: { signedTransaction } },
    { timeoutMs: CONFIRM_TIMEOUT_MS },
  );
  await queryClient.invalidateQueries({ queryKey: projectsQuery.queryKey });
  return project;
}

function requestOf({
  mint,
  burnLimit,
  airdropLimit,
  isBurnAllowed,
  isAirdropAllowed,
  proofTypes,
  approvalMode,
}: RegistrationDraft) {
  return {
    mint,
    burnLimit,
    airdropLimit,
    scopes: [...(isBurnAllowed ? (['burn'] as const) : []), ...(isAirdropAllowed ? (['airdrop'] as const) : [])],
    proofTypes: proofTypes.map(readDraft).flatMap((read) => ('problem' in read ? [] : [read])),
    approvalMode,
  };
}
