import type { Webhook } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { deleteWebhook } from '../../../lib/service/webhooks.ts';
import { ConfirmDialog } from '../../../ui/form/confirm-dialog.tsx';

export interface WebhookDialogProps {
  readonly projectId: string;
  readonly webhook: Webhook;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Deletes a webhook, once its host is typed. */
export function DeleteWebhookDialog({ projectId, webhook, isOpen, onClose }: WebhookDialogProps) {
  const queries = useQueryClient();
  const { host } = new URL(webhook.url);
  const remove = useMutation({
    mutationFn: () => deleteWebhook(projectId, webhook.webhookId),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries({ queryKey: ['project', projectId] });
    },
  });
  return (
    <ConfirmDialog
      title="Delete the webhook?"
      name={host}
      verb="Delete the webhook"
      isOpen={isOpen}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <p>
        Nothing more is sent to <span className="break-all">{webhook.url}</span>. What waits and the list of deliveries
        go with it, and it cannot be undone. To stop for a while, disable it.
      </p>
    </ConfirmDialog>
  );
}
