import { BATCH_OPERATIONS, type BatchDetail } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { type Mismatch, type VerificationResult, verifyApproval } from '@flywheel/sdk';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { Fragment } from 'react';
import { call } from '../../lib/api/call.ts';
import { useEnvironment } from '../../lib/api/environment.ts';
import { ErrorNotice, Notice } from '../../ui/feedback.tsx';
import { Ring } from '../../ui/ring.tsx';
import { AddressText } from '../../ui/text.tsx';

interface VerifiedApproval {
  readonly verification: VerificationResult;
  /** Base64. These bytes were verified; the wallet must sign no others. */
  readonly proposalApproveTx: string;
}

interface VerificationInput {
  readonly projectId: string;
  readonly batch: BatchDetail;
  /** The wallet that will sign. */
  readonly wallet: string;
}

/**
 * Fetches the approval transaction and verifies it, and the batch shown on this page, against the chain.
 * A refetch fetches and verifies both again.
 */
export function useVerification({ projectId, batch, wallet }: VerificationInput): UseQueryResult<VerifiedApproval> {
  const rpcUrl = useEnvironment()?.rpcUrl ?? null;
  const batchId = batch.batch.id;
  const { multisig, batchIndex, vaultAddress, mintAddress } = batch.batch;
  const { pipelines } = batch;
  return useQuery({
    // The key holds everything that is verified: when the page shows other data, the old result no longer counts.
    queryKey: [
      'verification',
      batchId,
      wallet,
      rpcUrl,
      multisig,
      batchIndex,
      vaultAddress,
      mintAddress,
      identityOf(pipelines),
    ],
    queryFn: async ({ signal }): Promise<VerifiedApproval> => {
      if (rpcUrl === null) throw new Error('The RPC URL of the cluster is not known yet.');
      const { proposalApproveTx } = await call(
        BATCH_OPERATIONS.getApproval,
        { params: { projectId, batchId } },
        { signal },
      );
      const shown = { multisig, batchIndex, vaultAddress, mintAddress, pipelines };
      return {
        verification: await verifyApproval(rpcUrl, { wallet, batch: shown, proposalApproveTx }),
        proposalApproveTx,
      };
    },
    enabled: rpcUrl !== null,
    // The messages of an active proposal cannot change any more.
    staleTime: Number.POSITIVE_INFINITY,
    // Opening the screen again reads the chain again.
    gcTime: 0,
  });
}

const identities = new WeakMap<BatchDetail['pipelines'], number>();
let lastIdentity = 0;

/**
 * Number of an array of pipelines, to be part of a query key: a batch may hold megabytes of them, too much to hash on
 * every render. React Query keeps the same array when a refetch answers equal data.
 */
function identityOf(pipelines: BatchDetail['pipelines']): number {
  const known = identities.get(pipelines);
  if (known !== undefined) return known;
  lastIdentity += 1;
  identities.set(pipelines, lastIdentity);
  return lastIdentity;
}

/** Lists every reason against signing, a sentence each: first those of the approval itself. Empty if verified. */
export function verificationIssues({ issues, mismatches }: VerificationResult): readonly Mismatch[] {
  return [...issues.map((text) => ({ pipeline: null, text })), ...mismatches];
}

interface VerificationNoticeProps {
  readonly query: UseQueryResult<VerifiedApproval>;
  readonly pipelineCount: number;
}

/** Shows the result of the verification: verified, or every mismatch in red. */
export function VerificationNotice({ query, pipelineCount }: VerificationNoticeProps) {
  const environment = useEnvironment();
  if (query.error) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <VerificationPending pipelineCount={pipelineCount} />;
  const issues = verificationIssues(query.data.verification);
  if (issues.length > 0) return <VerificationFailed issues={issues} />;
  return (
    <Notice tone="done" title="Verified: the chain matches this page">
      This page read {pluralize(pipelineCount, 'message')} from {hostOf(environment?.rpcUrl)} over its own connection.
      Every byte matches the pipelines shown here. Without a vote, these members propose and execute:{' '}
      {query.data.verification.proposers.map((proposer, place) => (
        <Fragment key={proposer}>
          {place > 0 && ', '}
          <AddressText address={proposer} of="proposer" />
        </Fragment>
      ))}
      .
    </Notice>
  );
}

function VerificationPending({ pipelineCount }: { readonly pipelineCount: number }) {
  return (
    <div role="status" className="flex min-h-[86px] items-center gap-3 rounded border bg-sunken p-3">
      <Ring size={22} progress={0.7} isSpinning className="text-accent" />
      <p>Verifying: reading {pluralize(pipelineCount, 'message')} from the chain.</p>
    </div>
  );
}

function hostOf(url: string | undefined): string {
  return url === undefined ? 'the cluster' : new URL(url).host;
}

/** A longer list helps no one to decide; each pipeline shows its own mismatches. */
const MAX_ISSUES_SHOWN = 12;

function VerificationFailed({ issues }: { readonly issues: readonly Mismatch[] }) {
  const hidden = issues.length - MAX_ISSUES_SHOWN;
  return (
    <Notice tone="failed" title={`Do not sign: ${pluralize(issues.length, 'mismatch', 'mismatches')}`}>
      <ul className="mt-1 flex list-disc flex-col gap-1 pl-4">
        {issues.slice(0, MAX_ISSUES_SHOWN).map(({ pipeline, text }) => (
          <li key={`${pipeline} ${text}`} className="break-words">
            {pipeline !== null && <span className="font-medium">Pipeline {pipeline}. </span>}
            {text}
          </li>
        ))}
      </ul>
      {hidden > 0 && (
        <p className="mt-1">{pluralize(hidden, 'more mismatch', 'more mismatches')}, shown in the pipelines.</p>
      )}
      <p className="mt-2">
        This page and the chain do not show the same batch: someone changed one of them. Report this to the company, but
        not through this page.
      </p>
    </Notice>
  );
}
