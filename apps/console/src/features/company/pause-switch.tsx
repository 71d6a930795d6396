import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { pause } from '../../lib/api/company.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { TextField } from '../../ui/fields.tsx';

export interface PauseSwitchProps {
  /** null for all projects. */
  readonly projectId: string | null;
  /** What is paused, and what must be typed. */
  readonly name: string;
  readonly isPaused: boolean;
}

/** Stops a project, or all of them, and lets them go on; both ask for the name first. */
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
  const verb = isPaused ? 'Let go on' : 'Pause';
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
              ? 'Init and execute are taken again, and what was held up goes on by itself.'
              : 'Init and execute are refused, and nothing more is sent. What has been sent may still land.'}
          </p>
          <TextField
            label="Reason (the project reads it)"
            value={reason}
            maxLength={500}
            onChange={({ target }) => setReason(target.value)}
          />
        </div>
      </ConfirmDialog>
    </>
  );
}
