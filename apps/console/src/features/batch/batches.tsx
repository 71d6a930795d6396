import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useCallback } from 'react';
import { batchesQuery } from '../../lib/service/batches.ts';
import { CodeBlock } from '../../ui/copy/code-block.tsx';
import { Button, ButtonLink } from '../../ui/form/button.tsx';
import { Empty } from '../../ui/state/empty.tsx';
import { ErrorNotice } from '../../ui/state/notice.tsx';
import { Page } from '../../ui/state/page.tsx';
import { BatchTable, TableSkeleton } from './list/batch-table.tsx';
import { FilterChips } from './list/filter-chips.tsx';
import { EVERYTHING, type Filter, findFilter } from './list/filters.ts';

/** A project’s batches: every one, or those that wait for you. */
export function Batches() {
  const { projectId } = useParams({ from: '/p/$projectId/batches' });
  const { show } = useSearch({ from: '/p/$projectId/batches' });
  const navigate = useNavigate();
  const filter = findFilter(show);
  const choose = ({ name }: Filter) =>
    void navigate({
      to: '/p/$projectId/batches',
      params: { projectId },
      search: name === EVERYTHING.name ? {} : { show: name },
      replace: true,
    });
  return (
    <Page
      title="Batches"
      action={
        <ButtonLink to="/p/$projectId/new" params={{ projectId }} tone="primary">
          <Plus size={16} aria-hidden /> New batch
        </ButtonLink>
      }
    >
      <div className="flex flex-col gap-4">
        <FilterChips current={filter} onChange={choose} />
        <BatchList key={filter.name} projectId={projectId} filter={filter} onShowAll={() => choose(EVERYTHING)} />
      </div>
    </Page>
  );
}

interface BatchListProps {
  readonly projectId: string;
  readonly filter: Filter;
  readonly onShowAll: () => void;
}

function BatchList({ projectId, filter, onShowAll }: BatchListProps) {
  const batches = useInfiniteQuery(batchesQuery(projectId, filter.asks));
  const { fetchNextPage, isFetching, isFetchNextPageError } = batches;
  const readOn = useCallback(() => {
    if (!isFetching && !isFetchNextPageError) void fetchNextPage();
  }, [fetchNextPage, isFetching, isFetchNextPageError]);
  if (!batches.data) {
    if (batches.error) return <ErrorNotice error={batches.error} onRetry={() => void batches.refetch()} />;
    return <TableSkeleton />;
  }
  const rows = batches.data.pages.flatMap((page) => page.batches);
  if (rows.length === 0) return <NoBatch projectId={projectId} filter={filter} onShowAll={onShowAll} />;
  return (
    <>
      <BatchTable projectId={projectId} rows={rows} hasMore={batches.hasNextPage} onMore={readOn} />
      {isFetchNextPageError && <ErrorNotice error={batches.error} onRetry={() => void fetchNextPage()} />}
    </>
  );
}

interface NoBatchProps {
  readonly projectId: string;
  readonly filter: Filter;
  readonly onShowAll: () => void;
}

function NoBatch({ projectId, filter, onShowAll }: NoBatchProps) {
  if (filter.name !== EVERYTHING.name) {
    return (
      <Empty title={filter.name === 'you' ? 'Nothing waits for you' : `No batch: ${filter.word.toLowerCase()}`}>
        <p>This project may have others.</p>
        <Button onClick={onShowAll}>Show all batches</Button>
      </Empty>
    );
  }
  return (
    <Empty title="No batch yet">
      <p>A batch is what your users did, compiled to transactions that two votes let run. The first one, by API:</p>
      <div className="w-full text-left">
        <CodeBlock label="With one of the project’s API keys" code={firstBatch()} />
      </div>
      <ButtonLink to="/p/$projectId/new" params={{ projectId }}>
        Or compose one here
      </ButtonLink>
    </Empty>
  );
}

function firstBatch(): string {
  return `KEY=fwk_…
curl ${location.origin}/v1/flywheel/batch/init \\
  -H "x-service-api-key: $KEY" \\
  -H "x-idempotency-key: $(uuidgen)" \\
  --json '{"pipelines":[{"type":"WATCH_AD","payload":"{\\"adId\\":\\"1\\"}","actions":[{"action":"BURN","amount":1}]}]}'`;
}
