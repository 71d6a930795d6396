import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useCallback } from 'react';
import { type BatchFilter, batchesQuery } from '../../lib/api/batches.ts';
import { projectQuery, useMayCreateBatch } from '../../lib/api/projects.ts';
import { tokenUnit } from '../../lib/format.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { cn } from '../../ui/cn.ts';
import { EmptyState, ErrorNotice } from '../../ui/feedback.tsx';
import { Page } from '../../ui/layout.tsx';
import { NoBatches } from './batch-status.tsx';
import { BatchTable, TableSkeleton } from './batch-table.tsx';

/** The list of a project’s batches, filtered by state. */
export function Batches() {
  const { projectId } = useParams({ from: '/p/$projectId/batches' });
  const { show } = useSearch({ from: '/p/$projectId/batches' });
  const navigate = useNavigate();
  const mayCreate = useMayCreateBatch(projectId);
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
        mayCreate && (
          <ButtonLink to="/p/$projectId/new" params={{ projectId }} tone="primary">
            <Plus size={16} aria-hidden /> New batch
          </ButtonLink>
        )
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
  const batches = useInfiniteQuery(batchesQuery(projectId, filter.query));
  const { data: project } = useQuery(projectQuery(projectId));
  const unit = project === undefined ? 'tokens' : tokenUnit(project.token);
  const { fetchNextPage, isFetching, isFetchNextPageError } = batches;
  const loadMore = useCallback(() => {
    if (!isFetching && !isFetchNextPageError) void fetchNextPage();
  }, [fetchNextPage, isFetching, isFetchNextPageError]);
  if (!batches.data) {
    if (batches.error) return <ErrorNotice error={batches.error} onRetry={() => void batches.refetch()} />;
    return <TableSkeleton unit={unit} />;
  }
  const rows = batches.data.pages.flatMap((page) => page.batches);
  if (rows.length === 0) return <EmptyList projectId={projectId} filter={filter} onShowAll={onShowAll} />;
  return (
    <>
      <BatchTable projectId={projectId} unit={unit} rows={rows} hasMore={batches.hasNextPage} onMore={loadMore} />
      {isFetchNextPageError && <ErrorNotice error={batches.error} onRetry={() => void fetchNextPage()} />}
    </>
  );
}

interface EmptyListProps {
  readonly projectId: string;
  readonly filter: Filter;
  readonly onShowAll: () => void;
}

function EmptyList({ projectId, filter, onShowAll }: EmptyListProps) {
  if (filter.name !== EVERYTHING.name) {
    return (
      <EmptyState title={filter.emptyTitle}>
        <p>Other batches of this project may be in another state.</p>
        <Button onClick={onShowAll}>Show all batches</Button>
      </EmptyState>
    );
  }
  return <NoBatches projectId={projectId} />;
}

interface FilterChipsProps {
  readonly current: Filter;
  readonly onChange: (filter: Filter) => void;
}

/** Chooses the filter. */
function FilterChips({ current, onChange }: FilterChipsProps) {
  return (
    <fieldset aria-label="Filter" className="-mx-4 flex min-w-0 gap-2 overflow-x-auto px-4 py-1">
      {FILTERS.map((filter) => {
        const isCurrent = filter.name === current.name;
        return (
          <button
            key={filter.name}
            type="button"
            aria-pressed={isCurrent}
            onClick={() => onChange(filter)}
            className={cn(
              'h-11 shrink-0 rounded-full border px-3.5 text-sm whitespace-nowrap md:h-8',
              isCurrent
                ? 'border-accent bg-accent-wash font-medium text-accent'
                : 'bg-raised text-quiet hover:text-ink',
            )}
          >
            {filter.word}
          </button>
        );
      })}
    </fieldset>
  );
}

/** Name of a filter in the URL. */
type FilterName = 'all' | 'you' | 'company' | 'setup' | 'open' | 'executed' | 'failed';

interface Filter {
  readonly name: FilterName;
  readonly word: string;
  readonly emptyTitle: string;
  readonly query: BatchFilter;
}

const EVERYTHING: Filter = { name: 'all', word: 'All', emptyTitle: 'No batches yet', query: {} };

/** In the order of the chips. */
const FILTERS: readonly Filter[] = [
  EVERYTHING,
  { name: 'you', word: 'Waiting for you', emptyTitle: 'No batches waiting for you', query: { waitsFor: 'wallet' } },
  {
    name: 'company',
    word: 'Waiting for the company',
    emptyTitle: 'No batches waiting for the company',
    query: { waitsFor: 'company' },
  },
  { name: 'setup', word: 'Setting up', emptyTitle: 'No batches being set up', query: { status: 'AVAILABLE_TO_QUEUE' } },
  { name: 'open', word: 'Set up on chain', emptyTitle: 'No batches set up on chain', query: { status: 'FINALIZED' } },
  { name: 'executed', word: 'Executed', emptyTitle: 'No executed batches', query: { status: 'EXECUTED' } },
  { name: 'failed', word: 'Failed', emptyTitle: 'No failed batches', query: { status: 'FAILED' } },
];

/** Finds a filter by its name; All for any other text. */
function findFilter(name: string | undefined): Filter {
  return FILTERS.find((filter) => filter.name === name) ?? EVERYTHING;
}
