import type { Mismatch } from '@flywheel/sdk';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef, useState } from 'react';
import { cn } from '../../ui/cn.ts';
import { PipelineCard, type ShownPipeline } from './pipeline-card.tsx';

interface PipelineListProps {
  readonly pipelines: readonly ShownPipeline[];
  readonly mismatches?: readonly Mismatch[];
}

const HEAD_PX = 60;
const ACTION_PX = 28;
/** A longer list scrolls inside the panel. */
const MAX_HEIGHT = 'max-h-[72vh]';
const NOTHING_OPEN: ReadonlySet<number> = new Set();

/** Virtual list of pipelines: only the visible ones are in the DOM. */
export function PipelineList({ pipelines, mismatches = [] }: PipelineListProps) {
  const scroller = useRef<HTMLUListElement>(null);
  const [open, setOpen] = useState(NOTHING_OPEN);
  const rows = useVirtualizer({
    count: pipelines.length,
    getScrollElement: () => scroller.current?.parentElement ?? null,
    estimateSize: (index) => HEAD_PX + ACTION_PX * (pipelines[index]?.actions.length ?? 0),
    overscan: 6,
    // Used before the first measurement.
    initialRect: { width: 600, height: 800 },
  });
  const toggle = (position: number) =>
    setOpen((before) => {
      const after = new Set(before);
      if (!after.delete(position)) after.add(position);
      return after;
    });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, a scrolling region takes focus.
    <section aria-label="Pipelines" tabIndex={0} className={cn('-m-4 overflow-y-auto', MAX_HEIGHT)}>
      <ul ref={scroller} style={{ height: rows.getTotalSize() }} className="relative">
        {rows.getVirtualItems().map(({ index, key, start }) => {
          const pipeline = pipelines[index];
          return (
            pipeline && (
              <li
                key={key}
                ref={rows.measureElement}
                data-index={index}
                style={{ transform: `translateY(${start}px)` }}
                className={cn('absolute inset-x-0 top-0 px-4 py-3', index < pipelines.length - 1 && 'border-b')}
              >
                <PipelineCard
                  position={index}
                  pipeline={pipeline}
                  mismatches={mismatches.filter((mismatch) => mismatch.pipeline === index)}
                  isOpen={open.has(index)}
                  onToggle={() => toggle(index)}
                />
              </li>
            )
          );
        })}
      </ul>
    </section>
  );
}
