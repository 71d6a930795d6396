import type { Action, Pipeline } from '@flywheel/api';
import type { Difference } from '@flywheel/sdk';
import { decimalOf } from '@flywheel/sdk';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { classes } from '../../parts/classes.ts';
import { AddressText } from '../../parts/show/address-text.tsx';
import { type State, StateIcon } from '../../parts/show/state-mark.tsx';
import { withSeparators } from '../../text/amount.ts';

export interface PipelineListProps {
  readonly pipelines: readonly Pipeline[];
  /** By position. */
  readonly stateOf?: (position: number) => State | null;
  readonly differences?: readonly Difference[];
}

const ROW_ESTIMATE_PX = 112;
/** More than this is a list of its own, scrolled inside the panel. */
const MAX_HEIGHT = 'max-h-[70vh]';

/** What each pipeline does, in order: its proof, its actions. Only what is seen is in the page. */
export function PipelineList({ pipelines, stateOf, differences = [] }: PipelineListProps) {
  const scroller = useRef<HTMLUListElement>(null);
  const rows = useVirtualizer({
    count: pipelines.length,
    getScrollElement: () => scroller.current?.parentElement ?? null,
    estimateSize: () => ROW_ESTIMATE_PX,
    overscan: 6,
    // Before the first measurement, and where nothing is measured.
    initialRect: { width: 600, height: 800 },
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, a scrolling region takes focus.
    <section aria-label="Pipelines" tabIndex={0} className={classes('-m-4 overflow-y-auto', MAX_HEIGHT)}>
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
                className="absolute inset-x-0 top-0 border-b px-4 py-3"
              >
                <OnePipeline
                  position={index}
                  pipeline={pipeline}
                  state={stateOf?.(index) ?? null}
                  faults={differences.filter((difference) => difference.pipeline === index)}
                />
              </li>
            )
          );
        })}
      </ul>
    </section>
  );
}

interface OnePipelineProps {
  readonly position: number;
  readonly pipeline: Pipeline;
  readonly state: State | null;
  readonly faults: readonly Difference[];
}

function OnePipeline({ position, pipeline, state, faults }: OnePipelineProps) {
  return (
    <article className="flex flex-col gap-2">
      <header className="flex items-center gap-2">
        {state && <StateIcon state={state} size={15} />}
        <span className="tabular text-xs text-quiet">{position}</span>
        <span className="font-mono text-sm font-medium">{pipeline.type}</span>
        <code className="min-w-0 flex-1 truncate text-right font-mono text-xs text-quiet" title={pipeline.payload}>
          {pipeline.payload}
        </code>
      </header>
      <ul className="flex flex-col gap-1">
        {pipeline.actions.map((action, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the actions of a pipeline never move.
          <li key={index} className="flex min-h-6 items-center gap-2">
            <ActionText action={action} />
          </li>
        ))}
      </ul>
      {faults.map(({ text }) => (
        <p
          key={text}
          className="rounded border border-failed/50 bg-failed-wash px-3 py-2 text-sm break-words text-failed"
        >
          {text}
        </p>
      ))}
    </article>
  );
}

/** One action in words, led by its colour. */
export function ActionText({ action }: { readonly action: Action }) {
  switch (action.action) {
    case 'BURN':
      return (
        <>
          <Kind className="bg-ember" word="Burn" />
          <Amount tokens={action.amount} />
        </>
      );
    case 'AIRDROP':
      return (
        <>
          <Kind className="bg-tide" word="Airdrop" />
          <AddressText address={action.toAddress} of="recipient" />
          <Amount tokens={action.amount} />
        </>
      );
    case 'MEMO':
      return (
        <>
          <Kind className="bg-slate" word="Memo" />
          <span className="min-w-0 truncate text-right">{action.message}</span>
        </>
      );
    default:
      return action satisfies never;
  }
}

function Kind({ className, word }: { readonly className: string; readonly word: string }) {
  return (
    <span className="inline-flex flex-1 items-center gap-2">
      <span aria-hidden className={classes('size-2 rounded-full', className)} />
      {word}
    </span>
  );
}

function Amount({ tokens }: { readonly tokens: number }) {
  return <span className="tabular min-w-20 text-right font-medium">{withSeparators(decimalOf(tokens))}</span>;
}
