import type { WebhookDelivery } from '@flywheel/api';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { deliveriesQuery, redeliver } from '../../lib/api/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { ErrorNotice, SkeletonLines } from '../../ui/feedback.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { TimeText } from '../../ui/text.tsx';

interface WebhookDeliveriesProps {
  readonly projectId: string;
  readonly webhookId: string;
  /** Whether they can be sent again. */
  readonly mayRepeat: boolean;
}

type State = WebhookDelivery['state'];

const FILTERS: readonly { readonly state: State | null; readonly word: string }[] = [
  { state: null, word: 'All' },
  { state: 'waiting', word: 'Waiting' },
  { state: 'failed', word: 'Failed' },
  { state: 'delivered', word: 'Delivered' },
];

/** What was sent to a webhook, how often, and what it answered. */
export function WebhookDeliveries({ projectId, webhookId, mayRepeat }: WebhookDeliveriesProps) {
  const [state, setState] = useState<State | null>(null);
  const query = useInfiniteQuery(deliveriesQuery(projectId, webhookId, state));
  const deliveries = query.data?.pages.flatMap((page) => page.deliveries);
  const again: Column<WebhookDelivery> = {
    name: 'Again',
    isPlain: true,
    isNarrow: true,
    render: (delivery) => <RedeliverButton projectId={projectId} webhookId={webhookId} delivery={delivery} />,
  };
  return (
    <div className="flex flex-col gap-2">
      <fieldset className="flex flex-wrap gap-1">
        <legend className="sr-only">Which deliveries</legend>
        {FILTERS.map((filter) => (
          <Button
            key={filter.word}
            size="small"
            tone={filter.state === state ? 'plain' : 'quiet'}
            aria-pressed={filter.state === state}
            onClick={() => setState(filter.state)}
          >
            {filter.word}
          </Button>
        ))}
      </fieldset>
      {query.error && <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />}
      {deliveries === undefined && !query.error && <SkeletonLines count={3} className="h-12" />}
      {deliveries?.length === 0 && (
        <p className="py-4 text-quiet">
          {state === null ? 'Nothing was sent yet. A test event shows that it arrives.' : 'There are none.'}
        </p>
      )}
      {deliveries !== undefined && deliveries.length > 0 && (
        <div className="rounded border">
          <Table
            label="WebhookDeliveries"
            columns={mayRepeat ? [...COLUMNS, again] : COLUMNS}
            rows={deliveries}
            keyOf={({ deliveryId }) => deliveryId}
            under={(delivery) => <DeliveryDetails delivery={delivery} />}
          />
        </div>
      )}
      {query.hasNextPage && (
        <div>
          <Button size="small" isBusy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show older
          </Button>
        </div>
      )}
    </div>
  );
}

const COLUMNS: readonly Column<WebhookDelivery>[] = [
  { name: 'Event', isPlain: true, render: ({ type }) => <code className="font-medium">{type}</code> },
  { name: 'State', render: (delivery) => <DeliveryState {...delivery} /> },
  { name: 'Answer', render: ({ status, lastAttemptAt }) => status ?? (lastAttemptAt === undefined ? '' : 'none') },
  { name: 'Attempts', isAmount: true, render: ({ attempts }) => attempts },
  { name: 'Happened', render: ({ dateCreated }) => <TimeText at={dateCreated} /> },
];

function DeliveryState({ state, attempts }: WebhookDelivery) {
  switch (state) {
    case 'waiting':
      return attempts === 0 ? (
        <StatusBadge status="running" label="On its way" />
      ) : (
        <StatusBadge status="waiting" label="Retry pending" />
      );
    case 'delivered':
      return <StatusBadge status="done" label="Delivered" />;
    case 'failed':
      return <StatusBadge status="failed" label="Given up" />;
    default:
      return state satisfies never;
  }
}

function DeliveryDetails({ delivery }: { readonly delivery: WebhookDelivery }) {
  const { eventId, payload, error, response, nextAttemptAt, attempts } = delivery;
  return (
    <div className="flex flex-col gap-2 text-sm">
      {error !== undefined && (
        <p className="break-words">
          {error}
          {nextAttemptAt !== undefined && attempts > 0 && (
            <>
              {' '}
              Next attempt at <TimeText at={nextAttemptAt} form="clock" />.
            </>
          )}
        </p>
      )}
      <details>
        <summary className="w-fit text-quiet">What was sent{response === undefined ? '' : ' and answered'}</summary>
        <div className="mt-2 flex flex-col gap-2">
          <CodeBlock label={`Sent as ${eventId}`} code={JSON.stringify(JSON.parse(payload), null, 2)} />
          {response !== undefined && <CodeBlock label="The beginning of the answer" code={response} />}
        </div>
      </details>
    </div>
  );
}

interface RedeliverButtonProps {
  readonly projectId: string;
  readonly webhookId: string;
  readonly delivery: WebhookDelivery;
}

function RedeliverButton({ projectId, webhookId, delivery: { deliveryId, type } }: RedeliverButtonProps) {
  const queries = useQueryClient();
  const repeat = useMutation({
    mutationFn: () => redeliver(projectId, webhookId, deliveryId),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['project', projectId, 'webhooks'] }),
  });
  return (
    <span className="flex flex-col gap-1">
      <Button
        size="small"
        aria-label={`Deliver again: ${type}`}
        isBusy={repeat.isPending}
        onClick={() => repeat.mutate()}
      >
        Deliver again
      </Button>
      {repeat.error && <ErrorNotice error={repeat.error} />}
    </span>
  );
}
