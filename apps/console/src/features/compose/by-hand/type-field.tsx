import type { ProofType } from '@flywheel/api';
import { SelectField, TextField } from '../../../ui/form/field.tsx';

export interface TypeFieldProps {
  readonly type: string;
  readonly proofTypes: readonly ProofType[];
  readonly onChange: (type: string) => void;
}

/** One of the registered types, or any where none is registered. */
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
  const hint = proofTypes.find((known) => known.type === type)?.description;
  return (
    <SelectField
      label="Proof type"
      value={type}
      hint={hint}
      onChange={({ target }) => onChange(target.value)}
      className="flex-1"
    >
      {proofTypes.map((known) => (
        <option key={known.type}>{known.type}</option>
      ))}
    </SelectField>
  );
}
