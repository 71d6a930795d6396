import { PROOF_TYPE } from '@flywheel/api';
import { Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { TextArea, TextField } from '../../ui/fields.tsx';
import { newProofType, type ProofTypeDraft, parseDraft, parseSchema } from './draft.ts';
import { type SchemaTrialState, toSentence, useSchemaTrial } from './schema-trial.ts';

export interface ProofTypesEditorProps {
  readonly drafts: readonly ProofTypeDraft[];
  readonly onChange: (drafts: readonly ProofTypeDraft[]) => void;
}

/** Edits a list of proof types; each schema can be tried with a payload. */
export function ProofTypesEditor({ drafts, onChange }: ProofTypesEditorProps) {
  const replace = (key: string, change: Partial<ProofTypeDraft>) =>
    onChange(drafts.map((draft) => (draft.key === key ? { ...draft, ...change } : draft)));
  return (
    <div className="flex flex-col gap-4">
      {drafts.map((draft) => (
        <ProofTypeFields
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

/** A browser reads a pattern with the flag v, which wants the hyphen escaped. */
const TYPE_PATTERN = PROOF_TYPE.source.replace('_-]', '_\\-]');

interface ProofTypeFieldsProps {
  readonly draft: ProofTypeDraft;
  readonly onChange: (change: Partial<ProofTypeDraft>) => void;
  readonly onRemove: () => void;
}

function ProofTypeFields({ draft, onChange, onRemove }: ProofTypeFieldsProps) {
  const parsed = parseDraft(draft);
  const schemaError = 'issue' in parsed && parsed.issue.includes('schema') ? parsed.issue : null;
  const schema = parseSchema(draft.schemaText);
  return (
    <fieldset className="flex flex-col gap-4 rounded-lg border bg-raised p-4">
      <legend className="sr-only">{draft.type || 'New proof type'}</legend>
      <div className="flex items-end gap-3">
        <TextField
          label="Name"
          placeholder="WATCH_AD"
          value={draft.type}
          onChange={({ target }) => onChange({ type: target.value.replaceAll(' ', '_') })}
          className="flex-1 [&_input]:font-mono"
          required
          pattern={TYPE_PATTERN}
        />
        <Button tone="quiet" onClick={onRemove} aria-label={`Remove ${draft.type || 'this proof type'}`}>
          <Trash2 size={16} aria-hidden />
        </Button>
      </div>
      <TextField
        label="Description"
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
        error={schemaError}
        hint="The service rejects payloads that do not satisfy it."
      />
      {schema && <SchemaTrial schema={schema} />}
    </fieldset>
  );
}

/** Tries a payload against the schema while either is typed. */
function SchemaTrial({ schema }: { readonly schema: Record<string, unknown> }) {
  const [payload, setPayload] = useState('{}');
  const isPayloadJson = isJson(payload);
  const trial = useSchemaTrial(schema, isPayloadJson ? payload : null);
  const { isError, text } = isPayloadJson ? describeTrial(trial) : { isError: true, text: 'The payload is not JSON.' };
  return (
    <TextArea
      label="Try a payload"
      rows={2}
      value={payload}
      onChange={({ target }) => setPayload(target.value)}
      error={isError ? text : null}
      hint={text}
    />
  );
}

function describeTrial({ data, error }: SchemaTrialState): { readonly isError: boolean; readonly text: string } {
  if (error !== null) return { isError: true, text: error.message };
  if (data === undefined) return { isError: false, text: 'The service checks the schema and the payload.' };
  if (data.schemaProblem !== null) return { isError: true, text: `The schema ${data.schemaProblem}.` };
  return data.payloadProblem === null
    ? { isError: false, text: 'This payload satisfies the schema.' }
    : { isError: true, text: toSentence(data.payloadProblem) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Mostly text that is still being typed; the caller says so.
    return false;
  }
}
