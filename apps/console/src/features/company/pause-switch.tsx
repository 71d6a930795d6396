import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { pause } from '../../lib/api/company.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';

export interface PauseSwitchProps {
  /** Null for all projects. */
  readonly projectId: string | null;
  /** Name of what is paused; it must be typed to confirm. */
  readonly name: string;
  readonly isPaused: boolean;
}

/** Pauses or resumes one project or all of them, after its name is typed. */
export function PauseSwitch({ projectId, name, isPaused }: PauseSwitchProps) {
  const [isAsking, setAsking] = useState(false);
  const [reason, setReason] = useState('');
  const queries = useQueryClient();
  const close = () => setAsking(false);
  const change = useMutation({
    mutationFn: () => pause(projectId, { isPaused: !isPaused, ...(reason === '' ? {} : { reason }) }),
    onSuccess: async () => {
      setReason('');
      close();
      await queries.invalidateQueries();
    },
  });
  const verb = isPaused ? 'Resume' : 'Pause';
  const Icon = isPaused ? Play : Pause;
  return (
    <>
      <Button
        size={projectId === null ? 'normal' : 'small'}
        tone={isPaused ? 'plain' : 'danger'}
        aria-label={`${verb} ${name}`}
        onClick={() => setAsking(true)}
      >
        <Icon size={14} aria-hidden /> {verb} {projectId === null && name}
      </Button>
      <ConfirmDialog
        title={`${verb} ${name}?`}
        name={name}
        verb={verb}
        isOpen={isAsking}
        isBusy={change.isPending}
        error={change.error}
        onConfirm={() => change.mutate()}
        onClose={close}
      >
        <div className="flex flex-col gap-4">
          <p>
            {isPaused
              ? 'Batches can be created and executed again. Blocked batches continue by themselves.'
              : 'No batch can be created or executed, and no more transactions are sent. Those already sent may still land.'}
          </p>
          <TextField
            label="Reason (shown to the project)"
            value={reason}
            maxLength={500}
            onChange={({ target }) => setReason(target.value)}
          />
        </div>
      </ConfirmDialog>
    </>
  );
}
