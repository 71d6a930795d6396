import type { ProofType } from '@flywheel/api';
import { pipelineSize } from '@flywheel/sdk';
import { Plus, Trash2 } from 'lucide-react';
import { Button } from '../../../ui/form/button.tsx';
import { TextArea } from '../../../ui/form/field.tsx';
import { ActionFields } from './action-fields.tsx';
import {
  type ActionDraft,
  newAction,
  newPipeline,
  type PipelineDraft,
  readAction,
  readPipeline,
} from './pipeline-draft.ts';
import { SizeGauge } from './size-gauge.tsx';
import { TypeField } from './type-field.tsx';

export interface PipelineEditorProps {
  readonly drafts: readonly PipelineDraft[];
  readonly onChange: (drafts: readonly PipelineDraft[]) => void;
  readonly proofTypes: readonly ProofType[];
  readonly decimals: number;
}

/** Pipelines written by hand. */
export function PipelineEditor({ drafts, onChange, proofTypes, decimals }: PipelineEditorProps) {
  const replace = (key: string, change: Partial<PipelineDraft>) =>
    onChange(drafts.map((draft) => (draft.key === key ? { ...draft, ...change } : draft)));
  return (
    <div className="flex flex-col gap-4">
      {drafts.map((draft, position) => (
        <PipelineFields
          key={draft.key}
          position={position}
          draft={draft}
          proofTypes={proofTypes}
          decimals={decimals}
          onChange={(change) => replace(draft.key, change)}
          onRemove={drafts.length === 1 ? null : () => onChange(drafts.filter(({ key }) => key !== draft.key))}
        />
      ))}
      <div>
        <Button onClick={() => onChange([...drafts, newPipeline(drafts.at(-1)?.type ?? '')])}>
          <Plus size={15} aria-hidden /> Add a pipeline
        </Button>
      </div>
    </div>
  );
}

interface PipelineFieldsProps {
  readonly position: number;
  readonly draft: PipelineDraft;
  readonly proofTypes: readonly ProofType[];
  readonly decimals: number;
  readonly onChange: (change: Partial<PipelineDraft>) => void;
  readonly onRemove: (() => void) | null;
}

function PipelineFields({ position, draft, proofTypes, decimals, onChange, onRemove }: PipelineFieldsProps) {
  const read = readPipeline(draft, { decimals, proofTypes });
  const isTouched = draft.actions.some(({ amount, message }) => amount !== '' || message !== '');
  const replace = (key: string, change: Partial<ActionDraft>) =>
    onChange({ actions: draft.actions.map((action) => (action.key === key ? { ...action, ...change } : action)) });
  return (
    <fieldset className="flex flex-col gap-4 rounded-lg border bg-raised p-4">
      <legend className="sr-only">Pipeline {position}</legend>
      <div className="flex items-start gap-3">
        <TypeField type={draft.type} proofTypes={proofTypes} onChange={(type) => onChange({ type })} />
        {onRemove && (
          <Button tone="quiet" onClick={onRemove} aria-label={`Remove pipeline ${position}`} className="mt-6">
            <Trash2 size={16} aria-hidden />
          </Button>
        )}
      </div>
      <TextArea
        label="Payload: what it proves, as a JSON object"
        rows={2}
        value={draft.payload}
        onChange={({ target }) => onChange({ payload: target.value })}
      />
      <ul className="flex flex-col gap-3">
        {draft.actions.map((action) => (
          <li key={action.key}>
            <ActionFields
              action={action}
              decimals={decimals}
              onChange={(change) => replace(action.key, change)}
              onRemove={
                draft.actions.length === 1
                  ? null
                  : () => onChange({ actions: draft.actions.filter(({ key }) => key !== action.key) })
              }
            />
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <Button size="small" onClick={() => onChange({ actions: [...draft.actions, newAction()] })}>
          <Plus size={14} aria-hidden /> Add an action
        </Button>
        <SizeGauge size={pipelineSize({ type: draft.type, actions: draft.actions.map(readAction) })} />
      </div>
      {isTouched && 'problem' in read && <p className="text-sm text-failed">{read.problem}</p>}
    </fieldset>
  );
}
