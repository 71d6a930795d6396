import { type Webhook, WebhookTopic } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { changeWebhook, createWebhook, deleteWebhook, rotateWebhookSecret } from '../../lib/api/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/checkbox.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Dialog, DialogButtons, useHeldDialog } from '../../ui/dialog.tsx';
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

/** Creates a webhook and shows its secret once. */
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
    // Not awaited: the secret must not wait for the list.
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['project', projectId] }),
  });
  useHeldDialog(create.isPending);
  if (create.data) {
    return (
      <WebhookSecret secret={create.data.secret} onClose={onClose}>
        Your server verifies every delivery with this secret. Store it there, then send a test event.
      </WebhookSecret>
    );
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const edit = (edited: WebhookDraft) => {
    setDraft(edited);
    create.reset();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <WebhookFields draft={draft} onChange={edit} />
      {create.error && <ErrorNotice error={create.error} />}
      <DialogButtons>
        <Button
          type="submit"
          tone="primary"
          isBusy={create.isPending}
          disabled={draft.url === '' || draft.events.length === 0}
        >
          Create the webhook
        </Button>
        <Button disabled={create.isPending} onClick={onClose}>
          Cancel
        </Button>
      </DialogButtons>
    </form>
  );
}

/** Changes the URL or the events of a webhook. */
export function ChangeWebhookDialog({ isOpen, onClose, ...rest }: WebhookDialogProps) {
  return (
    <Dialog title="Change the webhook" isOpen={isOpen} onClose={onClose}>
      <ChangeForm onClose={onClose} {...rest} />
    </Dialog>
  );
}

function ChangeForm({ projectId, webhook, onClose }: Omit<WebhookDialogProps, 'isOpen'>) {
  const queries = useQueryClient();
  const [opened] = useState<WebhookDraft>(webhook);
  const [draft, setDraft] = useState(opened);
  const change = useMutation({
    // A field that the person has not changed may have been changed meanwhile.
    mutationFn: () =>
      changeWebhook(projectId, webhook.webhookId, {
        ...(draft.url !== opened.url && { url: draft.url }),
        ...(draft.events !== opened.events && { events: [...draft.events] }),
      }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['project', projectId] });
      onClose();
    },
  });
  useHeldDialog(change.isPending);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    change.mutate();
  };
  const edit = (edited: WebhookDraft) => {
    setDraft(edited);
    change.reset();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <WebhookFields draft={draft} onChange={edit} />
      <p className="text-sm text-quiet">
        Pending deliveries go to the new URL as well. The secret does not change; replace it if others may know it.
      </p>
      {change.error && <ErrorNotice error={change.error} />}
      <DialogButtons>
        <Button
          type="submit"
          tone="primary"
          isBusy={change.isPending}
          disabled={draft.url === '' || draft.events.length === 0}
        >
          Save webhook
        </Button>
        <Button disabled={change.isPending} onClick={onClose}>
          Cancel
        </Button>
      </DialogButtons>
    </form>
  );
}

