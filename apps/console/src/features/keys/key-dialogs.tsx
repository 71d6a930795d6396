import { KEY_OPERATIONS, type KeySummary, type Scope } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { call } from '../../lib/api/call.ts';
import { serviceNow } from '../../lib/api/clock.ts';
import { keysQuery, revokeKey, rotateKey } from '../../lib/api/keys.ts';
import { Button } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/checkbox.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Dialog, DialogButtons, useHeldDialog } from '../../ui/dialog.tsx';
import { ErrorNotice } from '../../ui/feedback.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { OneTimeSecret } from '../../ui/one-time-secret.tsx';
import { DEFAULT_OVERLAP_SECONDS, NoOverlapNotice, OverlapField } from '../../ui/overlap-field.tsx';
import { TimeText } from '../../ui/text.tsx';

export interface CreateKeyDialogProps {
  readonly projectId: string;
  /** Scopes of the project; a key may have fewer. */
  readonly scopes: readonly Scope[];
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Creates a key and shows its secret once. */
export function CreateKeyDialog({ projectId, scopes, isOpen, onClose }: CreateKeyDialogProps) {
  return (
    <Dialog title="Create an API key" isOpen={isOpen} onClose={onClose}>
      <CreateKeyForm {...{ projectId, scopes, onClose }} />
    </Dialog>
  );
}

function CreateKeyForm({ projectId, scopes, onClose }: Omit<CreateKeyDialogProps, 'isOpen'>) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [expiry, setExpiry] = useState<Expiry>('0');
  const [removed, setRemoved] = useState<ReadonlySet<Scope>>(new Set());
  const selected = scopes.filter((scope) => !removed.has(scope));
  const create = useMutation({
    mutationFn: () =>
      call(KEY_OPERATIONS.createKey, {
        params: { projectId },
        body: {
          scopes: selected,
          ...(name.trim() === '' ? {} : { name: name.trim() }),
          ...expiresAtOf(expiry),
        },
      }),
    // Not awaited: the secret must not wait for the list.
    onSuccess: () => void queries.invalidateQueries(keysQuery(projectId)),
  });
  useHeldDialog(create.isPending);
  if (create.data) {
    return <NewKey secret={create.data.apiKey} onClose={onClose} />;
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const toggle = (scope: Scope) => (isSelected: boolean) => {
    const next = new Set(removed);
    if (isSelected) next.delete(scope);
    else next.add(scope);
    setRemoved(next);
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
          <Checkbox key={scope} checked={!removed.has(scope)} onChange={toggle(scope)}>
            {scope === 'burn' ? 'Burns' : 'Airdrops'}
          </Checkbox>
        ))}
      </div>
      <ExpiryField value={expiry} onChange={setExpiry} />
      {create.error && <ErrorNotice error={create.error} />}
      <DialogButtons>
        <Button type="submit" tone="primary" isBusy={create.isPending} disabled={selected.length === 0}>
          Create the key
        </Button>
      </DialogButtons>
    </form>
  );
}

const DAY_MS = 86_400_000;

/** Days until a key expires. */
const LIFETIMES = { '0': 'never', '30': 'in 30 days', '90': 'in 90 days', '365': 'in a year' } as const;

/** A lifetime, or the expiry of the key that a new one replaces. */
type Expiry = keyof typeof LIFETIMES | 'old';

interface ExpiryFieldProps {
  readonly value: Expiry;
  readonly onChange: (value: Expiry) => void;
  /** Expiry of the key that is replaced; undefined if it has none. */
  readonly oldExpiresAt?: string | undefined;
}

/** Selects when a new key expires. */
function ExpiryField({ value, onChange, oldExpiresAt }: ExpiryFieldProps) {
  const hint = value === 'old' && oldExpiresAt !== undefined && (
    <>
      The new key expires at <TimeText at={oldExpiresAt} />.
    </>
  );
  const choices = Object.entries(LIFETIMES);
  return (
    <SelectField
      label="Expires"
      value={value}
      hint={hint}
      // Every option is an `Expiry`.
      onChange={({ target }) => onChange(target.value as Expiry)}
    >
      {oldExpiresAt !== undefined && <option value="old">when the old key would</option>}
      {choices.map(([days, label]) => (
        <option key={days} value={days}>
          {label}
        </option>
      ))}
    </SelectField>
  );
}

