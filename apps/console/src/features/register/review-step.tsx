import { REGISTRATION_OPERATIONS, type RegisteredProject } from '@flywheel/api';
import { groupDigits } from '@flywheel/protocol';
import { signTransaction } from '@flywheel/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { formatSol } from '../../lib/amounts.ts';
import { call } from '../../lib/api/call.ts';
import { useEnvironment, walletChain } from '../../lib/api/environment.ts';
import { projectsQuery } from '../../lib/api/projects.ts';
import { initSample } from '../../lib/curl-samples.ts';
import { walletSigner } from '../../lib/wallet/signing.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { ErrorNotice, Notice, SkeletonLines } from '../../ui/feedback.tsx';
import { DescriptionList, Panel } from '../../ui/layout.tsx';
import { OneTimeSecret } from '../../ui/one-time-secret.tsx';
import { Ring } from '../../ui/ring.tsx';
import { AddressText } from '../../ui/text.tsx';
import { parseDraft } from '../proof-types/draft.ts';
import { DepositPanel } from '../vault/deposit-panel.tsx';
import type { RegistrationDraft } from './draft.ts';

/** The service answers once the cluster has confirmed the transaction. */
const CONFIRM_TIMEOUT_MS = 90_000;

export interface ReviewStepProps {
  readonly draft: RegistrationDraft;
  readonly wallet: string;
}

/** Step 5: all settings and the cost; then the wallet signs and the project is created. */
export function ReviewStep({ draft, wallet }: ReviewStepProps) {
  const environment = useEnvironment();
  const queries = useQueryClient();
  const preview = useMutation({
    mutationFn: () => call(REGISTRATION_OPERATIONS.createRegistration, { body: requestOf(draft) }),
  });
  const registration = useMutation({
    mutationFn: () => register(draft, wallet, walletChain(environment)),
    onSuccess: () => queries.invalidateQueries({ queryKey: projectsQuery.queryKey }),
  });
  const isRequested = useRef(false);
  useEffect(() => {
    // React’s strict mode runs effects twice; the preview must be requested once.
    if (isRequested.current) return;
    isRequested.current = true;
    preview.mutate();
  }, [preview]);
  if (registration.data) return <Created project={registration.data} draft={draft} />;
  if (registration.isPending) return <Creating />;
  return (
    <div className="flex flex-col gap-5">
      <DescriptionList
        items={[
          { name: 'Token', value: <AddressText address={draft.mint} of="mint" /> },
          {
            name: 'Daily burn limit',
            value: draft.isBurnAllowed ? groupDigits(draft.burnLimit) : 'burns not allowed',
          },
          {
            name: 'Daily airdrop limit',
            value: draft.isAirdropAllowed ? groupDigits(draft.airdropLimit) : 'airdrops not allowed',
          },
          { name: 'Proof types', value: draft.proofTypes.map(({ type }) => type).join(', ') || 'any' },
          { name: 'Company approval', value: draft.approvalMode === 'automatic' ? 'automatic' : 'manual' },
          { name: 'Approving wallet', value: <AddressText address={wallet} of="your wallet" /> },
        ]}
      />
      {preview.isPending && <SkeletonLines count={1} className="h-12" />}
      {preview.error && <ErrorNotice error={preview.error} onRetry={() => preview.mutate()} />}
      {preview.data && (
        <>
          {preview.data.warnings.map((warning) => (
            <Notice key={warning} tone="waiting" title={warning} />
          ))}
          <DescriptionList
            items={[
              { name: 'One-time cost, paid by your wallet', value: formatSol(preview.data.costLamports) },
              { name: 'Vault address', value: <AddressText address={preview.data.vaultAddress} of="vault" /> },
            ]}
          />
        </>
      )}
      {registration.error && <ErrorNotice error={registration.error} />}
      <div className="flex flex-col gap-2">
        <div>
          <Button tone="primary" disabled={!preview.data} onClick={() => registration.mutate()}>
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

/** Creates a new registration and signs it: its transaction expires after about a minute, so the preview’s may be too old. */
async function register(
  draft: RegistrationDraft,
  wallet: string,
  chain: `solana:${string}`,
): Promise<RegisteredProject> {
  const { registrationId, transaction } = await call(REGISTRATION_OPERATIONS.createRegistration, {
    body: requestOf(draft),
  });
  const signedTransaction = await signTransaction(transaction, await walletSigner(wallet, chain));
  return call(
    REGISTRATION_OPERATIONS.confirmRegistration,
    { params: { registrationId }, body: { signedTransaction } },
    { timeoutMs: CONFIRM_TIMEOUT_MS },
  );
}

function requestOf(draft: RegistrationDraft) {
  const { mint, burnLimit, airdropLimit, isBurnAllowed, isAirdropAllowed, proofTypes, approvalMode } = draft;
  return {
    mint,
    burnLimit,
    airdropLimit,
    scopes: [...(isBurnAllowed ? (['burn'] as const) : []), ...(isAirdropAllowed ? (['airdrop'] as const) : [])],
    proofTypes: proofTypes.map(parseDraft).flatMap((parsed) => ('issue' in parsed ? [] : [parsed])),
    approvalMode,
  };
}

function Creating() {
  return (
    <div role="status" className="flex flex-col items-center gap-4 py-16 text-center">
      <Ring size={56} progress={0.7} isSpinning className="text-accent" />
      <p className="text-lg font-medium">Creating the multisig and its vault</p>
      <p className="text-quiet">
        Approve the transaction in your wallet. The cluster then confirms it within a few seconds.
      </p>
    </div>
  );
}

interface CreatedProps {
  readonly project: RegisteredProject;
  readonly draft: RegistrationDraft;
}

/** Shows the API key, which is readable only once, the vault to fund, and a first request. */
function Created({ project, draft }: CreatedProps) {
  const { projectId, apiKey, vaultAddress, mintAddress } = project;
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, []);
  return (
    <div className="flex flex-col gap-6">
      <div className="flex items-center gap-3">
        <Ring size={32} progress={1} className="text-done" />
        <h2 className="text-lg font-semibold">Project created</h2>
      </div>
      <OneTimeSecret
        name="Your API key"
        secret={apiKey}
        ifLost="If you lose it, create another one on the Keys page and revoke this one."
      />
      <DepositPanel vault={vaultAddress} mint={mintAddress} decimals={draft.token?.decimals ?? 0} />
      <Panel title="First request">
        <CodeBlock
          label="Creates a batch with one burn"
          code={initSample({ apiKey, type: draft.proofTypes[0]?.type ?? 'WATCH_AD' })}
        />
      </Panel>
      <div className="flex flex-wrap gap-3">
        <ButtonLink to="/p/$projectId" params={{ projectId }} tone="primary">
          I have stored the key
        </ButtonLink>
      </div>
    </div>
  );
}
