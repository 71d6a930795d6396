import type { SubmitEvent } from 'react';
import { Button } from '../../ui/button.tsx';
import { proofTypesProblem } from '../proof-types/proof-type-draft.ts';
import { ProofTypesEditor } from '../proof-types/proof-types-editor.tsx';
import type { StepProps } from './draft.ts';

/** What users do that may move tokens. */
export function ProofTypesStep({ draft, onChange, onNext }: StepProps) {
  const problem = proofTypesProblem(draft.proofTypes);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!problem) onNext();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      <p className="text-quiet">
        A proof type names what a user did, such as WATCH_AD. Register some, and pipelines of any other type are
        refused. Register none, and any name will do.
      </p>
      <ProofTypesEditor drafts={draft.proofTypes} onChange={(proofTypes) => onChange({ proofTypes })} />
      <div>
        <Button type="submit" tone="primary" disabled={problem !== null}>
          {draft.proofTypes.length === 0 ? 'Continue without' : 'Continue'}
        </Button>
      </div>
    </form>
  );
}
