import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { changeWebhook } from '../../../lib/service/webhooks.ts';
import { Button } from '../../../ui/form/button.tsx';
import { Dialog } from '../../../ui/form/dialog.tsx';
import { ErrorNotice } from '../../../ui/state/notice.tsx';
import type { WebhookDialogProps } from './delete-webhook-dialog.tsx';
import { type WebhookDraft, WebhookFields } from './webhook-fields.tsx';

/** Sends elsewhere, or other events. */
export function ChangeWebhookDialog({ isOpen, onClose, ...rest }: WebhookDialogProps) {
  return (
    <Dialog title="Change the webhook" isOpen={isOpen} onClose={onClose}>
      <ChangeForm onClose={onClose} {...rest} />
    </Dialog>
  );
}

function ChangeForm({ projectId, webhook, onClose }: Omit<WebhookDialogProps, 'isOpen'>) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<WebhookDraft>({ url: webhook.url, events: webhook.events });
  const change = useMutation({
    mutationFn: () => changeWebhook(projectId, webhook.webhookId, { url: draft.url, events: [...draft.events] }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['project', projectId] });
      onClose();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <WebhookFields draft={draft} onChange={setDraft} />
      <p className="text-sm text-quiet">
        What waits goes to the new address as well. The secret stays: replace it if others know it.
      </p>
      {change.error && <ErrorNotice error={change.error} />}
      <div className="flex gap-3">
        <Button
          type="submit"
          tone="primary"
          isBusy={change.isPending}
          disabled={draft.url === '' || draft.events.length === 0}
        >
          Save the webhook
        </Button>
        <Button onClick={onClose}>Leave it as it is</Button>
      </div>
    </form>
  );
}
