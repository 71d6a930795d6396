import { findPayloadIssue, type ProofType } from '@flywheel/api';
import { MAX_PIPELINE_BYTES } from '@flywheel/protocol';
import { type PipelineSize, pipelineSize } from '@flywheel/sdk';
import { Plus, Trash2 } from 'lucide-react';
import { Button } from '../../ui/button.tsx';
import { Meter } from '../../ui/charts.tsx';
import { cn } from '../../ui/cn.ts';
import { SelectField, TextArea, TextField } from '../../ui/fields.tsx';
import { toSentence, useSchemaTrial } from '../proof-types/schema-trial.ts';
import {
  type ActionDraft,
  type ActionKind,
  amountIssue,
  newAction,
  newPipeline,
  type PipelineDraft,
  readAction,
  readPipeline,
  recipientIssue,
  sizeIssue,
} from './pipeline-draft.ts';

interface PipelineEditorProps {
  readonly drafts: readonly PipelineDraft[];
  readonly onChange: (drafts: readonly PipelineDraft[]) => void;
  readonly proofTypes: readonly ProofType[];
  readonly decimals: number;
}

/** Edits pipelines by hand. */
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
  const read = readPipeline(draft, { decimals });
  const schema = proofTypes.find(({ type }) => type === draft.type)?.payloadSchema ?? null;
  const { data: trial } = useSchemaTrial(schema, findPayloadIssue(draft.payload) === null ? draft.payload : null);
  const payloadProblem = trial?.payloadProblem ?? null;
  const isTouched = draft.actions.some(({ amount, message }) => amount !== '' || message !== '');
  const fieldErrors = draft.actions.flatMap((action) => Object.values(fieldErrorsOf(action, decimals)));
  const size = pipelineSize({ type: draft.type, actions: draft.actions.map(readAction) });
  const shown = [...fieldErrors, sizeIssue(size)];
  const issue = 'issue' in read && !shown.includes(read.issue) ? read.issue : null;
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
        label="Payload: the proof data, a JSON object"
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
        <SizeGauge size={size} />
      </div>
      {isTouched && issue !== null && <p className="text-sm text-failed">{issue}</p>}
      {isTouched && payloadProblem !== null && <p className="text-sm text-failed">{toSentence(payloadProblem)}</p>}
    </fieldset>
  );
}

interface TypeFieldProps {
  readonly type: string;
  readonly proofTypes: readonly ProofType[];
  readonly onChange: (type: string) => void;
}

/**
 * Chooses one of the registered proof types; a free text field if none is registered. A type that was removed after it was
 * chosen stays in the list: without its option the browser shows the first one, while the draft still has the other.
 */
export function TypeField({ type, proofTypes, onChange }: TypeFieldProps) {
  if (proofTypes.length === 0) {
    return (
      <TextField
        label="Proof type"
        placeholder="WATCH_AD"
        value={type}
        onChange={({ target }) => onChange(target.value)}
        className="flex-1 [&_input]:font-mono"
      />
    );
  }
  const chosen = proofTypes.find((known) => known.type === type);
  return (
    <SelectField
      label="Proof type"
      value={type}
      hint={chosen?.description}
      onChange={({ target }) => onChange(target.value)}
      className="flex-1"
    >
      {chosen === undefined && <option value={type}>{type} (not registered)</option>}
      {proofTypes.map((known) => (
        <option key={known.type}>{known.type}</option>
      ))}
    </SelectField>
  );
}

interface ActionFieldsProps {
  readonly action: ActionDraft;
  readonly decimals: number;
  readonly onChange: (change: Partial<ActionDraft>) => void;
  readonly onRemove: (() => void) | null;
}

/** Edits the fields of an action. */
function ActionFields({ action, decimals, onChange, onRemove }: ActionFieldsProps) {
  const choose = (chosen: string) => {
    const kind = KINDS.find((known) => known.kind === chosen)?.kind;
    if (kind) onChange({ kind });
  };
  const errors = fieldErrorsOf(action, decimals);
  return (
    <div className="flex flex-wrap items-start gap-3">
      <SelectField label="Action" value={action.kind} onChange={({ target }) => choose(target.value)} className="w-28">
        {KINDS.map(({ kind, word }) => (
          <option key={kind} value={kind}>
            {word}
          </option>
        ))}
      </SelectField>
      {action.kind === 'AIRDROP' && (
        <TextField
          label="Recipient’s wallet"
          value={action.toAddress}
          onChange={({ target }) => onChange({ toAddress: target.value.trim() })}
          error={errors.recipient}
          className="min-w-56 flex-1 [&_input]:font-mono"
        />
      )}
      <div className={cn('flex items-start gap-3', action.kind === 'MEMO' && 'min-w-56 flex-1')}>
        {action.kind === 'MEMO' ? (
          <TextField
            label="Text"
            value={action.message}
            onChange={({ target }) => onChange({ message: target.value })}
            className="min-w-0 flex-1"
          />
        ) : (
          <TextField
            label="Tokens"
            inputMode="decimal"
            value={action.amount}
            onChange={({ target }) => onChange({ amount: target.value.trim() })}
            error={errors.amount}
            className="w-32 sm:w-36 [&_input]:text-right"
          />
        )}
        {onRemove && (
          <Button tone="quiet" onClick={onRemove} aria-label="Remove this action" className="mt-6">
            <Trash2 size={16} aria-hidden />
          </Button>
        )}
      </div>
    </div>
  );
}

/** Errors to show beside the fields; an empty field shows none yet. */
function fieldErrorsOf(action: ActionDraft, decimals: number) {
  return {
    recipient: action.toAddress === '' ? null : recipientIssue(action),
    amount: action.kind === 'MEMO' || action.amount === '' ? null : amountIssue(action, { decimals }),
  };
}

const KINDS: readonly { readonly kind: ActionKind; readonly word: string }[] = [
  { kind: 'BURN', word: 'Burn' },
  { kind: 'AIRDROP', word: 'Airdrop' },
  { kind: 'MEMO', word: 'Memo' },
];

/** Shows how much of one transaction a pipeline uses. */
function SizeGauge({ size }: { readonly size: PipelineSize }) {
  const issue = sizeIssue(size);
  return (
    <div className="flex w-52 flex-col gap-1">
      <Meter share={size.share} label="Size of the pipeline" tone={issue === null ? 'accent' : 'failed'} />
      <p className={cn('tabular text-right text-xs', issue === null ? 'text-quiet' : 'text-failed')}>
        {issue ?? `${size.bytes} of ${MAX_PIPELINE_BYTES} bytes`}
      </p>
    </div>
  );
}
