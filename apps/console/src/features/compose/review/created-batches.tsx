import { Ring } from '../../../ui/drawn/ring.tsx';
import { ButtonLink } from '../../../ui/form/button.tsx';
import { AddressText } from '../../../ui/show/address-text.tsx';
import { ErrorNotice } from '../../../ui/state/notice.tsx';
import { Panel } from '../../../ui/state/panel.tsx';

export interface CreatedBatchesProps {
  readonly projectId: string;
  readonly batchIds: readonly string[];
  readonly expected: number;
  readonly error: Error | null;
  readonly isBusy: boolean;
  readonly onRetry: () => void;
}

/** Several batches of one file: each takes an approval of its own. */
export function CreatedBatches({ projectId, batchIds, expected, error, isBusy, onRetry }: CreatedBatchesProps) {
  return (
    <div className="flex flex-col gap-6">
      <div role="status" className="flex items-center gap-4">
        <Ring size={40} closed={batchIds.length / expected} isTurning={isBusy} className="text-accent" />
        <div>
          <p className="text-lg font-semibold">
            {batchIds.length} of {expected} batches created
          </p>
          <p className="text-quiet">A batch holds 1,000 pipelines at most. Each one takes your approval.</p>
        </div>
      </div>
      {error && <ErrorNotice error={error} onRetry={onRetry} />}
      <Panel title="To approve">
        <ul className="flex flex-col divide-y">
          {batchIds.map((batchId, position) => (
            <li key={batchId} className="flex min-h-12 items-center justify-between gap-4 py-2">
              <span>
                Part {position + 1} of {expected} <AddressText address={batchId} of="batch id" />
              </span>
              <ButtonLink
                to="/p/$projectId/approve/$batchId"
                params={{ projectId, batchId }}
                target="_blank"
                size="small"
              >
                Look and approve
              </ButtonLink>
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}
