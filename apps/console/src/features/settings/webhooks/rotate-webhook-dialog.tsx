import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { rotateWebhookSecret } from '../../../lib/service/webhooks.ts';
import { Button } from '../../../ui/form/button.tsx';
import { Dialog } from '../../../ui/form/dialog.tsx';
import { DEFAULT_OVERLAP_SECONDS, OverlapField } from '../../../ui/form/overlap-field.tsx';
import { TimeText } from '../../../ui/show/time-text.tsx';
import { ErrorNotice } from '../../../ui/state/notice.tsx';
import type { WebhookDialogProps } from './delete-webhook-dialog.tsx';
import { WebhookSecret } from './webhook-secret.tsx';

/** Puts another secret in the place of a webhook’s, and shows it this once. */
export function RotateWebhookDialog({ isOpen, onClose, ...rest }: WebhookDialogProps) {
  return (
    <Dialog title="Replace the secret" isOpen={isOpen} onClose={onClose}>
      <RotateForm onClose={onClose} {...rest} />
    </Dialog>
  );
}

function RotateForm({ projectId, webhook, onClose }: Omit<WebhookDialogProps, 'isOpen'>) {
  const queries = useQueryClient();
  const [overlapSeconds, setOverlapSeconds] = useState(DEFAULT_OVERLAP_SECONDS);
  const rotate = useMutation({
    mutationFn: () => rotateWebhookSecret(projectId, webhook.webhookId, overlapSeconds),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['project', projectId] }),
  });
  if (rotate.data) {
    const { previousSecretUntil } = rotate.data.webhook;
    return (
      <WebhookSecret secret={rotate.data.secret} onClose={onClose}>
        {previousSecretUntil === undefined ? (
          'The old secret signs no more: put this one in place now.'
        ) : (
          <>
            Deliveries are signed with the old one too until <TimeText at={previousSecretUntil} />. Put this one in
            place before then.
          </>
        )}
      </WebhookSecret>
    );
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    rotate.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <p>Each delivery carries a signature by both secrets until the overlap is over, so nothing is refused.</p>
      {webhook.previousSecretUntil !== undefined && (
        <p>The secret was replaced lately. The one before that signs no more from now on.</p>
      )}
      <OverlapField label="The old secret goes on signing for" seconds={overlapSeconds} onChange={setOverlapSeconds} />
      {rotate.error && <ErrorNotice error={rotate.error} />}
      <div>
        <Button type="submit" tone="primary" isBusy={rotate.isPending}>
          Make the new secret
        </Button>
      </div>
    </form>
  );
}
