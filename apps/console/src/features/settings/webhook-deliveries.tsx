import type { WebhookDelivery } from '@flywheel/api';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { deliveriesQuery, redeliver } from '../../lib/api/webhooks.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { ErrorNotice, Loading, SkeletonLines } from '../../ui/feedback.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { TimeText } from '../../ui/text.tsx';

interface WebhookDeliveriesProps {
  readonly projectId: string;
  readonly webhookId: string;
  /** True if deliveries can be sent again. */
  readonly canRedeliver: boolean;
}

type State = WebhookDelivery['state'];

const FILTERS: readonly { readonly state: State | null; readonly word: string }[] = [
  { state: null, word: 'All' },
  { state: 'waiting', word: 'Waiting' },
  { state: 'failed', word: 'Failed' },
  { state: 'delivered', word: 'Delivered' },
];

/** Lists the deliveries to a webhook: payload, attempts, response. */
export function WebhookDeliveries({ projectId, webhookId, canRedeliver }: WebhookDeliveriesProps) {
  const [state, setState] = useState<State | null>(null);
  const query = useInfiniteQuery(deliveriesQuery(projectId, webhookId, state));
  const deliveries = query.data?.pages.flatMap((page) => page.deliveries);
  const redeliverColumn: Column<WebhookDelivery> = {
    name: 'Actions',
    isPlain: true,
    isNarrow: true,
    render: (delivery) => <RedeliverButton projectId={projectId} webhookId={webhookId} delivery={delivery} />,
  };
  return (
    <div className="flex flex-col gap-2">
      <fieldset className="flex flex-wrap gap-1">
        <legend className="sr-only">Filter deliveries</legend>
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
      {deliveries === undefined && !query.error && (
        <Loading>
          <SkeletonLines count={3} className="h-12" />
        </Loading>
      )}
      {deliveries?.length === 0 && (
        <p className="py-4 text-quiet">
          {state === null ? 'No deliveries yet. Send a test event to try the webhook.' : 'No deliveries in this state.'}
        </p>
      )}
      {deliveries !== undefined && deliveries.length > 0 && (
        <div className="rounded border">
          <Table
            label="Deliveries"
            columns={canRedeliver ? [...COLUMNS, redeliverColumn] : COLUMNS}
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
  { name: 'Response', render: ({ status, lastAttemptAt }) => status ?? (lastAttemptAt === undefined ? '' : 'None') },
  { name: 'Attempts', isAmount: true, render: ({ attempts }) => attempts },
  { name: 'Created', render: ({ dateCreated }) => <TimeText at={dateCreated} /> },
];

function DeliveryState({ state, attempts }: WebhookDelivery) {
  switch (state) {
    case 'waiting':
      return attempts === 0 ? (
        <StatusBadge status="running" label="Sending" />
      ) : (
        <StatusBadge status="waiting" label="Retry pending" />
      );
    case 'delivered':
      return <StatusBadge status="done" label="Delivered" />;
    case 'failed':
      return <StatusBadge status="failed" label="Failed" />;
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
              Next attempt at <TimeText at={nextAttemptAt} />.
            </>
          )}
        </p>
      )}
      <details>
        <summary className="w-fit text-quiet">{response === undefined ? 'Request' : 'Request and response'}</summary>
        <div className="mt-2 flex flex-col gap-2">
          <CodeBlock label={`Request ${eventId}`} code={JSON.stringify(JSON.parse(payload), null, 2)} />
          {response !== undefined && <CodeBlock label="Start of the response" code={response} />}
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
      <Button size="small" aria-label={`Redeliver: ${type}`} isBusy={repeat.isPending} onClick={() => repeat.mutate()}>
        Redeliver
      </Button>
      {repeat.error && <ErrorNotice error={repeat.error} />}
    </span>
  );
}
