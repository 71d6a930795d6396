import { CONFIRM_REGISTRATION_TIMEOUT_MS, isOutcomeUnknown, REGISTRATION_OPERATIONS } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import {
  isFlywheelError,
  type RegistrationRefusal,
  type RegistrationTerms,
  type RegistrationVerification,
  verifyAndSignRegistration,
  verifyRegistration,
} from '@flywheel/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { formatSol } from '../../lib/amounts.ts';
import { call } from '../../lib/api/call.ts';
import { type Environment, requireRpcUrl, useEnvironment, walletChain } from '../../lib/api/environment.ts';
import { projectsQuery } from '../../lib/api/projects.ts';
import { APPROVAL_MODE_NAMES, amountWithUnit } from '../../lib/format.ts';
import { keepSigned, readRegistrationPins } from '../../lib/pins.ts';
import { useWalletRequest, type WalletRequest } from '../../lib/wallet/wallet-request.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { ErrorNotice, Loading, Notice, SkeletonLines } from '../../ui/feedback.tsx';
import { DescriptionList, Panel } from '../../ui/layout.tsx';
import { Ring } from '../../ui/ring.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { AddressText } from '../../ui/text.tsx';
import { Created, type CreatedProject } from './created.tsx';
import { type RegistrationDraft, rulesOf } from './draft.ts';
import { IssueList, KeyNews, UnknownServiceKey } from './service-keys.tsx';

export interface ReviewStepProps {
  readonly draft: RegistrationDraft;
  readonly wallet: string;
  /** Called when the stage changes. */
  readonly onStage: (stage: RegistrationStage) => void;
}

/** A registration is signed from when the wallet is asked, until that fails or the service has answered. */
export type RegistrationStage = 'draft' | 'signed' | Outcome['outcome'];

/** Step 5: all settings and the cost; then the wallet signs and the project is created. */
export function ReviewStep({ draft, wallet, onStage }: ReviewStepProps) {
  const environment = useEnvironment();
  const queries = useQueryClient();
  const [trusted, setTrusted] = useState<readonly string[]>([]);
  const preview = useMutation({
    mutationFn: (accepted: readonly string[]) =>
      previewRegistration(draft, { wallet, trusted: accepted, rpcUrl: requireRpcUrl(environment) }),
  });
  const request = useWalletRequest();
  const registration = useMutation({
    mutationFn: (terms: RegistrationTerms) => register(draft, terms, { environment, request }),
    onMutate: () => onStage('signed'),
    onError: () => onStage('draft'),
    onSuccess: ({ outcome }) => {
      onStage(outcome);
      return queries.invalidateQueries({ queryKey: projectsQuery.queryKey });
    },
  });
  const terms = preview.data?.verification.terms ?? null;
  const isRequested = useRef(false);
  useEffect(() => {
    // React’s strict mode runs effects twice; the preview must be requested once.
    if (isRequested.current || environment === undefined) return;
    isRequested.current = true;
    preview.mutate([]);
  }, [preview, environment]);
  const trust = (address: string) => {
    const accepted = [...trusted, address];
    setTrusted(accepted);
    preview.mutate(accepted);
  };
  if (registration.data?.outcome === 'created') return <Created {...registration.data} draft={draft} />;
  if (registration.isPending) return <Creating request={request} />;
  return (
    <div className="flex flex-col gap-5">
      <DescriptionList
        items={[
          { name: 'Token', value: <AddressText address={draft.mint} of="mint" isWhole /> },
          {
            name: 'Daily burn limit',
            value: draft.isBurnAllowed ? amountWithUnit(draft.burnLimit, 'tokens') : 'Burns not allowed',
          },
          {
            name: 'Daily airdrop limit',
            value: draft.isAirdropAllowed ? amountWithUnit(draft.airdropLimit, 'tokens') : 'Airdrops not allowed',
          },
          { name: 'Proof types', value: draft.proofTypes.map(({ type }) => type).join(', ') || 'Any' },
          { name: 'Company approval', value: APPROVAL_MODE_NAMES[draft.approvalMode] },
          { name: 'Approving wallet', value: <AddressText address={wallet} of="your wallet" /> },
        ]}
      />
      {preview.isPending && (
        <Loading>
          <SkeletonLines count={1} className="h-12" />
        </Loading>
      )}
      {preview.error && <ErrorNotice error={preview.error} onRetry={() => preview.mutate(trusted)} />}
      {preview.data && (
        <>
          {preview.data.warnings.map((warning) => (
            <Notice key={warning} tone="waiting" title={warning} />
          ))}
          {preview.data.verification.isVerified ? (
            <>
              <TermsPanel terms={preview.data.verification.terms} rpcUrl={environment?.rpcUrl} />
              <KeyNews terms={preview.data.verification.terms} isFirst={preview.data.isFirst} />
            </>
          ) : (
            <RefusedRegistration refusal={preview.data.verification} onTrust={trust} />
          )}
        </>
      )}
      {registration.error && <ErrorNotice error={registration.error} />}
      {registration.data && <NoAnswer error={registration.data.error} />}
      <div className="flex flex-col gap-2">
        <div>
          <Button
            tone="primary"
            disabled={terms === null || registration.isSuccess}
            onClick={() => terms && registration.mutate(terms)}
          >
            Sign and create the project
          </Button>
        </div>
        <p className="text-sm text-quiet">
          The signed transaction is a new one with the same members; this page verifies it again before your wallet
          opens.
        </p>
      </div>
    </div>
  );
}

