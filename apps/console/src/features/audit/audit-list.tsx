import type { AuditEntry, InShard } from '@flywheel/api';
import { shorten } from '@flywheel/protocol';
import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ArrowRight } from 'lucide-react';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice, Loading, SkeletonLines } from '../../ui/feedback.tsx';
import { AddressText, MessageText, TimeText } from '../../ui/text.tsx';
import { describeEntry, type ShownChange } from './describe-entry.ts';

export interface AuditListProps {
  readonly history: UseInfiniteQueryResult<InfiniteData<{ readonly entries: readonly ListedEntry[] }>>;
  /** Shows the project of each entry, for a list across projects: the names of the projects by their ids, as far as known. */
  readonly projectNames?: ReadonlyMap<string, string>;
  /** Shows the shard of each entry, for a list across shards. */
  readonly showsShard?: boolean;
  readonly emptyText: string;
}

type ListedEntry = AuditEntry & Partial<InShard<AuditEntry>>;

/** Lists who changed what and when, with old and new values; loads one page at a time. */
export function AuditList({ history, projectNames, showsShard = false, emptyText }: AuditListProps) {
  const entries = history.data?.pages.flatMap((page) => page.entries);
  if (!entries) {
    if (history.error) return <ErrorNotice error={history.error} onRetry={() => void history.refetch()} />;
    return (
      <Loading>
        <SkeletonLines count={4} className="h-14" />
      </Loading>
    );
  }
  if (entries.length === 0) return <p className="text-quiet">{emptyText}</p>;
  return (
    <div className="flex flex-col gap-3">
      <ul className="flex flex-col divide-y">
        {entries.map((entry) => (
          <li key={`${entry.shard ?? ''} ${entry.id}`} className="py-3 first:pt-0">
            <Entry {...{ entry, projectNames, showsShard }} />
          </li>
        ))}
      </ul>
      {history.error && <ErrorNotice error={history.error} onRetry={() => void history.fetchNextPage()} />}
      {history.hasNextPage && (
        <div>
          <Button isBusy={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
            Load more
          </Button>
        </div>
      )}
    </div>
  );
}

interface EntryProps {
  readonly entry: ListedEntry;
  readonly projectNames: ReadonlyMap<string, string> | undefined;
  readonly showsShard: boolean;
}

function Entry({ entry, projectNames, showsShard }: EntryProps) {
  const { at, actor, projectId, batchId, subject, reason, shard } = entry;
  const { title, changes } = describeEntry(entry);
  return (
    <div className="flex flex-col gap-1">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <p className="font-medium">
          {title}
          {projectId !== undefined && batchId !== undefined && (
            <Link
              to="/p/$projectId/batches/$batchId"
              params={{ projectId, batchId }}
              className="tap inline-flex min-h-6 items-center ml-2 font-normal text-accent underline underline-offset-2"
            >
              View batch
            </Link>
          )}
        </p>
        <span className="text-sm text-quiet">
          <TimeText at={at} />
        </span>
      </div>
      <p className="flex flex-wrap items-baseline gap-x-3 text-sm text-quiet">
        <span>
          by <AddressText address={actor} of="wallet" />
        </span>
        {subject !== undefined && <span className="font-mono text-xs">{shorten(subject)}</span>}
        {projectNames && projectId !== undefined && (
          <Link
            to="/p/$projectId"
            params={{ projectId }}
            className="tap inline-flex min-h-6 items-center underline underline-offset-2"
          >
            project {projectNames.get(projectId) ?? shorten(projectId)}
          </Link>
        )}
        {showsShard && shard !== undefined && <span>shard {shard}</span>}
      </p>
      {reason !== undefined && <p className="break-words">“{reason}”</p>}
      {changes.length > 0 && <Changes changes={changes} />}
    </div>
  );
}

function Changes({ changes }: { readonly changes: readonly ShownChange[] }) {
  return (
    <dl className="mt-1 grid gap-x-4 gap-y-1 text-sm sm:grid-cols-[auto_1fr]">
      {changes.map(({ name, before, after }) => (
        <div key={name} className="contents">
          <dt className="text-quiet max-sm:mt-1">{name}</dt>
          <dd className="tabular flex min-w-0 flex-wrap items-center gap-x-2 break-all">
            {before !== null && (
              <s className="text-quiet">
                <MessageText text={before} />
              </s>
            )}
            {before !== null && <ArrowRight size={13} aria-label="to" className="shrink-0 text-quiet" />}
            <span>
              <MessageText text={after ?? 'none'} />
            </span>
          </dd>
        </div>
      ))}
    </dl>
  );
}
