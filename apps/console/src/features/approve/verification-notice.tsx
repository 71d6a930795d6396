import { pluralize } from '@flywheel/protocol';
import type { Mismatch } from '@flywheel/sdk';
import type { UseQueryResult } from '@tanstack/react-query';
import { Fragment } from 'react';
import { useEnvironment } from '../../lib/api/environment.ts';
import { keepVerified } from '../../lib/pins.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Notice, sentenceOf } from '../../ui/feedback.tsx';
import { Ring } from '../../ui/ring.tsx';
import { AddressText } from '../../ui/text.tsx';
import { UnknownVault } from './known-multisig.tsx';
import { type VerifiedApproval, verificationIssues } from './verification.ts';

interface VerificationNoticeProps {
  readonly query: UseQueryResult<VerifiedApproval>;
  readonly pipelineCount: number;
}

/** Shows the result of the verification: verified, or every mismatch in red. */
export function VerificationNotice({ query, pipelineCount }: VerificationNoticeProps) {
  const environment = useEnvironment();
  if (query.error) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <VerificationPending pipelineCount={pipelineCount} failure={query.failureReason} />;
  const approval = query.data;
  const [issue, ...others] = verificationIssues(approval);
  if (issue !== undefined) {
    // The batch itself is verified, so that the vault is all that the person must decide about.
    if (!approval.verification.isVerified) {
      const verifyAgain = () => void query.refetch();
      return <VerificationFailed issues={[issue, ...others]} isBusy={query.isFetching} onRetry={verifyAgain} />;
    }
    const trust = () => {
      keepVerified(approval.known.place, { ...approval.shown, verification: approval.verification });
      void query.refetch();
    };
    return <UnknownVault approval={approval} reason={issue.text} onTrust={trust} />;
  }
  return (
    <Notice tone="done" title="Verified: the chain matches this page">
      This page read {pluralize(pipelineCount, 'message')} from {hostOf(environment?.rpcUrl)} over its own connection.
      Every byte matches the pipelines shown here. Without a vote,{' '}
      {approval.verification.proposers.length === 1
        ? 'this member proposes and executes'
        : 'these members propose and execute'}
      :{' '}
      {approval.verification.proposers.map((proposer, place) => (
        <Fragment key={proposer}>
          {place > 0 && ', '}
          <AddressText address={proposer} of="proposer" />
        </Fragment>
      ))}
      .
    </Notice>
  );
}

interface VerificationPendingProps {
  readonly pipelineCount: number;
  /** Why the first reads have failed; null if none has. */
  readonly failure: Error | null;
}

function VerificationPending({ pipelineCount, failure }: VerificationPendingProps) {
  return (
    <div role="status" className="flex min-h-[86px] items-center gap-3 rounded border bg-sunken p-3">
      <Ring size={22} progress={0.7} isSpinning className="text-accent" />
      <div className="min-w-0">
        <p>Verifying: reading {pluralize(pipelineCount, 'message')} from the chain.</p>
        {failure && <p className="text-sm break-words text-quiet">Reading again. {sentenceOf(failure)}</p>}
      </div>
    </div>
  );
}

function hostOf(url: string | undefined): string {
  return url === undefined ? 'the cluster' : new URL(url).host;
}

/** A longer list helps no one to decide; each pipeline shows its own mismatches. */
const MAX_ISSUES_SHOWN = 12;

interface VerificationFailedProps {
  readonly issues: readonly Mismatch[];
  readonly isBusy: boolean;
  readonly onRetry: () => void;
}

function VerificationFailed({ issues, isBusy, onRetry }: VerificationFailedProps) {
  const hidden = issues.length - MAX_ISSUES_SHOWN;
  return (
    <Notice
      tone="failed"
      title={`Do not sign: ${pluralize(issues.length, 'mismatch', 'mismatches')}`}
      action={
        <Button size="small" isBusy={isBusy} onClick={onRetry}>
          Verify again
        </Button>
      }
    >
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
        This page and the chain do not show the same batch: someone changed one of them, or the node is behind the
        chain. Verify again after a minute. If the mismatch stays, report it to the company, but not through this page.
      </p>
    </Notice>
  );
}
