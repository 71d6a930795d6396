import type { BatchDetail } from '@flywheel/api';
import type { Difference } from '@flywheel/sdk';
import { ChevronRight, CircleMinus } from 'lucide-react';
import { classes } from '../../../ui/classes.ts';
import { Gauge } from '../../../ui/drawn/gauge.tsx';
import { AddressText } from '../../../ui/show/address-text.tsx';
import type { State } from '../../../ui/show/state.ts';
import { StateIcon } from '../../../ui/show/state-mark.tsx';
import { ActionText } from './action-text.tsx';
import { InstructionList } from './instruction-list.tsx';
import { ProofLine } from './proof-line.tsx';
import type { ShownAction } from './shown-action.ts';

type PipelineRecord = BatchDetail['pipelines'][number];

/** As much of a pipeline as is known: one that is being written has no proof on chain yet. */
export interface ShownPipeline extends Partial<Omit<PipelineRecord, 'type' | 'payload' | 'actions'>> {
  readonly type: string;
  readonly payload: string;
  readonly actions: readonly ShownAction[];
}

export interface PipelineCardProps {
  readonly position: number;
  readonly pipeline: ShownPipeline;
  readonly faults: readonly Difference[];
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

const STATES = {
  waiting: null,
  executed: { state: 'done', word: 'Executed' },
  failed: { state: 'failed', word: 'Failed' },
  skipped: { state: null, word: 'Not executed' },
} as const satisfies Record<PipelineRecord['state'], { readonly state: State | null; readonly word: string } | null>;

/** One pipeline: what it proves, what it does; opened, its memo and instructions as well. */
export function PipelineCard({ position, pipeline, faults, isOpen, onToggle }: PipelineCardProps) {
  const { type, payload, actions, state, signature, bytes, maxBytes } = pipeline;
  const mark = state && STATES[state];
  return (
    <article className="flex flex-col gap-2">
      <header className="flex min-h-7 items-center gap-2">
        <button
          type="button"
          onClick={onToggle}
          aria-expanded={isOpen}
          className="flex min-w-0 flex-1 items-center gap-2 rounded-sm text-left"
        >
          <ChevronRight size={15} aria-hidden className={classes('shrink-0 text-quiet', isOpen && 'rotate-90')} />
          <span className="tabular text-xs text-quiet">
            <span className="sr-only">Pipeline </span>
            {position}
          </span>
          <span className="font-mono text-sm font-medium">{type}</span>
          {!isOpen && <code className="min-w-0 flex-1 truncate font-mono text-xs text-quiet">{payload}</code>}
        </button>
        {bytes !== undefined && maxBytes !== undefined && state === undefined && (
          <span className="flex w-32 items-center gap-2">
            <Gauge share={bytes / maxBytes} label={`Size of pipeline ${position}`} />
            <span className="tabular w-16 text-right text-xs text-quiet">{bytes} B</span>
          </span>
        )}
        {signature && <AddressText address={signature} kind="signature" isLinked />}
        {mark && (
          <span title={mark.word}>
            {mark.state === null ? (
              <CircleMinus size={15} aria-hidden className="text-quiet" />
            ) : (
              <StateIcon state={mark.state} size={15} />
            )}
            <span className="sr-only">{mark.word}</span>
          </span>
        )}
      </header>
      <ul className="flex flex-col gap-1 pl-[23px]">
        {actions.map((action, index) => (
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
      {isOpen && <Inside pipeline={pipeline} />}
    </article>
  );
}

function Inside({ pipeline }: { readonly pipeline: ShownPipeline }) {
  const { payload, memo, instructions, bytes, maxBytes } = pipeline;
  return (
    <div className="arriving ml-[23px] flex flex-col gap-4 border-l pl-4">
      <Part title="Payload">
        <code className="block font-mono text-xs break-all whitespace-pre-wrap">{payload}</code>
      </Part>
      {memo !== undefined && (
        <Part title="Proof memo">
          <ProofLine pipeline={pipeline} memo={memo} />
        </Part>
      )}
      {instructions && (
        <Part title="Instructions, decoded from their bytes">
          <InstructionList instructions={instructions} />
        </Part>
      )}
      {bytes !== undefined && maxBytes !== undefined && (
        <Part title={`Size: ${bytes} of ${maxBytes} bytes`}>
          <Gauge share={bytes / maxBytes} label="Size of the pipeline" />
        </Part>
      )}
    </div>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <section className="flex min-w-0 flex-col gap-1">
      <h4 className="text-xs text-quiet">{title}</h4>
      {children}
    </section>
  );
}
