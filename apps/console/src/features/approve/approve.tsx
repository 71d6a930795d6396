import type { BatchDetail } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { projectQuery } from '../../lib/service/projects.ts';
import { useSession } from '../../lib/service/session.ts';
import { useLiveBatch } from '../../lib/service/use-live-batch.ts';
import { AddressText } from '../../ui/show/address-text.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Page } from '../../ui/state/page.tsx';
import { BatchSkeleton } from '../batch/batch-skeleton.tsx';
import { BatchStanding } from '../batch/batch-standing.tsx';
import { kindName } from '../batch/kind-name.ts';
import { AfterApproval } from './after-approval.tsx';
import { approvalStage } from './approval-stage.ts';
import { YourTurn } from './your-turn.tsx';

/** A batch before a wallet: waited for, looked at, signed, followed to its end. */
export function Approve() {
  const { projectId, batchId } = useParams({ from: '/p/$projectId/approve/$batchId' });
  const batch = useLiveBatch(projectId, batchId);
  return (
    <Loaded query={batch} skeleton={<BatchSkeleton />}>
      {(found) => <Found projectId={projectId} batch={found} />}
    </Loaded>
  );
}

function Found({ projectId, batch }: { readonly projectId: string; readonly batch: BatchDetail }) {
  const session = useSession();
  const project = useQuery(projectQuery(projectId));
  const stage = approvalStage(batch);
  return (
    <Page
      title={`Approve ${kindName(batch.kind).toLowerCase()} ${batch.batch.batchIndex}`}
      lead={<AddressText address={batch.batch.id} of="batch id" />}
    >
      {stage === 'yourTurn' ? (
        <>
          <BatchStanding batch={batch} />
          <Loaded query={project} skeleton={<BatchSkeleton />}>
            {({ wallet: owner }) => (
              <YourTurn projectId={projectId} batch={batch} owner={owner} wallet={session?.wallet ?? ''} />
            )}
          </Loaded>
        </>
      ) : (
        <AfterApproval projectId={projectId} batch={batch} stage={stage} />
      )}
    </Page>
  );
}
