import { BATCH_OPERATIONS, type BatchDetail, type BatchProgress } from '@flywheel/api';
import { castCancel } from '@flywheel/sdk';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { progressQuery } from '../../lib/api/batches.ts';
import { call } from '../../lib/api/call.ts';
import { useEnvironment, walletChain } from '../../lib/api/environment.ts';
import { projectQuery, useOwnsProject } from '../../lib/api/projects.ts';
import { checkPin, describePinMismatch } from '../../lib/pins.ts';
import { useWalletRequest } from '../../lib/wallet/wallet-request.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Notice } from '../../ui/feedback.tsx';
import { AddressText } from '../../ui/text.tsx';
import { batchKindName } from './batch-summary.ts';

/** The service waits for a bundle in flight before it answers. */
const CANCEL_TIMEOUT_MS = 60_000;

/** Cancels a batch, or asks again for the wallet's cancel vote. Repeating is safe. */
export function cancelBatch(projectId: string, batchId: string) {
  return call(
    BATCH_OPERATIONS.cancelProjectBatch,
    { params: { projectId, batchId }, headers: { prefer: 'wait=20' }, body: {} },
    { timeoutMs: CANCEL_TIMEOUT_MS, repeatable: true },
  );
}

export type CancelAnswer = Awaited<ReturnType<typeof cancelBatch>>;

/** True for a batch that was approved on chain and then failed, until its rent has been returned. */
export function mayOweCancelVote({ batch, timeline }: BatchProgress): boolean {
  return (
    batch.status === 'FAILED' && timeline.some(({ step, state }) => step === 'rentReturned' && state === 'waiting')
  );
}

interface CancelVoteNoticeProps {
  readonly projectId: string;
  readonly batch: BatchDetail;
  /** Called when the wallet is asked. */
  readonly onVote: () => void;
}

/** Offers the wallet's cancel vote, which Squads needs before the accounts of an approved batch can be closed. */
export function CancelVoteNotice({ projectId, batch, onVote }: CancelVoteNoticeProps) {
  const isOwner = useOwnsProject(projectId);
  const queries = useQueryClient();
  const environment = useEnvironment();
  const { data: project } = useQuery(projectQuery(projectId));
  const request = useWalletRequest();
  const { id: batchId, batchIndex, ...claimed } = batch.batch;
  const vote = useMutation({
    mutationFn: async () => {
      if (environment === undefined || project === undefined) throw new Error('This page has not loaded yet. Retry.');
      const { wallet: owner } = project;
      const { rpcUrl } = environment;
      const { search } = await checkPin(rpcUrl, { wallet: owner, ...claimed });
      const mismatch = describePinMismatch(search, claimed);
      if (mismatch !== null) throw new Error(`Not signed. ${mismatch}`);
      return castCancel(
        { getBatch: async () => batch.batch, cancelBatch: () => cancelBatch(projectId, batchId) },
        batchId,
        {
          wallet: await request.signerOf(owner, walletChain(environment)),
          rpcUrl,
          multisig: search.pin?.multisig ?? claimed.multisig,
        },
      );
    },
    onMutate: onVote,
    onSuccess: () => queries.invalidateQueries(progressQuery(projectId, batchId)),
  });
  if (vote.isSuccess) {
    return (
      <Notice tone="done" title={vote.data === null ? 'No cancel vote is missing' : 'Cancel vote cast'}>
        The company’s vote follows, then the accounts close and the rent goes back to the operator.
        {vote.data !== null && (
          <>
            {' '}
            <AddressText address={vote.data} kind="signature" isLinked />
          </>
        )}
      </Notice>
    );
  }
  return (
    <>
      <Notice
        tone="waiting"
        title={`Rent stays locked until ${isOwner ? 'your' : 'the project’s'} wallet votes to cancel`}
        action={
          isOwner && (
            <>
              <Button isBusy={vote.isPending} onClick={() => vote.mutate()}>
                Sign the cancel vote
              </Button>
              {request.isWaiting && <Button onClick={request.stop}>Stop waiting</Button>}
            </>
          )
        }
      >
        {batchKindName(batch.kind)} {batchIndex} was approved on chain before it ended, and Squads closes an approved
        proposal only after both members have voted to cancel it. The wallet signs that vote alone, and pays the fee of
        0.000005 SOL. The result of the batch stays as it is.
      </Notice>
      {vote.error && <ErrorNotice error={vote.error} />}
    </>
  );
}
