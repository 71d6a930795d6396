import type { BatchRow as Row } from '@flywheel/api';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { classes } from '../../../ui/classes.ts';
import { useIsWide } from '../../../ui/use-is-wide.ts';
import { BatchRow, COLUMNS } from './batch-row.tsx';
import { useRowKeys } from './use-row-keys.ts';

/** A line of a table; a card with four of them. */
const ROW_PX = { wide: 60, narrow: 172 } as const;
/** Asked for before the last row is seen, so that scrolling does not stop. */
const ROWS_AHEAD = 15;
/** Shown below the last row while more is coming. */
const COMING_ROWS = 4;
/** The page’s own head covers the top of the window. */
const HEAD_PX = 56;

export interface BatchTableProps {
  readonly projectId: string;
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  readonly onMore: () => void;
}

/** Batches as a table that only holds what is seen, however many there are. */
export function BatchTable({ projectId, rows, hasMore, onMore }: BatchTableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const isWide = useIsWide();
  const [scrollMargin, setScrollMargin] = useState(0);
  useLayoutEffect(() => {
    if (body.current) setScrollMargin(body.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  const rowPx = isWide ? ROW_PX.wide : ROW_PX.narrow;
  const virtual = useWindowVirtualizer({
    count: rows.length + (hasMore ? COMING_ROWS : 0),
    estimateSize: () => rowPx,
    overscan: 8,
    scrollMargin,
    scrollPaddingStart: HEAD_PX,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the estimate is read anew when the rows are of another height.
  useEffect(() => virtual.measure(), [rowPx]);
  const items = virtual.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastSeen >= rows.length - ROWS_AHEAD) onMore();
  }, [hasMore, lastSeen, rows.length, onMore]);
  useRowKeys({ count: rows.length, onGoTo: (index) => virtual.scrollToIndex(index, { align: 'auto' }) });
  return (
    <table aria-label="Batches" aria-rowcount={hasMore ? -1 : rows.length + 1} className="block">
      <TableHead />
      <tbody
        ref={body}
        className="relative block overflow-hidden rounded-lg border bg-raised md:rounded-t-none"
        style={{ height: virtual.getTotalSize() }}
      >
        {items.map(({ index, start }) => {
          const row = rows[index];
          const place = { height: rowPx, transform: `translateY(${start - scrollMargin}px)` };
          return row ? (
            <BatchRow key={row.id} projectId={projectId} row={row} index={index} place={place} />
          ) : (
            <RowSkeleton key={index} place={place} />
          );
        })}
      </tbody>
    </table>
  );
}

const HEADS = [
  { name: 'State', className: 'text-left' },
  { name: 'Time', className: 'text-left' },
  { name: 'What it does', className: 'text-left' },
  { name: 'Pipelines', className: 'text-right' },
  { name: 'Burned', className: 'text-right' },
  { name: 'Airdropped', className: 'text-right' },
  { name: 'Cost', className: 'text-right' },
] as const;

function TableHead() {
  return (
    <thead className="hidden md:block">
      <tr className={classes('h-10 rounded-t-lg border border-b-0 bg-sunken text-sm text-quiet', COLUMNS)}>
        {HEADS.map(({ name, className }) => (
          <th key={name} scope="col" className={classes('font-normal', className)}>
            {name}
          </th>
        ))}
      </tr>
    </thead>
  );
}

/** A row where one will be. */
function RowSkeleton({ place }: { readonly place: CSSProperties }) {
  return (
    <tr
      aria-hidden
      style={place}
      className={classes('absolute inset-x-0 top-0 flex flex-col justify-center gap-3 border-b px-4', COLUMNS)}
    >
      {HEADS.map(({ name }) => (
        <td key={name} className="skeleton h-4 first:h-6 md:first:h-8" />
      ))}
    </tr>
  );
}

const FIRST_ROWS = 6;

/** The table before anything is known of it, of the same size. */
export function TableSkeleton() {
  const isWide = useIsWide();
  const rowPx = isWide ? ROW_PX.wide : ROW_PX.narrow;
  return (
    <div aria-busy="true">
      <span role="status" className="sr-only">
        Loading
      </span>
      <table aria-hidden className="block">
        <TableHead />
        <tbody
          className="relative block overflow-hidden rounded-lg border bg-raised md:rounded-t-none"
          style={{ height: rowPx * FIRST_ROWS }}
        >
          {Array.from({ length: FIRST_ROWS }, (_, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike and never move.
            <RowSkeleton key={row} place={{ height: rowPx, transform: `translateY(${row * rowPx}px)` }} />
          ))}
        </tbody>
      </table>
    </div>
  );
}