/** Replaces the secret of a webhook and shows the new one once. */
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
    // Not awaited: the secret must not wait for the list.
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['project', projectId] }),
  });
  useHeldDialog(rotate.isPending);
  if (rotate.data) {
    const { previousSecretUntil } = rotate.data.webhook;
    return (
      <WebhookSecret secret={rotate.data.secret} onClose={onClose}>
        {previousSecretUntil === undefined ? (
          'The old secret no longer signs deliveries. Install this one now.'
        ) : (
          <>
            Deliveries are also signed with the old secret until <TimeText at={previousSecretUntil} />. Install this one
            before then.
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
      <p>During the overlap each delivery is signed with both secrets, so your server accepts all of them.</p>
      {webhook.previousSecretUntil !== undefined && (
        <p>The secret was replaced recently. The one before it stops signing now.</p>
      )}
      <OverlapField
        label="Keep signing with the old secret for"
        seconds={overlapSeconds}
        onChange={setOverlapSeconds}
      />
      {rotate.error && <ErrorNotice error={rotate.error} />}
      <DialogButtons>
        <Button type="submit" tone="primary" isBusy={rotate.isPending}>
          Create the new secret
        </Button>
        <Button disabled={rotate.isPending} onClick={onClose}>
          Cancel
        </Button>
      </DialogButtons>
    </form>
  );
}

interface WebhookDialogProps {
  readonly projectId: string;
  readonly webhook: Webhook;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Disables a webhook after the person has read what that does. */
export function DisableWebhookDialog({ projectId, webhook, isOpen, onClose }: WebhookDialogProps) {
  return (
    <Dialog title="Disable the webhook?" isOpen={isOpen} onClose={onClose}>
      <DisableForm {...{ projectId, webhook, onClose }} />
    </Dialog>
  );
}

function DisableForm({ projectId, webhook, onClose }: Omit<WebhookDialogProps, 'isOpen'>) {
  const queries = useQueryClient();
  const disable = useMutation({
    mutationFn: () => changeWebhook(projectId, webhook.webhookId, { state: 'disabled' }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['project', projectId] });
      onClose();
    },
  });
  useHeldDialog(disable.isPending);
  return (
    <div className="flex flex-col gap-4">
      <p>
        New events are not queued for <span className="break-all">{webhook.url}</span>. Events that happen while it is
        disabled are never sent. Pending deliveries wait.
      </p>
      {disable.error && <ErrorNotice error={disable.error} />}
      <DialogButtons>
        <Button tone="danger" isBusy={disable.isPending} onClick={() => disable.mutate()}>
          Disable the webhook
        </Button>
        <Button disabled={disable.isPending} onClick={onClose}>
          Cancel
        </Button>
      </DialogButtons>
    </div>
  );
}

/** Deletes a webhook after its host is typed. */
export function DeleteWebhookDialog({ projectId, webhook, isOpen, onClose }: WebhookDialogProps) {
  const queries = useQueryClient();
  const { host } = new URL(webhook.url);
  const remove = async () => {
    await deleteWebhook(projectId, webhook.webhookId);
    // Not awaited: with its webhook the list loses the dialog too, which closes before.
    void queries.invalidateQueries({ queryKey: ['project', projectId] });
  };
  return (
    <ConfirmDialog
      title="Delete the webhook?"
      name={host}
      verb="Delete the webhook"
      isOpen={isOpen}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>
        No more events are sent to <span className="break-all">{webhook.url}</span>. Its pending deliveries and its list
        of deliveries are deleted. You cannot undo this. To pause it, disable it instead.
      </p>
    </ConfirmDialog>
  );
}

/** A webhook while it is edited. */
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
        label="Endpoint URL"
        type="url"
        inputMode="url"
        placeholder="https://shop.example/flywheel"
        hint="The URL of your server. Each event is a signed POST request."
        value={url}
        onChange={({ target }) => onChange({ url: target.value.trim(), events })}
        required
      />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1 text-sm font-medium">Events</legend>
        {WebhookTopic.options.map((topic) => (
          <Checkbox key={topic} checked={events.includes(topic)} onChange={toggle(topic)}>
            {TOPIC_WORDS[topic]} <code className="text-xs whitespace-nowrap text-quiet">{topic}</code>
          </Checkbox>
        ))}
      </fieldset>
    </>
  );
}

/** Descriptions of the events. */
const TOPIC_WORDS: { readonly [Topic in WebhookTopic]: string } = {
  'batch.finalized': 'A batch waits for your approval',
  'batch.awaiting_company_approval': 'A batch waits for the company’s approval',
  'batch.executed': 'A batch was executed',
  'batch.failed': 'A batch failed, was cancelled or was rejected',
  'batch.expired': 'A batch expired',
  'vault.low': 'The vault holds less than the open batches need',
};

interface WebhookSecretProps {
  readonly secret: string;
  /** Instructions for the new secret. */
  readonly children: ReactNode;
  readonly onClose: () => void;
}

/** Shows a webhook’s secret once. */
function WebhookSecret({ secret, children, onClose }: WebhookSecretProps) {
  return (
    <div className="flex flex-col gap-4">
      <OneTimeSecret
        name="Webhook secret"
        secret={secret}
        storage="You cannot read it here again."
        ifLost="If you lose it, replace it."
      />
      <p>{children}</p>
      <div>
        <Button onClick={onClose}>I have stored it</Button>
      </div>
    </div>
  );
}
