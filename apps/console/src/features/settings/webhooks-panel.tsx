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
  RotateWebhookDialog,
} from './webhook-dialogs.tsx';

interface WebhooksPanelProps {
  readonly projectId: string;
  readonly mayChange: boolean;
}

/** Whom the project has told what becomes of its batches. */
export function WebhooksPanel({ projectId, mayChange }: WebhooksPanelProps) {
  const webhooks = useQuery(webhooksQuery(projectId));
  const [isCreating, setCreating] = useState(false);
  return (
    <Panel
      title="Webhooks"
      aside={
        mayChange && (
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
              None: nobody is told what becomes of batches. A webhook posts it to your server, signed, and again until
              it is taken. <WebhooksGuideLink />
            </p>
          ) : (
            <ul className="flex flex-col divide-y">
              {found.map((webhook) => (
                <li key={webhook.webhookId} className="py-4 first:pt-0 last:pb-0">
                  <WebhookItem {...{ projectId, webhook, mayChange }} />
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
      How a server receives them
    </a>
  );
}

interface WebhookItemProps {
  readonly projectId: string;
  readonly webhook: Webhook;
  readonly mayChange: boolean;
}

/** A webhook: where it goes, what it is told, how that fares, and what can be done with it. */
function WebhookItem({ projectId, webhook, mayChange }: WebhookItemProps) {
  const [showsDeliveries, setShowsDeliveries] = useState(false);
  const { webhookId, url, events, state, disabledReason, previousSecretUntil } = webhook;
  const isActive = state === 'active';
  return (
    <article aria-label={`Webhook to ${url}`} className="flex flex-col gap-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <h3 className="min-w-0 font-mono text-sm font-medium break-all">{url}</h3>
        <WebhookStatus webhook={webhook} />
      </div>
      <p className="text-sm text-quiet">Told of {events.join(', ')}.</p>
      {previousSecretUntil !== undefined && (
        <p className="text-sm">
          Signed with the old secret too until <TimeText at={previousSecretUntil} />.
        </p>
      )}
      {!isActive && (
        <Notice tone="waiting" title="It is disabled: nothing is queued for it">
          {disabledReason ?? 'What waited before is sent when you enable it.'}
        </Notice>
      )}
      <div className="flex flex-wrap gap-2">
        <Button size="small" aria-expanded={showsDeliveries} onClick={() => setShowsDeliveries(!showsDeliveries)}>
          {showsDeliveries ? 'Hide the deliveries' : 'Deliveries'}
        </Button>
        {mayChange && (
          <WebhookActions projectId={projectId} webhook={webhook} onTested={() => setShowsDeliveries(true)} />
        )}
      </div>
      {showsDeliveries && (
        <WebhookDeliveries projectId={projectId} webhookId={webhookId} mayRepeat={mayChange && isActive} />
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
      return <StatusBadge status="done" label="Taking events" />;
    case 'failed':
      return <StatusBadge status="failed" label="The newest was given up" />;
    default:
      return newest satisfies never;
  }
}

interface WebhookActionsProps extends Omit<WebhookItemProps, 'mayChange'> {
  readonly onTested: () => void;
}

function WebhookActions({ projectId, webhook, onTested }: WebhookActionsProps) {
  const [asking, setAsking] = useState<'change' | 'rotate' | 'delete' | null>(null);
  const queries = useQueryClient();
  const { webhookId, state } = webhook;
  const look = () => queries.invalidateQueries({ queryKey: ['project', projectId] });
  const test = useMutation({
    mutationFn: () => testWebhook(projectId, webhookId),
    onSuccess: async () => {
      onTested();
      await look();
    },
  });
  const turn = useMutation({
    mutationFn: (to: Webhook['state']) => changeWebhook(projectId, webhookId, { state: to }),
    onSuccess: look,
  });
  const close = () => setAsking(null);
  const error = test.error ?? turn.error;
  return (
    <>
      {state === 'active' ? (
        <>
          <Button size="small" isBusy={test.isPending} onClick={() => test.mutate()}>
            Send a test event
          </Button>
          <Button size="small" onClick={() => setAsking('change')}>
            Change
          </Button>
          <Button size="small" onClick={() => setAsking('rotate')}>
            Replace the secret
          </Button>
          <Button size="small" isBusy={turn.isPending} onClick={() => turn.mutate('disabled')}>
            Disable
          </Button>
        </>
      ) : (
        <>
          <Button size="small" isBusy={turn.isPending} onClick={() => turn.mutate('active')}>
            Enable
          </Button>
          <Button size="small" onClick={() => setAsking('change')}>
            Change
          </Button>
        </>
      )}
      <Button size="small" tone="danger" onClick={() => setAsking('delete')}>
        Delete
      </Button>
      {error && (
        <div className="basis-full">
          <ErrorNotice error={error} />
        </div>
      )}
      <ChangeWebhookDialog {...{ projectId, webhook }} isOpen={asking === 'change'} onClose={close} />
      <RotateWebhookDialog {...{ projectId, webhook }} isOpen={asking === 'rotate'} onClose={close} />
      <DeleteWebhookDialog {...{ projectId, webhook }} isOpen={asking === 'delete'} onClose={close} />
    </>
  );
}
