import { type Webhook, WebhookTopic } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { changeWebhook, createWebhook, deleteWebhook, rotateWebhookSecret } from '../../lib/api/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/checkbox.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/fields.tsx';
import { OneTimeSecret } from '../../ui/one-time-secret.tsx';
import { DEFAULT_OVERLAP_SECONDS, OverlapField } from '../../ui/overlap-field.tsx';
import { TimeText } from '../../ui/text.tsx';

interface CreateWebhookDialogProps {
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

interface WebhookDialogProps {
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

/** Where events go, and which. */
interface WebhookDraft {
  readonly url: string;
  readonly events: readonly WebhookTopic[];
}

interface WebhookFieldsProps {
  readonly draft: WebhookDraft;
  readonly onChange: (draft: WebhookDraft) => void;
}

function WebhookFields({ draft, onChange }: WebhookFieldsProps) {
  const { url, events } = draft;
  const toggle = (topic: WebhookTopic) => (isChosen: boolean) =>
    onChange({ url, events: isChosen ? [...events, topic] : events.filter((chosen) => chosen !== topic) });
  return (
    <>
      <TextField
        label="Send to"
        type="url"
        inputMode="url"
        placeholder="https://shop.example/flywheel"
        hint="Your server’s address. Events are posted to it, each signed."
        value={url}
        onChange={({ target }) => onChange({ url: target.value.trim(), events })}
        required
      />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 text-sm font-medium">When</legend>
        {WebhookTopic.options.map((topic) => (
          <Checkbox key={topic} checked={events.includes(topic)} onChange={toggle(topic)}>
            {TOPIC_WORDS[topic]} <code className="text-xs whitespace-nowrap text-quiet">{topic}</code>
          </Checkbox>
        ))}
      </fieldset>
    </>
  );
}

/** What a webhook can be told, in words. */
const TOPIC_WORDS: { readonly [Topic in WebhookTopic]: string } = {
  'batch.finalized': 'A batch waits for your approval',
  'batch.awaiting_company_approval': 'A batch waits for the company’s',
  'batch.executed': 'A batch is executed',
  'batch.failed': 'A batch has failed, or was cancelled or rejected',
  'batch.expired': 'A batch has expired',
  'vault.low': 'The vault holds less than open batches take',
};

interface WebhookSecretProps {
  readonly secret: string;
  /** What to do with it. */
  readonly children: ReactNode;
  readonly onClose: () => void;
}

/** A webhook’s secret, shown this once. */
function WebhookSecret({ secret, children, onClose }: WebhookSecretProps) {
  return (
    <div className="flex flex-col gap-4">
      <OneTimeSecret
        name="The secret"
        secret={secret}
        kept="It is not stored here."
        ifLost="Lost it? Replace it by another."
      />
      <p>{children}</p>
      <div>
        <Button onClick={onClose}>I have stored it</Button>
      </div>
    </div>
  );
}
