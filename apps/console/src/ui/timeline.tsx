import { CircleMinus } from 'lucide-react';
import type { ReactNode } from 'react';
import { cn } from './cn.ts';
import { Ring } from './ring.tsx';
import type { Status } from './status.ts';
import { StatusIcon } from './status-badge.tsx';
import { TimeText } from './text.tsx';

export interface TimelineStep {
  readonly name: string;
  /** `coming` steps are still ahead; `skipped` steps will not happen. */
  readonly state: Status | 'coming' | 'skipped';
  readonly text?: ReactNode;
  /** ISO 8601. */
  readonly at?: string | null;
  readonly action?: ReactNode;
}

/** A vertical list of past, current and coming steps. */
export function Timeline({ steps }: { readonly steps: readonly TimelineStep[] }) {
  return (
    <ol className="flex flex-col">
      {steps.map(({ name, state, text, at, action }, position) => (
        <li
          key={name}
          aria-current={state === 'waiting' || state === 'running' ? 'step' : undefined}
          className="relative flex gap-3 pb-6 last:pb-0"
        >
          {position < steps.length - 1 && (
            <span aria-hidden className="absolute top-6 bottom-0 left-[9px] w-px bg-line" />
          )}
          <span className="mt-0.5">
            <StepIcon state={state} />
          </span>
          <div className="flex min-w-0 flex-1 flex-col gap-0.5">
            <div className="flex items-baseline justify-between gap-3">
              <span
                className={cn('font-medium', (state === 'coming' || state === 'skipped') && 'font-normal text-quiet')}
              >
                {name}
              </span>
              {at && (
                <span className="text-xs text-quiet">
                  <TimeText at={at} form={isToday(at) ? 'clock' : 'full'} />
                </span>
              )}
            </div>
            {text && <div className="text-sm break-words text-quiet">{text}</div>}
            {action && <div className="mt-2">{action}</div>}
          </div>
        </li>
      ))}
    </ol>
  );
}

function StepIcon({ state }: Pick<TimelineStep, 'state'>) {
  if (state === 'skipped') return <CircleMinus size={19} aria-label="Skipped" className="shrink-0 text-quiet" />;
  return (
    <>
      {state === 'coming' ? (
        <Ring size={19} progress={0} className="text-quiet" />
      ) : (
        <StatusIcon status={state} size={19} />
      )}
      <span className="sr-only">{WORDS[state]}</span>
    </>
  );
}

const WORDS = { waiting: 'Waiting', running: 'Running', done: 'Done', failed: 'Failed', coming: 'Not yet' } as const;

function isToday(at: string): boolean {
  return new Date(at).toDateString() === new Date().toDateString();
}
