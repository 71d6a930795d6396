import { WebhookTopic } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { createWebhook } from '../../../lib/service/webhooks.ts';
import { Button } from '../../../ui/form/button.tsx';
import { Dialog } from '../../../ui/form/dialog.tsx';
import { ErrorNotice } from '../../../ui/state/notice.tsx';
import { type WebhookDraft, WebhookFields } from './webhook-fields.tsx';
import { WebhookSecret } from './webhook-secret.tsx';

export interface CreateWebhookDialogProps {
  readonly projectId: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Makes a webhook and shows its secret, this once. */
export function CreateWebhookDialog({ projectId, isOpen, onClose }: CreateWebhookDialogProps) {
  return (
    <Dialog title="Create a webhook" isOpen={isOpen} onClose={onClose}>
      <CreateForm projectId={projectId} onClose={onClose} />
    </Dialog>
  );
}

function CreateForm({ projectId, onClose }: Omit<CreateWebhookDialogProps, 'isOpen'>) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState<WebhookDraft>({ url: '', events: WebhookTopic.options });
  const create = useMutation({
    mutationFn: () => createWebhook(projectId, { url: draft.url, events: [...draft.events] }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['project', projectId] }),
  });
  if (create.data) {
    return (
      <WebhookSecret secret={create.data.secret} onClose={onClose}>
        Your server verifies every delivery with it. Send a test event when it is in place.
      </WebhookSecret>
    );
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <WebhookFields draft={draft} onChange={setDraft} />
      {create.error && <ErrorNotice error={create.error} />}
      <div>
        <Button
          type="submit"
          tone="primary"
          isBusy={create.isPending}
          disabled={draft.url === '' || draft.events.length === 0}
        >
          Create the webhook
        </Button>
      </div>
    </form>
  );
}
