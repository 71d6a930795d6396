import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { approveBatch, rejectBatch } from '../../../lib/service/company.ts';
import { Button, ButtonLink } from '../../../ui/form/button.tsx';
import { Dialog } from '../../../ui/form/dialog.tsx';
import { TextField } from '../../../ui/form/field.tsx';
import { ErrorNotice } from '../../../ui/state/notice.tsx';

interface JudgedBatch {
  readonly projectId: string;
  readonly batchId: string;
  readonly batchIndex: string;
}

/** A verdict that the service has taken. */
export interface Given extends JudgedBatch {
  readonly isApproved: boolean;
}

export interface VerdictProps extends JudgedBatch {
  readonly onGiven: (given: Given) => void;
}

/** The company’s word on a batch: approve, reject with a reason, or look closer first. */
export function Verdict({ onGiven, ...batch }: VerdictProps) {
  const { projectId, batchId, batchIndex } = batch;
  const queries = useQueryClient();
  const [isRejecting, setRejecting] = useState(false);
  const approve = useMutation({
    mutationFn: () => approveBatch(batchId),
    onSuccess: () => {
      onGiven({ ...batch, isApproved: true });
      return queries.invalidateQueries();
    },
  });
  return (
    <footer className="flex flex-col gap-3 border-t px-4 py-3">
      {approve.error && <ErrorNotice error={approve.error} />}
      <div className="flex flex-wrap gap-2">
        <Button tone="primary" isBusy={approve.isPending} onClick={() => approve.mutate()}>
          Approve batch {batchIndex}
        </Button>
        <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }}>
          See every pipeline
        </ButtonLink>
        <Button tone="danger" className="ml-auto" onClick={() => setRejecting(true)}>
          Reject
        </Button>
      </div>
      <Dialog title={`Reject batch ${batchIndex}?`} isOpen={isRejecting} onClose={() => setRejecting(false)}>
        <RejectForm
          batchId={batchId}
          onRejected={() => onGiven({ ...batch, isApproved: false })}
          onClose={() => setRejecting(false)}
        />
      </Dialog>
    </footer>
  );
}

interface RejectFormProps {
  readonly batchId: string;
  readonly onRejected: () => void;
  readonly onClose: () => void;
}

function RejectForm({ batchId, onRejected, onClose }: RejectFormProps) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const reject = useMutation({
    mutationFn: () => rejectBatch(batchId, reason.trim()),
    onSuccess: async () => {
      onRejected();
      onClose();
      await queries.invalidateQueries();
    },
  });
  const isGiven = reason.trim() !== '';
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isGiven) reject.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <p>The batch ends as failed, for good. Nothing of it moves, and its limits are given back.</p>
      <TextField
        label="Why? The project reads it"
        value={reason}
        maxLength={500}
        onChange={({ target }) => setReason(target.value)}
        required
      />
      {reject.error && <ErrorNotice error={reject.error} />}
      <div className="flex gap-3">
        <Button type="submit" tone="danger" isBusy={reject.isPending} disabled={!isGiven}>
          Reject the batch
        </Button>
        <Button onClick={onClose}>Keep it waiting</Button>
      </div>
    </form>
  );
}