interface TermsPanelProps {
  readonly terms: RegistrationTerms;
  readonly rpcUrl: string | undefined;
}

/** Shows what the wallet will sign, read on this page from the transaction's bytes. */
function TermsPanel({ terms, rpcUrl }: TermsPanelProps) {
  const { vaultAddress, company, operator, recovery, costLamports } = terms;
  return (
    <Panel title="What you sign" aside={<StatusBadge status="done" label="Creates the multisig, nothing else" />}>
      <DescriptionList
        items={[
          { name: 'One-time cost, paid by your wallet', value: formatSol(costLamports) },
          { name: 'Vault address', value: <AddressText address={vaultAddress} of="vault" isWhole /> },
          { name: 'The company, which votes too', value: <AddressText address={company} of="company" isWhole /> },
          { name: 'Executes, without a vote', value: <AddressText address={operator} of="operator" isWhole /> },
          ...(recovery === null
            ? []
            : [
                {
                  name: 'Executes if the operator is lost, without a vote',
                  value: <AddressText address={recovery} of="recovery key" isWhole />,
                },
              ]),
          { name: 'Verified at the node', value: rpcUrl === undefined ? 'the cluster' : new URL(rpcUrl).host },
        ]}
      />
    </Panel>
  );
}

interface RefusedRegistrationProps {
  readonly refusal: RegistrationRefusal;
  readonly onTrust: (address: string) => void;
}

/** Lists why the service’s transaction is not signed. Keys that are only not known are for the person to decide. */
function RefusedRegistration({ refusal: { issues, unknownKeys }, onTrust }: RefusedRegistrationProps) {
  const [unknown] = unknownKeys;
  if (unknown) return <UnknownServiceKey issues={issues} unknown={unknown} onTrust={onTrust} />;
  return (
    <Notice tone="failed" title={`Do not register here: ${pluralize(issues.length, 'issue')}`}>
      <IssueList issues={issues} />
      <p className="mt-2">
        The service asks your wallet to sign something else than a registration. Report this to the company, and not
        through this page.
      </p>
    </Notice>
  );
}

interface RegistrationPreview {
  readonly warnings: readonly string[];
  readonly verification: RegistrationVerification;
  /** True if this browser knows no key of the service. */
  readonly isFirst: boolean;
}

