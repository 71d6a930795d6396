import type { ProjectSettings } from '@flywheel/api';
import { type SubmitEvent, useState } from 'react';
import { changeProofTypes } from '../../lib/api/projects.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Panel } from '../../ui/layout.tsx';
import { draftOf, findDraftIssue, type ProofTypeDraft, parseDraft } from '../proof-types/draft.ts';
import { ProofTypesEditor } from '../proof-types/proof-types-editor.tsx';
import { SaveError, useSaveSettings } from './save-settings.tsx';

export interface ProofTypesPanelProps {
  readonly projectId: string;
  readonly settings: ProjectSettings;
  readonly canEdit: boolean;
}

/** Shows the proof types and edits them. */
export function ProofTypesPanel({ projectId, settings, canEdit }: ProofTypesPanelProps) {
  const [isEditing, setEditing] = useState(false);
  return (
    <Panel
      title="Proof types"
      aside={
        canEdit &&
        !isEditing && (
          <Button size="small" onClick={() => setEditing(true)}>
            Change proof types
          </Button>
        )
      }
    >
      {isEditing ? (
        <ProofTypesForm {...{ projectId, settings }} onDone={() => setEditing(false)} />
      ) : (
        <ProofTypeList proofTypes={settings.proofTypes} />
      )}
    </Panel>
  );
}

function ProofTypeList({ proofTypes }: Pick<ProjectSettings, 'proofTypes'>) {
  if (proofTypes.length === 0) {
    return <p className="text-quiet">No proof types yet. Pipelines can have any well-formed type and any payload.</p>;
  }
  return (
    <ul className="flex flex-col divide-y">
      {proofTypes.map(({ type, description, payloadSchema }) => (
        <li key={type} className="flex flex-col gap-1 py-3 first:pt-0 last:pb-0">
          <p className="flex flex-wrap gap-x-3">
            <code className="min-w-0 font-medium break-all">{type}</code>
            {description !== undefined && <span className="min-w-0 break-words text-quiet">{description}</span>}
          </p>
          {payloadSchema === undefined ? (
            <p className="text-sm text-quiet">Any payload</p>
          ) : (
            <details className="text-sm">
              <summary className="w-fit text-quiet">Payloads must match a schema</summary>
              <div className="mt-2">
                <CodeBlock label={`Schema of ${type}`} code={JSON.stringify(payloadSchema, null, 2)} />
              </div>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}

interface ProofTypesFormProps {
  readonly projectId: string;
  readonly settings: ProjectSettings;
  readonly onDone: () => void;
}

function ProofTypesForm({ projectId, settings, onDone }: ProofTypesFormProps) {
  const [drafts, setDrafts] = useState<readonly ProofTypeDraft[]>(() => settings.proofTypes.map(draftOf));
  const problem = findDraftIssue(drafts);
  const { seen, save } = useSaveSettings({
    projectId,
    settings,
    send: ({ proofTypes: from }) => {
      const proofTypes = drafts.map(parseDraft).flatMap((type) => ('issue' in type ? [] : [type]));
      return changeProofTypes(projectId, { proofTypes, from });
    },
    onDone,
  });
  const kept = new Set(drafts.map(({ type }) => type));
  const removed = seen.proofTypes.filter(({ type }) => !kept.has(type)).map(({ type }) => type);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (problem === null) save.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <ProofTypesEditor drafts={drafts} onChange={setDrafts} />
      {problem !== null && <p className="text-sm break-words text-failed">{problem}</p>}
      {removed.length > 0 && (
        <p className="text-sm">
          Removed when you save: {removed.join(', ')}.{' '}
          {drafts.length === 0
            ? 'Without proof types, pipelines can have any well-formed type.'
            : 'New batches cannot use a removed type.'}
        </p>
      )}
      {save.error && <SaveError error={save.error} />}
      <div className="flex gap-3">
        <Button type="submit" tone="primary" isBusy={save.isPending} disabled={problem !== null}>
          Save proof types
        </Button>
        <Button disabled={save.isPending} onClick={onDone}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
