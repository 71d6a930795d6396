import { BATCH_OPERATIONS, type BatchDetail } from '@flywheel/api';
import { type Approval, approvalFee, isFlywheelError, signApproval, type VerificationResult } from '@flywheel/sdk';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { formatSol } from '../../lib/amounts.ts';
import { progressQuery } from '../../lib/api/batches.ts';
import { call } from '../../lib/api/call.ts';
import { useEnvironment, walletChain } from '../../lib/api/environment.ts';
import { keepVerified } from '../../lib/pins.ts';
import { useWalletRequest } from '../../lib/wallet/wallet-request.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Notice } from '../../ui/feedback.tsx';
import { DescriptionList, Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { AddressText, TimeText } from '../../ui/text.tsx';
import { FailureNotice } from '../batch/batch-status.tsx';
import type { ShownPipeline } from '../batch/batch-summary.ts';
import { PipelineList } from '../batch/pipeline-list.tsx';
import { MultisigNews } from './known-multisig.tsx';
import { useVerification, type VerifiedApproval, verificationIssues } from './verification.ts';
import { VerificationNotice } from './verification-notice.tsx';

interface SignBatchProps {
  readonly projectId: string;
  readonly batch: BatchDetail;
  /** The project’s wallet, whose vote the batch needs. */
  readonly owner: string;
  /** The wallet that is signed in. */
  readonly wallet: string;
}

/** Verifies everything that the signature allows, then asks the wallet to sign. */
export function SignBatch({ projectId, batch, owner, wallet }: SignBatchProps) {
  const verification = useVerification({ projectId, batch, wallet: owner });
  const { approve, request, isSigned } = useSignAndExecute({
    projectId,
    batch: batch.batch,
    wallet: owner,
    verification,
  });
  const { data } = verification;
  const issues = data ? verificationIssues(data) : [];
  const isVerified = data !== undefined && issues.length === 0 && !verification.isFetching;
  const isOwn = owner === wallet;
  const pipelines = useMemo(() => withInstructions(batch.pipelines, data?.verification), [batch.pipelines, data]);
  const button = (
    <div className="flex gap-3">
      <Button
        tone="primary"
        className="flex-1"
        disabled={!isVerified || !isOwn}
        isBusy={approve.isPending}
        onClick={() => data && approve.mutate(data)}
      >
        {buttonText(approve.isPending, isSigned, approve.isError)}
      </Button>
      {request.isWaiting && <Button onClick={request.stop}>Stop waiting</Button>}
    </div>
  );
  return (
    <div className="grid grid-cols-1 gap-6 pb-24 lg:pb-0 lg:grid-cols-[minmax(0,1fr)_400px] lg:items-start">
      <div className="flex min-w-0 flex-col gap-4 lg:order-last">
        <VerificationNotice query={verification} pipelineCount={batch.pipelines.length} />
        {isVerified && isOwn && <MultisigNews approval={data} />}
        {!isOwn && <WrongWallet owner={owner} wallet={wallet} />}
        {batch.failure && <FailureNotice failure={batch.failure} />}
        {approve.error && <ErrorNotice error={approve.error} />}
        {data && (
          <ApprovalPanel verification={data.verification} isVerified={isVerified} wallet={owner} batch={batch} />
        )}
        <SignBar expiresAt={batch.expiresAt}>{button}</SignBar>
      </div>
      <Panel title="Batch to approve">
        <PipelineList pipelines={pipelines} mismatches={issues} />
      </Panel>
    </div>
  );
}

/** The pipelines with their instructions on chain. Those that the service names are compared with nothing. */
function withInstructions(
  pipelines: BatchDetail['pipelines'],
  verification: VerificationResult | undefined,
): readonly ShownPipeline[] {
  const onChain = verification && 'pipelines' in verification.onChain ? verification.onChain.pipelines : [];
  return pipelines.map(({ instructions: _, ...pipeline }, position) => {
    const found = onChain[position];
    return { ...pipeline, ...(found && { onChain: found.instructions }) };
  });
}

function buttonText(isPending: boolean, isSigned: boolean, isError: boolean): string {
  if (isPending) return isSigned ? 'Checking and executing' : 'Waiting for your wallet';
  return isSigned && isError ? 'Execute again (already signed)' : 'Approve with wallet';
}

/** Keeps the button in view: at the bottom edge of a phone, sticky on wider screens. */
function SignBar({ expiresAt, children }: { readonly expiresAt: string | undefined; readonly children: ReactNode }) {
  return (
    <div className="fixed inset-x-0 bottom-0 z-10 flex print:hidden flex-col gap-1.5 border-t bg-paper p-4 lg:sticky lg:border-0 lg:px-0">
      {children}
      {expiresAt !== undefined && (
        <p className="text-center text-xs text-quiet">
          Valid until <TimeText at={expiresAt} />
        </p>
      )}
    </div>
  );
}

function WrongWallet({ owner, wallet }: { readonly owner: string; readonly wallet: string }) {
  return (
    <Notice tone="waiting" title="Connected with another wallet">
      This batch needs the approval of <AddressText address={owner} of="approving wallet" />. You are signed in with{' '}
      <AddressText address={wallet} of="your wallet" />. Sign out, then sign in with the other wallet.
    </Notice>
  );
}

/** The service simulates every pipeline again before the company signs. */
const EXECUTE_TIMEOUT_MS = 120_000;

interface SignAndExecuteInput {
  readonly projectId: string;
  readonly batch: BatchDetail['batch'];
  readonly wallet: string;
  readonly verification: ReturnType<typeof useVerification>;
}

interface SignedApproval {
  /** The unsigned approval, base64. */
  readonly proposalApproveTx: string;
  /** Base64. */
  readonly signedTx: string;
}

/**
 * Signs an approval with the wallet and executes the batch. After an error that the user can resolve (the vault is
 * short of funds, the project is paused), the next attempt sends the same signature without asking the wallet again.
 */
function useSignAndExecute({ projectId, batch, wallet, verification }: SignAndExecuteInput) {
  const { id: batchId, multisig, batchIndex } = batch;
  const queries = useQueryClient();
  const environment = useEnvironment();
  const request = useWalletRequest();
  const [signed, setSigned] = useState<SignedApproval | null>(null);
  const approve = useMutation({
    mutationFn: async ({ proposalApproveTx, shown, known, verification: verified }: VerifiedApproval) => {
      let signedTx = signed?.proposalApproveTx === proposalApproveTx ? signed.signedTx : null;
      if (signedTx === null) {
        const { company } = verified;
        if (company === null) throw new Error('An approval is signed only after its company was verified.');
        const signer = await request.signerOf(wallet, walletChain(environment));
        signedTx = await signApproval(proposalApproveTx, signer, { multisig, batchIndex, company });
        setSigned({ proposalApproveTx, signedTx });
        keepVerified(known.place, { ...shown, verification: verified });
      }
      return call(
        BATCH_OPERATIONS.executeProjectBatch,
        { params: { projectId, batchId }, body: { signedTx } },
        { timeoutMs: EXECUTE_TIMEOUT_MS },
      );
    },
    onSuccess: (progress) => {
      const query = progressQuery(projectId, batchId);
      queries.setQueryData(query.queryKey, progress);
      // Ends a read that is under way: it may answer with the state before.
      return queries.invalidateQueries(query);
    },
    onError: (error) => {
      if (!isFlywheelError(error, 'ERR_SIGNED_TX_INVALID')) return;
      setSigned(null);
      // The service has built another approval meanwhile: fetch and verify that one.
      void verification.refetch();
    },
  });
  return { approve, request, isSigned: signed !== null };
}

interface ApprovalPanelProps {
  readonly verification: VerificationResult;
  /** The verdict on the whole batch: nothing here may say that a batch is in order which the notice above rejects. */
  readonly isVerified: boolean;
  /** The wallet that will sign. */
  readonly wallet: string;
  readonly batch: BatchDetail;
}

/** Shows what the approval transaction does, decoded on this page from its bytes. */
function ApprovalPanel({ verification: { approval, issues }, isVerified, wallet, batch }: ApprovalPanelProps) {
  return (
    <Panel
      title="What you sign"
      aside={
        issues.length > 0 ? (
          <StatusBadge status="failed" label="Not as expected" />
        ) : (
          isVerified && <StatusBadge status="done" label="Two votes, nothing else" />
        )
      }
    >
      <ol className="flex flex-col gap-1.5">
        {approval.steps.map((step, position) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the instructions of one transaction never move.
          <li key={position} className="flex min-h-8 items-baseline gap-3">
            <span className="tabular w-3 shrink-0 text-right text-xs text-quiet">{position + 1}</span>
            <StepText step={step} wallet={wallet} />
          </li>
        ))}
      </ol>
      <div className="mt-4">
        <DescriptionList
          items={[
            { name: 'Fee', value: formatSol(approvalFee(approval)) },
            { name: 'Fee paid by', value: <AddressText address={approval.feePayer} of="fee payer" /> },
            { name: 'Batch', value: batch.batch.batchIndex },
            { name: 'Token', value: <AddressText address={batch.batch.mintAddress} of="mint" isLinked isWhole /> },
            { name: 'Proposal', value: <AddressText address={proposalOf(approval)} of="proposal" isLinked /> },
          ]}
        />
      </div>
    </Panel>
  );
}

function StepText({ step, wallet }: { readonly step: Approval['steps'][number]; readonly wallet: string }) {
  switch (step.kind) {
    case 'nonce':
      return (
        <span>
          Advance the nonce <AddressText address={step.account} of="nonce" />, so the transaction runs only once
        </span>
      );
    case 'computeLimit':
      return <span className="tabular">Use at most {step.units.toLocaleString('en')} compute units</span>;
    case 'computePrice':
      return (
        <span className="tabular">Pay {step.microLamports.toLocaleString('en')} micro-lamports per compute unit</span>
      );
    case 'vote':
      return (
        <span className="font-medium">
          Vote “approve” as {step.member === wallet ? 'you' : 'the company'},{' '}
          <AddressText address={step.member} of="member" />
        </span>
      );
    case 'other':
      return (
        <span className="font-medium text-failed">
          Call <AddressText address={step.program} of="program" /> with {step.bytes} bytes: not part of an approval
        </span>
      );
    default:
      return step satisfies never;
  }
}

function proposalOf({ steps }: Approval): string {
  return steps.find((step) => step.kind === 'vote')?.proposal ?? 'none';
}