/** The field of a request that creates a key; absent for a key that never expires. */
function expiresAtOf(expiry: Expiry, oldExpiresAt?: string): { readonly expiresAt?: string } {
  if (expiry === 'old') return oldExpiresAt === undefined ? {} : { expiresAt: oldExpiresAt };
  return expiry === '0' ? {} : { expiresAt: new Date(serviceNow() + Number(expiry) * DAY_MS).toISOString() };
}

export interface KeyDialogProps {
  readonly projectId: string;
  readonly apiKey: KeySummary;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Replaces a key with a new one, whose secret it shows once. */
export function RotateKeyDialog({ isOpen, onClose, ...rest }: KeyDialogProps) {
  return (
    <Dialog title={`Rotate ${displayName(rest.apiKey)}`} isOpen={isOpen} onClose={onClose}>
      <RotateForm onClose={onClose} {...rest} />
    </Dialog>
  );
}

function RotateForm({ projectId, apiKey, onClose }: Omit<KeyDialogProps, 'isOpen'>) {
  const queries = useQueryClient();
  const [overlapSeconds, setOverlapSeconds] = useState(DEFAULT_OVERLAP_SECONDS);
  const oldExpiresAt = apiKey.expiresAt;
  const [expiry, setExpiry] = useState<Expiry>(oldExpiresAt === undefined ? '0' : 'old');
  const rotate = useMutation({
    mutationFn: () => rotateKey(projectId, apiKey.keyId, { overlapSeconds, ...expiresAtOf(expiry, oldExpiresAt) }),
    // Not awaited: the secret must not wait for the list.
    onSuccess: () => void queries.invalidateQueries(keysQuery(projectId)),
  });
  useHeldDialog(rotate.isPending);
  if (rotate.data) {
    return (
      <NewKey secret={rotate.data.apiKey} onClose={onClose}>
        {overlapSeconds === 0 ? (
          'The old key stopped working. Switch to the new one now.'
        ) : (
          <>
            The old key works until <TimeText at={rotate.data.replacedExpiresAt} />. Switch to the new one before then.
          </>
        )}
      </NewKey>
    );
  }
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    rotate.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <p>The new key has the same name and scopes. Both keys work until the overlap ends.</p>
      <OverlapField label="Keep the old key working for" seconds={overlapSeconds} onChange={setOverlapSeconds} />
      <ExpiryField value={expiry} onChange={setExpiry} oldExpiresAt={oldExpiresAt} />
      {overlapSeconds === 0 && (
        <NoOverlapNotice>
          The old key stops at once. Your programs are refused until they have the new one.
        </NoOverlapNotice>
      )}
      {rotate.error && <ErrorNotice error={rotate.error} />}
      <DialogButtons>
        <Button type="submit" tone={overlapSeconds === 0 ? 'danger' : 'primary'} isBusy={rotate.isPending}>
          {overlapSeconds === 0 ? 'Create the new key and end the old one' : 'Create the new key'}
        </Button>
      </DialogButtons>
    </form>
  );
}

/** Revokes a key after the person has typed its name. */
export function RevokeKeyDialog({ projectId, apiKey, isOpen, onClose }: KeyDialogProps) {
  const queries = useQueryClient();
  const name = displayName(apiKey);
  const revoke = async () => {
    await revokeKey(projectId, apiKey.keyId);
    await queries.invalidateQueries(keysQuery(projectId));
  };
  return (
    <ConfirmDialog
      // A key and the one that replaces it have the same name.
      title={name === apiKey.prefix ? `Revoke ${name}…?` : `Revoke ${name}, ${apiKey.prefix}…?`}
      name={name}
      verb="Revoke the key"
      isOpen={isOpen}
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>
        Requests with <code className="text-sm">{apiKey.prefix}…</code> fail immediately, and its open batches that your
        wallet has not approved are cancelled. You cannot undo this. To replace a key without downtime, rotate it
        instead.
      </p>
    </ConfirmDialog>
  );
}

/** Name of a key for people: its own, or its prefix if it has none. */
export function displayName({ name, prefix }: Pick<KeySummary, 'name' | 'prefix'>): string {
  return name ?? prefix;
}

interface NewKeyProps {
  readonly secret: string;
  readonly onClose: () => void;
  /** A note below the key. */
  readonly children?: ReactNode;
}

/** Shows a new key once. */
function NewKey({ secret, onClose, children }: NewKeyProps) {
  return (
    <div className="flex flex-col gap-4">
      <OneTimeSecret
        name="Your new API key"
        secret={secret}
        ifLost="If you lose it, create another one and revoke this one."
      />
      {children !== undefined && <p>{children}</p>}
      <div>
        <Button onClick={onClose}>I have stored it</Button>
      </div>
    </div>
  );
}
