import type { Webhook } from '@flywheel/api';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { changeWebhook, testWebhook, webhooksQuery } from '../../lib/api/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Notice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { TimeText } from '../../ui/text.tsx';
import { WebhookDeliveries } from './webhook-deliveries.tsx';
import {
  ChangeWebhookDialog,
  CreateWebhookDialog,
  DeleteWebhookDialog,
  DisableWebhookDialog,
  RotateWebhookDialog,
} from './webhook-dialogs.tsx';

interface WebhooksPanelProps {
  readonly projectId: string;
  readonly canEdit: boolean;
}

/** Lists the project’s webhooks. */
export function WebhooksPanel({ projectId, canEdit }: WebhooksPanelProps) {
  const webhooks = useQuery(webhooksQuery(projectId));
  const [isCreating, setCreating] = useState(false);
  return (
    <Panel
      title="Webhooks"
      aside={
        canEdit && (
          <Button size="small" onClick={() => setCreating(true)}>
            Create a webhook
          </Button>
        )
      }
    >
      <QueryView query={webhooks} skeleton={<SkeletonLines count={1} className="h-24" />}>
        {({ webhooks: found }) =>
          found.length === 0 ? (
            <p className="text-quiet">
              No webhooks yet. Create one to notify your server when a batch changes. Events are signed, and retried
              until your server accepts them. <WebhooksGuideLink />
            </p>
          ) : (
            <ul className="flex flex-col divide-y">
              {found.map((webhook) => (
                <li key={webhook.webhookId} className="py-4 first:pt-0 last:pb-0">
                  <WebhookItem {...{ projectId, webhook, canEdit }} />
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
      <CreateWebhookDialog projectId={projectId} isOpen={isCreating} onClose={() => setCreating(false)} />
    </Panel>
  );
}

function WebhooksGuideLink() {
  return (
    <a href="/docs/webhooks" className="text-accent underline underline-offset-2">
      How to receive webhooks
    </a>
  );
}

interface WebhookItemProps {
  readonly projectId: string;
  readonly webhook: Webhook;
  readonly canEdit: boolean;
}

/** Shows a webhook, its events and its deliveries, with buttons to change it. */
function WebhookItem({ projectId, webhook, canEdit }: WebhookItemProps) {
  const [showsDeliveries, setShowsDeliveries] = useState(false);
  const { webhookId, url, events, state, disabledReason, previousSecretUntil } = webhook;
  const isActive = state === 'active';
  return (
    <article aria-label={`Webhook to ${url}`} className="flex flex-col gap-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <h3 className="min-w-0 font-mono text-sm font-medium break-all">{url}</h3>
        <WebhookStatus webhook={webhook} />
      </div>
      <p className="text-sm text-quiet">Events: {events.join(', ')}</p>
      {previousSecretUntil !== undefined && (
        <p className="text-sm">
          Also signed with the old secret until <TimeText at={previousSecretUntil} />.
        </p>
      )}
      {!isActive && (
        <Notice tone="waiting" title="Disabled: no events are queued">
          {disabledReason ?? 'Pending deliveries are sent when you enable it.'}
        </Notice>
      )}
      <div className="flex flex-wrap gap-2">
        <Button size="small" aria-expanded={showsDeliveries} onClick={() => setShowsDeliveries(!showsDeliveries)}>
          {showsDeliveries ? 'Hide deliveries' : 'Deliveries'}
        </Button>
        {canEdit && (
          <WebhookActions projectId={projectId} webhook={webhook} onTested={() => setShowsDeliveries(true)} />
        )}
      </div>
      {showsDeliveries && (
        <WebhookDeliveries projectId={projectId} webhookId={webhookId} canRedeliver={canEdit && isActive} />
      )}
    </article>
  );
}

function WebhookStatus({ webhook: { state, newestDelivery } }: Pick<WebhookItemProps, 'webhook'>) {
  if (state === 'disabled') return <StatusBadge status="waiting" label="Disabled" />;
  const newest = newestDelivery?.state;
  switch (newest) {
    case undefined:
      return <StatusBadge status="waiting" label="Nothing sent yet" />;
    case 'waiting':
      return <StatusBadge status="running" label="Delivering" />;
    case 'delivered':
      return <StatusBadge status="done" label="Accepting events" />;
    case 'failed':
      return <StatusBadge status="failed" label="Latest delivery failed" />;
    default:
      return newest satisfies never;
  }
}

interface WebhookActionsProps extends Omit<WebhookItemProps, 'canEdit'> {
  readonly onTested: () => void;
}

function WebhookActions({ projectId, webhook, onTested }: WebhookActionsProps) {
  const [dialog, setDialog] = useState<'change' | 'rotate' | 'disable' | 'delete' | null>(null);
  const queries = useQueryClient();
  const { webhookId, state } = webhook;
  const refresh = () => queries.invalidateQueries({ queryKey: ['project', projectId] });
  const test = useMutation({
    mutationFn: () => testWebhook(projectId, webhookId),
    onSuccess: async () => {
      onTested();
      await refresh();
    },
  });
  const enable = useMutation({
    mutationFn: () => changeWebhook(projectId, webhookId, { state: 'active' }),
    onSuccess: refresh,
  });
  const close = () => setDialog(null);
  const error = test.error ?? enable.error;
  return (
    <>
      {state === 'active' ? (
        <>
          <Button size="small" isBusy={test.isPending} onClick={() => test.mutate()}>
            Send a test event
          </Button>
          <Button size="small" onClick={() => setDialog('change')}>
            Change
          </Button>
          <Button size="small" onClick={() => setDialog('rotate')}>
            Replace the secret
          </Button>
          <Button size="small" onClick={() => setDialog('disable')}>
            Disable
          </Button>
        </>
      ) : (
        <>
          <Button size="small" isBusy={enable.isPending} onClick={() => enable.mutate()}>
            Enable
          </Button>
          <Button size="small" onClick={() => setDialog('change')}>
            Change
          </Button>
        </>
      )}
      <Button size="small" tone="danger" onClick={() => setDialog('delete')}>
        Delete
      </Button>
      {error && (
        <div className="basis-full">
          <ErrorNotice error={error} />
        </div>
      )}
      <ChangeWebhookDialog {...{ projectId, webhook }} isOpen={dialog === 'change'} onClose={close} />
      <RotateWebhookDialog {...{ projectId, webhook }} isOpen={dialog === 'rotate'} onClose={close} />
      <DisableWebhookDialog {...{ projectId, webhook }} isOpen={dialog === 'disable'} onClose={close} />
      <DeleteWebhookDialog {...{ projectId, webhook }} isOpen={dialog === 'delete'} onClose={close} />
    </>
  );
}
