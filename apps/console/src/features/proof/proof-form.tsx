import { PROOF_TYPE } from '@flywheel/api';
import { MAX_MERGED_EVENTS, parseMergedPayload } from '@flywheel/protocol';
import { type SubmitEvent, useState } from 'react';
import { base58Kind } from '../../lib/format.ts';
import { Button } from '../../ui/button.tsx';
import { TextArea, TextField } from '../../ui/fields.tsx';
import type { ProofQuestion } from './proof-query.ts';

export interface ProofFormProps {
  readonly question: ProofQuestion | null;
  readonly isBusy: boolean;
  readonly onAsk: (question: ProofQuestion) => void;
}

/** Asks by type and payload, or by the signature of a transaction. */
export function ProofForm({ question, isBusy, onAsk }: ProofFormProps) {
  const [mode, setMode] = useState<'payload' | 'signature'>(
    question && 'signature' in question ? 'signature' : 'payload',
  );
  return (
    <div className="flex flex-col gap-4 rounded-lg border bg-raised p-4">
      <div className="flex flex-wrap gap-1">
        <ModeButton isSelected={mode === 'payload'} onSelect={() => setMode('payload')}>
          Type and payload
        </ModeButton>
        <ModeButton isSelected={mode === 'signature'} onSelect={() => setMode('signature')}>
          Signature
        </ModeButton>
      </div>
      {mode === 'payload' ? (
        <PayloadForm {...{ question, isBusy, onAsk }} />
      ) : (
        <SignatureForm {...{ question, isBusy, onAsk }} />
      )}
    </div>
  );
}

interface ModeButtonProps {
  readonly isSelected: boolean;
  readonly onSelect: () => void;
  readonly children: string;
}

function ModeButton({ isSelected, onSelect, children }: ModeButtonProps) {
  return (
    <Button size="small" tone={isSelected ? 'plain' : 'quiet'} aria-pressed={isSelected} onClick={onSelect}>
      {children}
    </Button>
  );
}

function PayloadForm({ question, isBusy, onAsk }: ProofFormProps) {
  const asked = question && 'type' in question ? question : null;
  const [type, setType] = useState(asked?.type ?? '');
  const [payload, setPayload] = useState(asked?.payload ?? '');
  const [mergedPayload, setMergedPayload] = useState(asked?.mergedPayload ?? '');
  const isMergedReady = mergedPayload === '' || parseMergedPayload(mergedPayload) !== null;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!PROOF_TYPE.test(type) || !isMergedReady) return;
    onAsk({ type, payload, ...(mergedPayload !== '' && { mergedPayload }) });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label="Type"
        placeholder="WATCH_AD"
        value={type}
        onChange={({ target }) => setType(target.value.trim())}
        error={type !== '' && !PROOF_TYPE.test(type) ? 'Use 1 to 64 letters, digits, _ or -.' : null}
        className="[&_input]:font-mono"
        required
      />
      <TextArea
        label="Payload, exactly as it was sent"
        placeholder='{"adId":"123"}'
        rows={6}
        value={payload}
        onChange={({ target }) => setPayload(target.value)}
        hint={/^\s|\s$/.test(payload) ? 'It starts or ends with white space, which is part of the hash.' : undefined}
      />
      <details open={mergedPayload !== ''}>
        <summary className="text-sm text-quiet">Paid together with other events</summary>
        <div className="mt-3">
          <TextArea
            label="Merged payload, as the project publishes it"
            placeholder='{"flywheel":"merged:v1","events":["…","…"]}'
            rows={3}
            value={mergedPayload}
            onChange={({ target }) => setMergedPayload(target.value.trim())}
            error={isMergedReady ? null : NO_MERGED_PAYLOAD}
            hint="It lists the hashes of all events that were paid together. The type above is that of all of them."
          />
        </div>
      </details>
      <div>
        <Button type="submit" tone="primary" isBusy={isBusy}>
          Check the proof
        </Button>
      </div>
    </form>
  );
}

const NO_MERGED_PAYLOAD = `This is not a merged payload: {"flywheel":"merged:v1","events":["…","…"]} without spaces, with 2 to ${MAX_MERGED_EVENTS} hashes in ascending order.`;

function SignatureForm({ question, isBusy, onAsk }: ProofFormProps) {
  const [signature, setSignature] = useState(question && 'signature' in question ? question.signature : '');
  const isWellFormed = base58Kind(signature) === 'signature';
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isWellFormed) onAsk({ signature });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextArea
        label="Transaction signature"
        rows={3}
        value={signature}
        onChange={({ target }) => setSignature(target.value.trim())}
        error={signature !== '' && !isWellFormed ? 'This is not a transaction signature (64 bytes in base58).' : null}
        hint="Signature of a transaction that executed pipelines, as explorers show it."
        required
      />
      <div>
        <Button type="submit" tone="primary" isBusy={isBusy} disabled={!isWellFormed}>
          Check the proof
        </Button>
      </div>
    </form>
  );
}
