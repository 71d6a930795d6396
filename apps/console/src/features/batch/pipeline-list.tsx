import { pluralize } from '@flywheel/protocol';
import type { Mismatch } from '@flywheel/sdk';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useDeferredValue, useMemo, useRef, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { ActionMix } from '../../ui/charts.tsx';
import { cn } from '../../ui/cn.ts';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { useIsPrinting } from '../../ui/printing.ts';
import { type ShownPipeline, totalsOf } from './batch-summary.ts';
import { PipelineCard } from './pipeline-card.tsx';
import { filterPipelines, type OfferedChoice, offerChoices, type PipelineFilter } from './pipeline-filter.ts';

interface PipelineListProps {
  readonly pipelines: readonly ShownPipeline[];
  readonly mismatches?: readonly Mismatch[];
}

const NO_MISMATCHES: readonly Mismatch[] = [];
const EVERYTHING: PipelineFilter = { choice: 'all', text: '' };
/** A shorter list is read at a glance. */
const MIN_FILTERED = 6;

/** The pipelines of a batch: their mix of actions, a filter if they are many, and the list. */
export function PipelineList({ pipelines, mismatches = NO_MISMATCHES }: PipelineListProps) {
  const [filter, setFilter] = useState(EVERYTHING);
  const asked = useDeferredValue(filter);
  const mismatched = useMemo(
    () => new Set(mismatches.flatMap(({ pipeline }) => (pipeline === null ? [] : [pipeline]))),
    [mismatches],
  );
  const positions = useMemo(() => filterPipelines(pipelines, asked, mismatched), [pipelines, asked, mismatched]);
  const { counts } = useMemo(() => totalsOf(pipelines), [pipelines]);
  const choices = useMemo(() => offerChoices(pipelines, mismatched), [pipelines, mismatched]);
  return (
    <div className="flex flex-col gap-4">
      <ActionMix {...counts} />
      {pipelines.length >= MIN_FILTERED && <FilterFields filter={filter} choices={choices} onChange={setFilter} />}
      {positions.length > 0 ? (
        <VirtualList pipelines={pipelines} positions={positions} mismatches={mismatches} />
      ) : (
        <div role="status" className="flex flex-wrap items-center justify-between gap-3 text-quiet">
          None of {pluralize(pipelines.length, 'pipeline')} matches.
          <Button size="small" onClick={() => setFilter(EVERYTHING)}>
            Show all
          </Button>
        </div>
      )}
    </div>
  );
}

interface FilterFieldsProps {
  readonly filter: PipelineFilter;
  readonly choices: readonly OfferedChoice[];
  readonly onChange: (filter: PipelineFilter) => void;
}

function FilterFields({ filter, choices, onChange }: FilterFieldsProps) {
  return (
    <search className="grid print:hidden gap-3 sm:grid-cols-[1fr_200px]">
      <TextField
        label="Search pipelines"
        type="search"
        placeholder="Type, payload, recipient, amount, number"
        value={filter.text}
        onChange={({ target }) => onChange({ ...filter, text: target.value })}
      />
      <SelectField
        label="Show"
        value={filter.choice}
        onChange={({ target }) => {
          const chosen = choices.find(({ choice }) => choice === target.value);
          if (chosen) onChange({ ...filter, choice: chosen.choice });
        }}
      >
        {choices.map(({ choice, name, count }) => (
          <option key={choice} value={choice}>
            {name} ({count.toLocaleString('en')})
          </option>
        ))}
      </SelectField>
    </search>
  );
}

interface VirtualListProps {
  readonly pipelines: readonly ShownPipeline[];
  /** Zero-based positions of the pipelines to show, in order. */
  readonly positions: readonly number[];
  readonly mismatches: readonly Mismatch[];
}

const HEAD_PX = 60;
const ACTION_PX = 28;
const SCROLL_KEYS: ReadonlySet<string> = new Set(['Home', 'End', 'PageUp', 'PageDown']);
/** Share of the list's height that a key scrolls: the last row that was read stays in view. */
const PAGE = 0.9;
/** A longer list scrolls inside the panel. */
const MAX_HEIGHT = 'max-h-[72vh] print:max-h-none';
const NOTHING_OPEN: ReadonlySet<number> = new Set();

/** Virtual list of pipelines: only the visible ones are in the DOM. Paper has all of them. */
function VirtualList({ pipelines, positions, mismatches }: VirtualListProps) {
  const scroller = useRef<HTMLUListElement>(null);
  const [open, setOpen] = useState(NOTHING_OPEN);
  const positionOf = (index: number) => positions[index] ?? 0;
  const rows = useVirtualizer({
    count: positions.length,
    getScrollElement: () => scroller.current?.parentElement ?? null,
    getItemKey: positionOf,
    estimateSize: (index) => HEAD_PX + ACTION_PX * (pipelines[positionOf(index)]?.actions.length ?? 0),
    overscan: 6,
    // Used before the first measurement.
    initialRect: { width: 600, height: 800 },
  });
  const isPrinting = useIsPrinting();
  const items = isPrinting ? positions.map((key, index) => ({ index, key, start: null })) : rows.getVirtualItems();
  const toggle = (position: number) =>
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(position)) after.add(position);
      return after;
    });
  // The browser scrolls to an end that it estimates, and rows are measured only when they are near. A row that leaves the
  // DOM takes the focus with it, after which keys would scroll the page: the list has the focus while it scrolls.
  const scrollByKey = (event: KeyboardEvent<HTMLElement>) => {
    const { currentTarget: list, key } = event;
    if (event.altKey || event.ctrlKey || event.metaKey || !SCROLL_KEYS.has(key)) return;
    event.preventDefault();
    list.focus({ preventScroll: true });
    if (key === 'Home') rows.scrollToIndex(0);
    else if (key === 'End') rows.scrollToIndex(positions.length - 1, { align: 'end' });
    else list.scrollBy({ top: list.clientHeight * (key === 'PageDown' ? PAGE : -PAGE) });
  };
  return (
    <section
      aria-label="Pipelines"
      onKeyDown={scrollByKey}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, a scrolling region takes focus.
      tabIndex={0}
      className={cn('-mx-4 -mb-4 overflow-y-auto border-t first:-mt-4 first:border-t-0', MAX_HEIGHT)}
    >
      <ul ref={scroller} style={isPrinting ? {} : { height: rows.getTotalSize() }} className="relative">
        {items.map(({ index, key, start }) => {
          const position = positionOf(index);
          const pipeline = pipelines[position];
          return (
            pipeline && (
              <li
                key={key}
                ref={start === null ? null : rows.measureElement}
                data-index={index}
                aria-setsize={positions.length}
                aria-posinset={index + 1}
                style={start === null ? {} : { transform: `translateY(${start}px)` }}
                className={cn(
                  'px-4 py-3',
                  start !== null && 'absolute inset-x-0 top-0',
                  index < positions.length - 1 && 'border-b',
                )}
              >
                <PipelineCard
                  position={position}
                  pipeline={pipeline}
                  mismatches={mismatches.filter((mismatch) => mismatch.pipeline === position)}
                  isOpen={open.has(position)}
                  onToggle={() => toggle(position)}
                />
              </li>
            )
          );
        })}
      </ul>
    </section>
  );
}
