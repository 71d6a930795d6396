import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Plus } from 'lucide-react';
import { useCallback } from 'react';
import { type BatchFilter, batchesQuery } from '../../lib/service/batches.ts';
import { classes } from '../../ui/classes.ts';
import { CodeBlock } from '../../ui/copy/code-block.tsx';
import { Button, ButtonLink } from '../../ui/form/button.tsx';
import { Empty } from '../../ui/state/empty.tsx';
import { ErrorNotice } from '../../ui/state/notice.tsx';
import { Page } from '../../ui/state/page.tsx';
import { BatchTable, TableSkeleton } from './batch-table.tsx';

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

interface FilterChipsProps {
  readonly current: Filter;
  readonly onChange: (filter: Filter) => void;
}

/** Which batches are listed; one at a time. */
function FilterChips({ current, onChange }: FilterChipsProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset does not scroll sideways.
    <div role="group" aria-label="Show" className="-mx-4 flex gap-2 overflow-x-auto px-4 py-1">
      {FILTERS.map((filter) => {
        const isCurrent = filter.name === current.name;
        return (
          <button
            key={filter.name}
            type="button"
            aria-pressed={isCurrent}
            onClick={() => onChange(filter)}
            className={classes(
              'h-9 shrink-0 rounded-full border px-3.5 text-sm whitespace-nowrap md:h-8',
              isCurrent
                ? 'border-accent bg-accent-wash font-medium text-accent'
                : 'bg-raised text-quiet hover:text-ink',
            )}
          >
            {filter.word}
          </button>
        );
      })}
    </div>
  );
}

/** What a chip shows, as it stands in the address of the screen. */
type FilterName = 'all' | 'you' | 'company' | 'setup' | 'open' | 'executed' | 'failed';

interface Filter {
  readonly name: FilterName;
  readonly word: string;
  readonly asks: BatchFilter;
}

/** Where no filter is chosen. */
const EVERYTHING: Filter = { name: 'all', word: 'All', asks: {} };

/** In the order in which people look for them. */
const FILTERS: readonly Filter[] = [
  EVERYTHING,
  { name: 'you', word: 'Waiting for you', asks: { waitsFor: 'wallet' } },
  { name: 'company', word: 'With the company', asks: { waitsFor: 'company' } },
  { name: 'setup', word: 'Setting up', asks: { status: 'AVAILABLE_TO_QUEUE' } },
  { name: 'open', word: 'Set up', asks: { status: 'FINALIZED' } },
  { name: 'executed', word: 'Executed', asks: { status: 'EXECUTED' } },
  { name: 'failed', word: 'Failed', asks: { status: 'FAILED' } },
];

/** The filter of that name; everything for any other text. */
function findFilter(name: string | undefined): Filter {
  return FILTERS.find((filter) => filter.name === name) ?? EVERYTHING;
}
