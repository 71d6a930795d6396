import { BATCH_OPERATIONS, type BatchDetail } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { progressQuery } from '../../../lib/service/batches.ts';
import { call } from '../../../lib/service/call.ts';
import { Button } from '../../../ui/form/button.tsx';
import { ConfirmDialog } from '../../../ui/form/confirm-dialog.tsx';
import { useMayChange } from '../../project/use-may-change.ts';
import { kindName } from '../kind-name.ts';

/** The service ends a bundle in flight before it answers. */
const CANCEL_TIMEOUT_MS = 60_000;

/** Ends an open batch for good, once its name is typed; nothing where there is nothing to end, or no right to. */
export function CancelButton({ projectId, batch }: { readonly projectId: string; readonly batch: BatchDetail }) {
  const queries = useQueryClient();
  const mayChange = useMayChange(projectId);
  const [isOpen, setOpen] = useState(false);
  const { id: batchId, status, batchIndex } = batch.batch;
  const name = `${kindName(batch.kind)} ${batchIndex}`;
  const cancel = useMutation({
    mutationFn: () =>
      call(
        BATCH_OPERATIONS.cancelProjectBatch,
        { params: { projectId, batchId }, headers: { prefer: 'wait=20' }, body: {} },
        { timeoutMs: CANCEL_TIMEOUT_MS, repeatable: true },
      ),
    onSuccess: async () => {
      await queries.invalidateQueries(progressQuery(projectId, batchId));
      setOpen(false);
    },
  });
  const isOver = status === 'EXECUTED' || status === 'FAILED';
  if (isOver || !mayChange) return null;
  return (
    <>
      <Button tone="danger" onClick={() => setOpen(true)}>
        Cancel
      </Button>
      <ConfirmDialog
        title={`Cancel ${name.toLowerCase()}?`}
        name={name}
        verb={`Cancel the ${kindName(batch.kind).toLowerCase()}`}
        isOpen={isOpen}
        isBusy={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate()}
        onClose={() => setOpen(false)}
      >
        <p>
          It ends, and what it had reserved of the day’s limits is given back. What has been executed by then stays so;
          nothing more of it ever will be. It cannot be undone.
        </p>
      </ConfirmDialog>
    </>
  );
}
