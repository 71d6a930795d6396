import { KEY_OPERATIONS, type Scope } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { call } from '../../lib/api/call.ts';
import { keysQuery } from '../../lib/api/keys.ts';
import { Button } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/checkbox.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/feedback.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { OneTimeSecret } from '../../ui/one-time-secret.tsx';

export interface CreateKeyDialogProps {
  readonly projectId: string;
  /** The project’s own: a key may carry fewer. */
  readonly scopes: readonly Scope[];
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Makes a key and shows it, this once. */
export function CreateKeyDialog({ projectId, scopes, isOpen, onClose }: CreateKeyDialogProps) {
  return (
    <Dialog title="Create a key" isOpen={isOpen} onClose={onClose}>
      <CreateKeyForm {...{ projectId, scopes, onClose }} />
    </Dialog>
  );
}

const DAY_MS = 86_400_000;
const LIVES = [
  { days: 0, word: 'never' },
  { days: 30, word: 'in 30 days' },
  { days: 90, word: 'in 90 days' },
  { days: 365, word: 'in a year' },
];

function CreateKeyForm({ projectId, scopes, onClose }: Omit<CreateKeyDialogProps, 'isOpen'>) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [days, setDays] = useState(0);
  const [without, setWithout] = useState<ReadonlySet<Scope>>(new Set());
  const chosen = scopes.filter((scope) => !without.has(scope));
  const create = useMutation({
    mutationFn: () =>
      call(KEY_OPERATIONS.createKey, {
        params: { projectId },
        body: {
          scopes: chosen,
          ...(name === '' ? {} : { name }),
          ...(days === 0 ? {} : { expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() }),
        },
      }),
    onSuccess: () => queries.invalidateQueries(keysQuery(projectId)),
  });
  if (create.data) {
    return (
      <div className="flex flex-col gap-4">
        <OneTimeSecret
          name="The key"
          secret={create.data.apiKey}
          ifLost="Lost it? Create another and revoke this one."
        />
        <div>
          <Button onClick={onClose}>I have stored it</Button>
        </div>
      </div>
    );
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const toggle = (scope: Scope) => (isChosen: boolean) => {
    const next = new Set(without);
    if (isChosen) next.delete(scope);
    else next.add(scope);
    setWithout(next);
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <TextField
        label="Name"
        placeholder="backend, production"
        maxLength={80}
        value={name}
        onChange={({ target }) => setName(target.value)}
      />
      <div className="flex gap-6">
        {scopes.map((scope) => (
          <Checkbox key={scope} checked={!without.has(scope)} onChange={toggle(scope)}>
            {scope === 'burn' ? 'Burns' : 'Airdrops'}
          </Checkbox>
        ))}
      </div>
      <SelectField label="Expires" value={days} onChange={({ target }) => setDays(Number(target.value))}>
        {LIVES.map((life) => (
          <option key={life.days} value={life.days}>
            {life.word}
          </option>
        ))}
      </SelectField>
      {create.error && <ErrorNotice error={create.error} />}
      <div>
        <Button type="submit" tone="primary" isBusy={create.isPending} disabled={chosen.length === 0}>
          Create the key
        </Button>
      </div>
    </form>
  );
}