interface PreviewInput {
  readonly wallet: string;
  readonly rpcUrl: string;
  /** Addresses that the person has named. */
  readonly trusted: readonly string[];
}

/** Requests a registration and verifies it, so that its members and its cost are shown before anything is signed. */
async function previewRegistration(
  draft: RegistrationDraft,
  { wallet, rpcUrl, trusted }: PreviewInput,
): Promise<RegistrationPreview> {
  const registration = await call(REGISTRATION_OPERATIONS.createRegistration, { body: requestOf(draft) });
  const { expect } = await readRegistrationPins(rpcUrl, trusted);
  const input = { wallet, mint: draft.mint, registration, ...(expect && { expect }) };
  const verification = await verifyRegistration(rpcUrl, input);
  return { warnings: registration.warnings, verification, isFirst: expect === undefined };
}

/** The end of a registration that the wallet has signed. Without an answer to the signature the project may exist or not. */
type Outcome =
  | ({ readonly outcome: 'created' } & CreatedProject)
  | { readonly outcome: 'unknown'; readonly error: Error };

/**
 * Creates a new registration, verifies it and signs it: its transaction expires after about a minute, so the preview’s may
 * be too old. Its members must be those that were shown. The chain is not compared yet.
 */
async function register(
  draft: RegistrationDraft,
  { wallet, mint, company, operator, recovery }: RegistrationTerms,
  { environment, request }: { readonly environment: Environment | undefined; readonly request: WalletRequest },
): Promise<Outcome> {
  const rpcUrl = requireRpcUrl(environment);
  const registration = await call(REGISTRATION_OPERATIONS.createRegistration, { body: requestOf(draft) });
  const { place } = await readRegistrationPins(rpcUrl, []);
  const signer = await request.signerOf(wallet, walletChain(environment));
  const input = { wallet: signer, mint, registration, expect: { company, operator, recovery } };
  const { signedTransaction, terms } = await verifyAndSignRegistration(rpcUrl, input);
  keepSigned(place, terms);
  try {
    const project = await call(
      REGISTRATION_OPERATIONS.confirmRegistration,
      { params: { registrationId: registration.registrationId }, body: { signedTransaction } },
      { timeoutMs: CONFIRM_REGISTRATION_TIMEOUT_MS },
    );
    return { outcome: 'created', project, terms, place, rpcUrl };
  } catch (error) {
    const isRefusal = isFlywheelError(error) && !isOutcomeUnknown(error);
    if (isRefusal || !(error instanceof Error)) throw error;
    return { outcome: 'unknown', error };
  }
}

function requestOf(draft: RegistrationDraft) {
  const { mint, burnLimit, airdropLimit, approvalMode } = draft;
  return { mint, burnLimit, airdropLimit, ...rulesOf(draft), approvalMode };
}

/** Says that the project may exist: a second registration would be paid for too. */
function NoAnswer({ error }: { readonly error: Error }) {
  return (
    <div className="flex flex-col gap-3">
      <ErrorNotice error={error} />
      <Notice
        tone="waiting"
        title="The project may exist. Look in Your projects before you sign again"
        action={
          <ButtonLink to="/" size="small">
            Your projects
          </ButtonLink>
        }
      >
        Your wallet has signed, and a second registration costs as much again. The transaction can take effect for about
        two minutes. If the project is there, create an API key for it under <em>API keys</em>.
      </Notice>
    </div>
  );
}

function Creating({ request }: { readonly request: WalletRequest }) {
  return (
    <div role="status" className="flex flex-col items-center gap-4 py-16 text-center">
      <Ring size={56} progress={0.7} isSpinning className="text-accent" />
      <p className="text-lg font-medium">Creating the multisig and its vault</p>
      <p className="text-quiet">
        Approve the transaction in your wallet. The cluster then confirms it within a few seconds.
      </p>
      {request.isWaiting && <Button onClick={request.stop}>Stop waiting</Button>}
    </div>
  );
}
