import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { keysQuery, rotateKey } from '../../lib/api/keys.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/feedback.tsx';
import { OneTimeSecret } from '../../ui/one-time-secret.tsx';
import { DEFAULT_OVERLAP_SECONDS, OverlapField } from '../../ui/overlap-field.tsx';
import { TimeText } from '../../ui/text.tsx';
import { keyName } from './key-name.ts';
import type { KeyDialogProps } from './revoke-key-dialog.tsx';

/** Makes a key in place of another, and shows it this once. */
export function RotateKeyDialog({ isOpen, onClose, ...rest }: KeyDialogProps) {
  return (
    <Dialog title={`Rotate ${keyName(rest.apiKey)}`} isOpen={isOpen} onClose={onClose}>
      <RotateForm onClose={onClose} {...rest} />
    </Dialog>
  );
}

function RotateForm({ projectId, apiKey, onClose }: Omit<KeyDialogProps, 'isOpen'>) {
  const queries = useQueryClient();
  const [overlapSeconds, setOverlapSeconds] = useState(DEFAULT_OVERLAP_SECONDS);
  const rotate = useMutation({
    mutationFn: () => rotateKey(projectId, apiKey.keyId, { overlapSeconds }),
    onSuccess: () => queries.invalidateQueries(keysQuery(projectId)),
  });
  if (rotate.data) {
    return (
      <div className="flex flex-col gap-4">
        <OneTimeSecret
          name="The new key"
          secret={rotate.data.apiKey}
          ifLost="Lost it? Create another and revoke this one."
        />
        <p>
          The old key works until <TimeText at={rotate.data.replacedExpiresAt} />. Put the new one in place before then.
        </p>
        <div>
          <Button onClick={onClose}>I have stored it</Button>
        </div>
      </div>
    );
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    rotate.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <p>A new key with the same name and scopes takes its place. Both work until the overlap is over.</p>
      <OverlapField label="The old key goes on working for" seconds={overlapSeconds} onChange={setOverlapSeconds} />
      {rotate.error && <ErrorNotice error={rotate.error} />}
      <div>
        <Button type="submit" tone="primary" isBusy={rotate.isPending}>
          Make the new key
        </Button>
      </div>
    </form>
  );
}
