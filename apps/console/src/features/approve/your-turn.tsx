import type { BatchDetail } from '@flywheel/api';
import { isFlywheelError } from '@flywheel/sdk';
import type { ReactNode } from 'react';
import { Button } from '../../ui/form/button.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { TimeText } from '../../ui/show/time-text.tsx';
import { ErrorNotice, Notice } from '../../ui/state/notice.tsx';
import { Panel } from '../../ui/state/panel.tsx';
import { FailureNotice } from '../batch/failure-notice.tsx';
import { PipelineList } from '../batch/pipelines/pipeline-list.tsx';
import { ApprovalPanel } from './approval-panel.tsx';
import { LookVerdict } from './look-verdict.tsx';
import { objectionsTo } from './objections.ts';
import { useApprove } from './use-approve.ts';
import { useLook } from './use-look.ts';

export interface YourTurnProps {
  readonly projectId: string;
  readonly batch: BatchDetail;
  /** Whose vote the batch takes. */
  readonly owner: string;
  /** Who is signed in. */
  readonly wallet: string;
}

/** Everything that a signature would let happen, looked at by this page; then the signature. */
export function YourTurn({ projectId, batch, owner, wallet }: YourTurnProps) {
  const looked = useLook({ projectId, batch, wallet: owner, isMyTurn: true });
  const { approve, isSigned } = useApprove({
    projectId,
    batchId: batch.batch.id,
    wallet: owner,
    onStale: () => void looked.refetch(),
  });
  const { data } = looked;
  const objections = data ? objectionsTo(data.look) : [];
  const isSafe = data !== undefined && objections.length === 0 && !looked.isFetching;
  const isOwn = owner === wallet;
  // Who reads this has signed in again since.
  const refusal = isFlywheelError(approve.error, 'ERR_UNAUTHORIZED') ? null : approve.error;
  const button = (
    <Button
      tone="primary"
      disabled={!isSafe || !isOwn}
      isBusy={approve.isPending}
      onClick={() => data && approve.mutate(data.proposalApproveTx)}
    >
      {wordOf(approve.isPending, isSigned, approve.isError)}
    </Button>
  );
  return (
    <div className="grid gap-6 pb-24 lg:pb-0 lg:grid-cols-[minmax(0,1fr)_400px] lg:items-start">
      <div className="flex min-w-0 flex-col gap-4 lg:order-last">
        <LookVerdict query={looked} pipelineCount={batch.pipelines.length} />
        {!isOwn && <WrongWallet owner={owner} wallet={wallet} />}
        {batch.failure && <FailureNotice failure={batch.failure} />}
        {refusal && <ErrorNotice error={refusal} />}
        {data && <ApprovalPanel look={data.look} wallet={owner} batch={batch} />}
        <SignHere expiresAt={batch.expiresAt}>{button}</SignHere>
      </div>
      <Panel title="The batch it approves">
        <PipelineList pipelines={batch.pipelines} differences={objections} />
      </Panel>
    </div>
  );
}

function wordOf(isPending: boolean, isSigned: boolean, isError: boolean): string {
  if (isPending) return isSigned ? 'Checking and handing in' : 'Waiting for your wallet';
  return isSigned && isError ? 'Execute again, as signed' : 'Approve with wallet';
}

/** In reach of a thumb on a phone; always in view elsewhere. */
function SignHere({ expiresAt, children }: { readonly expiresAt: string | undefined; readonly children: ReactNode }) {
  return (
    <div className="fixed inset-x-0 bottom-0 z-10 flex flex-col gap-1.5 border-t bg-paper p-4 lg:sticky lg:border-0 lg:px-0">
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
    <Notice tone="waiting" title="This takes another wallet">
      The batch takes the vote of <AddressText address={owner} of="wallet that approves" />. You are signed in with{' '}
      <AddressText address={wallet} of="your wallet" />. Sign out, and in again with the other.
    </Notice>
  );
}
