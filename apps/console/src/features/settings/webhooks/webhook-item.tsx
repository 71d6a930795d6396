import type { Webhook } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { changeWebhook, testWebhook } from '../../../lib/service/webhooks.ts';
import { Button } from '../../../ui/form/button.tsx';
import { StateMark } from '../../../ui/show/state-mark.tsx';
import { TimeText } from '../../../ui/show/time-text.tsx';
import { ErrorNotice, Notice } from '../../../ui/state/notice.tsx';
import { ChangeWebhookDialog } from './change-webhook-dialog.tsx';
import { DeleteWebhookDialog } from './delete-webhook-dialog.tsx';
import { Deliveries } from './deliveries.tsx';
import { RotateWebhookDialog } from './rotate-webhook-dialog.tsx';

export interface WebhookItemProps {
  readonly projectId: string;
  readonly webhook: Webhook;
  readonly mayChange: boolean;
}

/** A webhook: where it goes, what it is told, how that fares, and what can be done with it. */
export function WebhookItem({ projectId, webhook, mayChange }: WebhookItemProps) {
  const [showsDeliveries, setShowsDeliveries] = useState(false);
  const { webhookId, url, events, state, disabledReason, previousSecretUntil } = webhook;
  const isActive = state === 'active';
  return (
    <article aria-label={`Webhook to ${url}`} className="flex flex-col gap-3">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1">
        <h3 className="min-w-0 font-mono text-sm font-medium break-all">{url}</h3>
        <Standing webhook={webhook} />
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
        {mayChange && <Actions projectId={projectId} webhook={webhook} onTested={() => setShowsDeliveries(true)} />}
      </div>
      {showsDeliveries && <Deliveries projectId={projectId} webhookId={webhookId} mayRepeat={mayChange && isActive} />}
    </article>
  );
}

function Standing({ webhook: { state, newestDelivery } }: Pick<WebhookItemProps, 'webhook'>) {
  if (state === 'disabled') return <StateMark state="waiting" word="Disabled" />;
  const newest = newestDelivery?.state;
  switch (newest) {
    case undefined:
      return <StateMark state="waiting" word="Nothing sent yet" />;
    case 'waiting':
      return <StateMark state="running" word="Delivering" />;
    case 'delivered':
      return <StateMark state="done" word="Taking events" />;
    case 'failed':
      return <StateMark state="failed" word="The newest was given up" />;
    default:
      return newest satisfies never;
  }
}

interface ActionsProps extends Omit<WebhookItemProps, 'mayChange'> {
  readonly onTested: () => void;
}

function Actions({ projectId, webhook, onTested }: ActionsProps) {
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
