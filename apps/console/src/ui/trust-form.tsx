import { type SubmitEvent, useState } from 'react';
import { Button } from './button.tsx';
import { TextField } from './fields.tsx';

export interface TrustFormProps {
  /** Name of the address's owner, for example `vault`. */
  readonly of: string;
  /** The address that this page shows. */
  readonly address: string;
  readonly onTrust: () => void;
}

/** Asks the person for an address that they know from elsewhere; only the same one is trusted. */
export function TrustForm({ of, address, onTrust }: TrustFormProps) {
  const [typed, setTyped] = useState('');
  const isSame = typed.trim() === address;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isSame) onTrust();
  };
  return (
    <form onSubmit={submit} className="mt-3 flex flex-col gap-3">
      <TextField
        label={`Address of the ${of}, as you know it from elsewhere`}
        value={typed}
        error={typed === '' || isSame || typed.trim().length < address.length ? null : `This page shows another ${of}.`}
        onChange={({ target }) => setTyped(target.value)}
      />
      <div>
        <Button type="submit" tone="danger" disabled={!isSame}>
          Trust this {of}
        </Button>
      </div>
    </form>
  );
}
