import { type SubmitEvent, useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { TextArea, TextField } from '../../ui/fields.tsx';
import type { ProofQuestion } from './proof-query.ts';

export interface ProofFormProps {
  readonly question: ProofQuestion | null;
  readonly isBusy: boolean;
  readonly onAsk: (question: ProofQuestion) => void;
}

const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;
const TYPE = /^[A-Za-z0-9_-]{1,64}$/;

/** Two ways to ask: by what was done, or by the transaction. */
export function ProofForm({ question, isBusy, onAsk }: ProofFormProps) {
  const [kind, setKind] = useState<'payload' | 'signature'>(
    question && 'signature' in question ? 'signature' : 'payload',
  );
  return (
    <div className="flex flex-col gap-4 rounded-lg border bg-raised p-4">
      <div className="flex flex-wrap gap-1">
        <KindButton isChosen={kind === 'payload'} onChoose={() => setKind('payload')}>
          Type and payload
        </KindButton>
        <KindButton isChosen={kind === 'signature'} onChoose={() => setKind('signature')}>
          Signature
        </KindButton>
      </div>
      {kind === 'payload' ? (
        <PayloadForm {...{ question, isBusy, onAsk }} />
      ) : (
        <SignatureForm {...{ question, isBusy, onAsk }} />
      )}
    </div>
  );
}

interface KindButtonProps {
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly children: string;
}

function KindButton({ isChosen, onChoose, children }: KindButtonProps) {
  return (
    <Button size="small" tone={isChosen ? 'plain' : 'quiet'} aria-pressed={isChosen} onClick={onChoose}>
      {children}
    </Button>
  );
}

function PayloadForm({ question, isBusy, onAsk }: ProofFormProps) {
  const asked = question && 'type' in question ? question : null;
  const [type, setType] = useState(asked?.type ?? '');
  const [payload, setPayload] = useState(asked?.payload ?? '');
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (TYPE.test(type)) onAsk({ type, payload });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label="Type"
        placeholder="WATCH_AD"
        value={type}
        onChange={({ target }) => setType(target.value.trim())}
        error={type !== '' && !TYPE.test(type) ? 'Letters, digits, _ and -, 64 at most.' : null}
        className="[&_input]:font-mono"
        required
      />
      <TextArea
        label="Payload, exactly as it was sent"
        placeholder='{"adId":"123"}'
        rows={6}
        value={payload}
        onChange={({ target }) => setPayload(target.value)}
        hint={/^\s|\s$/.test(payload) ? 'It begins or ends with white space, which counts.' : undefined}
      />
      <div>
        <Button type="submit" tone="primary" isBusy={isBusy}>
          Check the proof
        </Button>
      </div>
    </form>
  );
}

function SignatureForm({ question, isBusy, onAsk }: ProofFormProps) {
  const [signature, setSignature] = useState(question && 'signature' in question ? question.signature : '');
  const isWellFormed = SIGNATURE.test(signature);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isWellFormed) onAsk({ signature });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextArea
        label="Signature of the transaction"
        rows={3}
        value={signature}
        onChange={({ target }) => setSignature(target.value.trim())}
        error={
          signature !== '' && !isWellFormed ? 'This is no transaction signature: those are 64 bytes, in base58.' : null
        }
        hint="Of a transaction that executed pipelines; explorers show it."
        required
      />
      <div>
        <Button type="submit" tone="primary" isBusy={isBusy} disabled={!isWellFormed}>
          What does it prove?
        </Button>
      </div>
    </form>
  );
}
