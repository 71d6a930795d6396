import { Trash2 } from 'lucide-react';
import { classes } from '../../../ui/classes.ts';
import { Button } from '../../../ui/form/button.tsx';
import { SelectField, TextField } from '../../../ui/form/field.tsx';
import { type ActionDraft, type ActionKind, amountProblem, recipientProblem } from './pipeline-draft.ts';

export interface ActionFieldsProps {
  readonly action: ActionDraft;
  readonly decimals: number;
  readonly onChange: (change: Partial<ActionDraft>) => void;
  readonly onRemove: (() => void) | null;
}

/** What an action takes, by its kind. */
export function ActionFields({ action, decimals, onChange, onRemove }: ActionFieldsProps) {
  const choose = (chosen: string) => {
    const kind = KINDS.find((known) => known.kind === chosen)?.kind;
    if (kind) onChange({ kind });
  };
  return (
    <div className="flex flex-wrap items-start gap-3">
      <SelectField label="Action" value={action.kind} onChange={({ target }) => choose(target.value)} className="w-28">
        {KINDS.map(({ kind, word }) => (
          <option key={kind} value={kind}>
            {word}
          </option>
        ))}
      </SelectField>
      {action.kind === 'AIRDROP' && (
        <TextField
          label="Recipient’s wallet"
          value={action.toAddress}
          onChange={({ target }) => onChange({ toAddress: target.value.trim() })}
          error={action.toAddress === '' ? null : recipientProblem(action)}
          className="min-w-56 flex-1 [&_input]:font-mono"
        />
      )}
      <div className={classes('flex items-start gap-3', action.kind === 'MEMO' && 'min-w-56 flex-1')}>
        {action.kind === 'MEMO' ? (
          <TextField
            label="Text"
            value={action.message}
            onChange={({ target }) => onChange({ message: target.value })}
            className="min-w-0 flex-1"
          />
        ) : (
          <TextField
            label="Whole tokens"
            inputMode="decimal"
            value={action.amount}
            onChange={({ target }) => onChange({ amount: target.value.replaceAll(',', '').trim() })}
            error={action.amount === '' ? null : amountProblem(action, { decimals })}
            className="w-32 sm:w-36 [&_input]:text-right"
          />
        )}
        {onRemove && (
          <Button tone="quiet" onClick={onRemove} aria-label="Remove this action" className="mt-6">
            <Trash2 size={16} aria-hidden />
          </Button>
        )}
      </div>
    </div>
  );
}

const KINDS: readonly { readonly kind: ActionKind; readonly word: string }[] = [
  { kind: 'BURN', word: 'Burn' },
  { kind: 'AIRDROP', word: 'Airdrop' },
  { kind: 'MEMO', word: 'Memo' },
];
