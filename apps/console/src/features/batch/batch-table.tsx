// biome-ignore-all lint/a11y/noRedundantRoles: CSS changes the display of the table, which removes the implicit roles.
import type { BatchRow as Row } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import {
  type CSSProperties,
  type KeyboardEvent,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { formatSol } from '../../lib/amounts.ts';
import { useOwnsProject } from '../../lib/api/projects.ts';
import { unitBeside } from '../../lib/format.ts';
import { ActionMixBar } from '../../ui/charts.tsx';
import { cn } from '../../ui/cn.ts';
import { Loading } from '../../ui/feedback.tsx';
import { Ring } from '../../ui/ring.tsx';
import { STATUS_COLORS } from '../../ui/status.ts';
import { AmountText, Digits, TimeText } from '../../ui/text.tsx';
import {
  amountStage,
  batchKindName,
  batchState,
  costOfRow,
  hasPipelines,
  WITHDRAWAL_NAMES,
  withdrawnUnit,
} from './batch-summary.ts';

/** Height of a table row, and of the cards on a phone, which are as high as what a batch of their kind shows. */
const ROW_PX = { wide: 60, pipelines: 240, withdrawal: 156, rotation: 124 } as const;
/** The next page is fetched this many rows before the end, so that scrolling does not stop. */
const ROWS_AHEAD = 15;
/** Placeholder rows below the last row while the next page loads. */
const LOADING_ROWS = 4;
/** The header covers the top of the window. */
const HEAD_PX = 56;

interface BatchTableProps {
  readonly projectId: string;
  /** Symbol of the token, or `tokens`. */
  readonly unit: string;
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
  readonly onMore: () => void;
}

/** Virtual table of batches: only the visible rows are in the DOM. */
export function BatchTable({ projectId, unit, rows, hasMore, onMore }: BatchTableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const isWide = useIsWide();
  const [scrollMargin, setScrollMargin] = useState(0);
  useLayoutEffect(() => {
    if (body.current) setScrollMargin(body.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  const virtual = useWindowVirtualizer({
    count: rows.length + (hasMore ? LOADING_ROWS : 0),
    estimateSize: (index) => rowHeight(rows[index], isWide),
    overscan: 8,
    scrollMargin,
    scrollPaddingStart: HEAD_PX,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights change with the screen width and the rows.
  useLayoutEffect(() => virtual.measure(), [isWide, rows]);
  const items = virtual.getVirtualItems();
  const lastSeen = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && lastSeen >= rows.length - ROWS_AHEAD) onMore();
  }, [hasMore, lastSeen, rows.length, onMore]);
  const moveFocus = (event: KeyboardEvent) => {
    const next = nextRow(event, rows.length);
    if (next === null) return;
    event.preventDefault();
    virtual.scrollToIndex(next, { align: 'auto' });
    focusRow(next);
  };
  return (
    <table
      role="table"
      aria-label="Batches"
      aria-rowcount={hasMore ? -1 : rows.length + 1}
      className="block"
      onKeyDown={moveFocus}
    >
      <TableHead unit={unit} />
      <tbody
        ref={body}
        role="rowgroup"
        className="relative block overflow-hidden rounded-lg border bg-raised md:rounded-t-none"
        style={{ height: virtual.getTotalSize() }}
      >
        {items.map(({ index, start, size }) => {
          const row = rows[index];
          const style = { height: size, transform: `translateY(${start - scrollMargin}px)` };
          return row ? (
            <BatchRow key={row.id} projectId={projectId} unit={unit} row={row} index={index} style={style} />
          ) : (
            <RowSkeleton key={index} style={style} />
          );
        })}
      </tbody>
    </table>
  );
}

/** Height of a row; a placeholder is as high as a batch of pipelines. */
function rowHeight(row: Row | undefined, isWide: boolean): number {
  if (isWide) return ROW_PX.wide;
  if (row === undefined || hasPipelines(row)) return ROW_PX.pipelines;
  return row.withdrawal ? ROW_PX.withdrawal : ROW_PX.rotation;
}

const HEADS = [
  { name: 'State', className: 'text-left' },
  { name: 'Created', className: 'text-left' },
  { name: 'Types', className: 'text-left' },
  { name: 'Pipelines', className: 'text-right' },
  { name: 'Burn', className: 'text-right', isAmount: true },
  { name: 'Airdrop', className: 'text-right', isAmount: true },
  { name: 'Operator cost', className: 'text-right' },
] as const;

function TableHead({ unit }: { readonly unit: string }) {
  return (
    <thead role="rowgroup" className="hidden md:block">
      <tr role="row" className={cn('h-10 rounded-t-lg border border-b-0 bg-sunken text-sm text-quiet', COLUMNS)}>
        {HEADS.map(({ name, className, ...head }) => (
          <th key={name} role="columnheader" scope="col" className={cn('font-normal', className)}>
            {name}
            {'isAmount' in head && `, ${unit}`}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function RowSkeleton({ style }: { readonly style: CSSProperties }) {
  return (
    <tr
      aria-hidden
      style={style}
      className={cn('absolute inset-x-0 top-0 flex flex-col justify-center gap-3 border-b px-4', COLUMNS)}
    >
      {HEADS.map(({ name }) => (
        <td key={name} className="skeleton h-4 first:h-6 md:first:h-8" />
      ))}
    </tr>
  );
}

const FIRST_ROWS = 6;

/** Placeholder of the same size while the table loads. */
export function TableSkeleton({ unit }: Pick<BatchTableProps, 'unit'>) {
  const isWide = useIsWide();
  const rowPx = rowHeight(undefined, isWide);
  return (
    <Loading>
      <table aria-hidden className="block">
        <TableHead unit={unit} />
        <tbody
          className="relative block overflow-hidden rounded-lg border bg-raised md:rounded-t-none"
          style={{ height: rowPx * FIRST_ROWS }}
        >
          {Array.from({ length: FIRST_ROWS }, (_, row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike and never move.
            <RowSkeleton key={row} style={{ height: rowPx, transform: `translateY(${row * rowPx}px)` }} />
          ))}
        </tbody>
      </table>
    </Loading>
  );
}

/** Head, rows and placeholders share these columns, so that nothing moves when rows arrive. */
const COLUMNS =
  'md:grid md:grid-cols-[minmax(140px,1.4fr)_112px_minmax(48px,0.8fr)_64px_minmax(72px,1fr)_minmax(72px,1fr)_minmax(108px,1.5fr)] md:items-center md:gap-3 md:px-4 lg:grid-cols-[minmax(190px,1.3fr)_150px_minmax(48px,0.4fr)_64px_minmax(72px,1fr)_minmax(72px,1fr)_220px] lg:gap-4';

interface BatchRowProps extends Pick<BatchTableProps, 'projectId' | 'unit'> {
  readonly row: Row;
  readonly index: number;
  /** Height and position of the row in the virtual list. */
  readonly style: CSSProperties;
}

/** Shows a batch as a table row, or as a card on a phone; all of it links to the batch. */
function BatchRow({ projectId, unit, row, index, style }: BatchRowProps) {
  const isOwner = useOwnsProject(projectId);
  const { state, word, closed } = batchState({ ...row, isBlocked: row.problem !== undefined, isOwner });
  const about = row.problem ?? (hasPipelines(row) ? row.types.join(', ') : '');
  return (
    <tr
      role="row"
      aria-rowindex={index + 2}
      style={style}
      className={cn(
        'absolute inset-x-0 top-0 flex flex-col justify-center gap-2.5 border-b px-4 last:border-b-0 hover:bg-sunken has-[:focus-visible]:bg-sunken',
        COLUMNS,
      )}
    >
      <td role="cell" className="flex min-w-0 items-center gap-2.5">
        <Ring size={22} progress={closed} isSpinning={state === 'running'} className={STATUS_COLORS[state]} />
        <span className="min-w-0 flex-1">
          <Link
            to="/p/$projectId/batches/$batchId"
            params={{ projectId, batchId: row.id }}
            data-row={index}
            className={cn('font-medium outline-offset-4 after:absolute after:inset-0', STATUS_COLORS[state])}
          >
            {word}
          </Link>
          <span className="block truncate text-xs text-quiet">
            {batchKindName(row.kind)} {row.batchIndex}
            {about !== '' && ` · ${about}`}
          </span>
        </span>
        <span className="text-xs text-quiet md:hidden">
          <TimeText at={row.dateCreated} />
        </span>
      </td>
      <td role="cell" className="hidden text-sm md:block [&_time]:whitespace-normal">
        <TimeText at={row.dateCreated} />
      </td>
      <td role="cell" className={cn('flex items-center gap-3', !hasPipelines(row) && 'max-md:hidden')}>
        {hasPipelines(row) && (
          <ActionMixBar burns={row.actions.burn} airdrops={row.actions.airdrop} memos={row.actions.memo} />
        )}
        <span className="tabular text-xs whitespace-nowrap text-quiet md:hidden">
          {pluralize(row.pipelines, 'pipeline')}
        </span>
      </td>
      <td role="cell" className="tabular hidden text-right md:block">
        {row.pipelines.toLocaleString('en')}
      </td>
      {hasPipelines(row) ? (
        <>
          <Amount name="Burn" unit={unit} tokens={row.burned} status={row.status} />
          <Amount name="Airdrop" unit={unit} tokens={row.airdropped} status={row.status} />
        </>
      ) : (
        <Withdrawn row={row} unit={unit} />
      )}
      <OperatorCost row={row} />
    </tr>
  );
}

interface AmountProps extends Pick<Row, 'status'> {
  readonly name: string;
  readonly unit: string;
  readonly tokens: string;
}

/** A longer amount is set in smaller digits: with two lines of them and its stage it is as high as a row. */
const MAX_LARGE = 16;

function Amount({ name, unit, tokens, status }: AmountProps) {
  const stage = tokens === '0' ? null : amountStage(status);
  return (
    <td role="cell" className="flex justify-between text-sm md:block md:text-right md:text-base">
      <span className="text-quiet md:sr-only">{name}</span>
      <span
        className={cn('tabular min-w-0 text-right wrap-anywhere', tokens.length > MAX_LARGE && 'md:block md:text-xs')}
      >
        <span className={cn(tokens === '0' || stage !== null ? 'text-quiet' : 'font-medium')}>
          <Digits amount={tokens} />
          <span className="ml-1 inline-block text-xs text-quiet md:hidden">{unitBeside(tokens, unit)}</span>
        </span>
        {stage && <span className="block text-xs text-quiet">{stage}</span>}
      </span>
    </td>
  );
}

/**
 * Takes the place of both amounts in the row of a withdrawal, between their columns: it is neither a burn nor an airdrop.
 * Empty for a rotation, which moves nothing.
 */
function Withdrawn({ row: { withdrawal, status }, unit }: { readonly row: Row; readonly unit: string }) {
  return (
    <td
      role="cell"
      colSpan={2}
      className={cn(
        'flex justify-between text-sm md:col-span-2 md:flex-col md:items-center md:text-base',
        !withdrawal && 'max-md:hidden',
      )}
    >
      {withdrawal && (
        <>
          <span className="text-quiet md:text-xs">{WITHDRAWAL_NAMES[status]}</span>
          <span
            className={cn(
              'tabular min-w-0 text-right wrap-anywhere md:text-center',
              status === 'EXECUTED' ? 'font-medium' : 'text-quiet',
            )}
          >
            <AmountText amount={withdrawal.amount} unit={withdrawnUnit(withdrawal.asset, unit)} />
          </span>
        </>
      )}
    </td>
  );
}

/** Shows what the operator has paid for good; rent that comes back stands apart. */
function OperatorCost({ row }: { readonly row: Row }) {
  const { paidLamports, lockedLamports } = costOfRow(row);
  return (
    <td role="cell" className="tabular flex justify-between text-right text-sm text-quiet md:block">
      <span className="md:sr-only">Operator cost</span>
      <span>
        {formatSol(paidLamports)}
        {lockedLamports > 0n && <span className="block text-xs">+ {formatSol(lockedLamports)} rent, comes back</span>}
      </span>
    </td>
  );
}

/** Finds the row to which a key moves the focus: `j`, `k` and the arrows while a row has it; null for any other key. */
function nextRow(event: KeyboardEvent, count: number): number | null {
  if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return null;
  const focused = focusedRow();
  const step = stepOf(event.key);
  if (focused === null || step === 0 || count === 0) return null;
  return Math.min(count - 1, Math.max(0, focused + step));
}

function stepOf(key: string): -1 | 0 | 1 {
  if (key === 'j' || key === 'ArrowDown') return 1;
  if (key === 'k' || key === 'ArrowUp') return -1;
  return 0;
}

function focusedRow(): number | null {
  const row = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.row : undefined;
  return row === undefined ? null : Number(row);
}

/** After scrolling, a row is rendered within a few frames. */
const MAX_FRAMES = 10;

function focusRow(index: number, frame = 0): void {
  const row = document.querySelector<HTMLElement>(`[data-row="${index}"]`);
  if (row) row.focus({ preventScroll: true });
  else if (frame < MAX_FRAMES) requestAnimationFrame(() => focusRow(index, frame + 1));
}

/** Tailwind’s breakpoint `md`: narrower screens show cards instead of rows. */
const WIDE_QUERY = '(min-width: 48rem)';

/** True if the window is wider than a phone; the virtual list needs the row height, which CSS cannot tell it. */
function useIsWide(): boolean {
  return useSyncExternalStore(subscribe, () => matchMedia(WIDE_QUERY).matches);
}

function subscribe(onChange: () => void): () => void {
  const list = matchMedia(WIDE_QUERY);
  list.addEventListener('change', onChange);
  return () => list.removeEventListener('change', onChange);
}
