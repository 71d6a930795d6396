import { Plus, Trash2 } from 'lucide-react';
import { Button } from '../../ui/button.tsx';
import { TextArea, TextField } from '../../ui/fields.tsx';
import { newProofType, type ProofTypeDraft, readDraft } from './proof-type-draft.ts';
import { SchemaTrial } from './schema-trial.tsx';

export interface ProofTypesEditorProps {
  readonly drafts: readonly ProofTypeDraft[];
  readonly onChange: (drafts: readonly ProofTypeDraft[]) => void;
}

/** Edits proof types, with a live trial of each one’s schema. */
export function ProofTypesEditor({ drafts, onChange }: ProofTypesEditorProps) {
  const replace = (key: string, change: Partial<ProofTypeDraft>) =>
    onChange(drafts.map((draft) => (draft.key === key ? { ...draft, ...change } : draft)));
  return (
    <div className="flex flex-col gap-4">
      {drafts.map((draft) => (
        <OneType
          key={draft.key}
          draft={draft}
          onChange={(change) => replace(draft.key, change)}
          onRemove={() => onChange(drafts.filter(({ key }) => key !== draft.key))}
        />
      ))}
      <div>
        <Button onClick={() => onChange([...drafts, newProofType()])}>
          <Plus size={15} aria-hidden /> Add a proof type
        </Button>
      </div>
    </div>
  );
}

interface OneTypeProps {
  readonly draft: ProofTypeDraft;
  readonly onChange: (change: Partial<ProofTypeDraft>) => void;
  readonly onRemove: () => void;
}

function OneType({ draft, onChange, onRemove }: OneTypeProps) {
  const read = readDraft(draft);
  const schemaProblem = 'problem' in read && read.problem.includes('schema') ? read.problem : null;
  return (
    <fieldset className="flex flex-col gap-4 rounded-lg border bg-raised p-4">
      <legend className="sr-only">{draft.type || 'New proof type'}</legend>
      <div className="flex items-end gap-3">
        <TextField
          label="Name"
          placeholder="WATCH_AD"
          value={draft.type}
          onChange={({ target }) => onChange({ type: target.value.toUpperCase().replaceAll(' ', '_') })}
          className="flex-1 [&_input]:font-mono"
          required
          pattern="[A-Za-z0-9_\-]{1,64}"
        />
        <Button tone="quiet" onClick={onRemove} aria-label={`Remove ${draft.type || 'this proof type'}`}>
          <Trash2 size={16} aria-hidden />
        </Button>
      </div>
      <TextField
        label="What it means"
        placeholder="A rewarded video, watched to its end"
        value={draft.description}
        maxLength={280}
        onChange={({ target }) => onChange({ description: target.value })}
      />
      <TextArea
        label="JSON Schema of the payload (optional)"
        placeholder='{"type":"object","required":["adId"]}'
        value={draft.schemaText}
        onChange={({ target }) => onChange({ schemaText: target.value })}
        error={schemaProblem}
        hint="Payloads that do not satisfy it are refused."
      />
      {draft.schemaText.trim() !== '' && !schemaProblem && <SchemaTrial schemaText={draft.schemaText} />}
    </fieldset>
  );
}
