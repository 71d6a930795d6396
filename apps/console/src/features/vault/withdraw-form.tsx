import type { ProjectOverview, WithdrawalRequest } from '@flywheel/api';
import { isAddress, isOffCurveAddress } from '@solana/kit';
import { type SubmitEvent, useState } from 'react';
import { withSeparators } from '../../lib/text/amount.ts';
import { tokenUnit } from '../../lib/text/token-name.ts';
import { Button } from '../../ui/form/button.tsx';
import { Choice } from '../../ui/form/choice.tsx';
import { TextField } from '../../ui/form/field.tsx';
import { ErrorNotice } from '../../ui/state/notice.tsx';
import { type Holding, holdingsOf, withdrawProblem } from './withdraw-amounts.ts';

export interface WithdrawFormProps {
  readonly project: ProjectOverview;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onChange: () => void;
  readonly onSubmit: (request: WithdrawalRequest) => void;
}

/** What, how much, to whom. */
export function WithdrawForm({ project, isBusy, error, onChange, onSubmit }: WithdrawFormProps) {
  const [asset, setAsset] = useState<WithdrawalRequest['asset']>('SOL');
  const [to, setTo] = useState('');
  const [amount, setAmount] = useState('');
  const unit = tokenUnit(project.token);
  const holding = holdingsOf(project)[asset];
  const problems = { to: addressProblem(to, project.vaultAddress), amount: withdrawProblem(amount, holding) };
  const isReady = to !== '' && amount !== '' && problems.to === null && problems.amount === null;
  const edited = (set: (text: string) => void) => (text: string) => {
    set(text.replaceAll(',', '').trim());
    onChange();
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isReady) onSubmit({ asset, to, amount });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <p>
        It leaves the vault once your wallet and the company have approved it, like any batch. No daily limit counts it.
      </p>
      <Choice
        label="What to take out"
        value={asset}
        onChange={(chosen) => {
          setAsset(chosen);
          onChange();
        }}
        options={[
          { value: 'SOL', title: 'SOL', text: 'Leave nothing, or 0.00089088 at least: the chain takes no less.' },
          { value: 'TOKEN', title: unit, text: 'The vault pays for the recipient’s token account if it has none.' },
        ]}
      />
      <TextField
        label="To the wallet"
        value={to}
        onChange={({ target }) => edited(setTo)(target.value)}
        error={to === '' ? null : problems.to}
        hint="Where it goes cannot be changed any more once it is approved."
        required
      />
      <AmountField
        {...{ amount, holding }}
        unit={asset === 'SOL' ? 'SOL' : unit}
        problem={amount === '' ? null : problems.amount}
        onChange={edited(setAmount)}
      />
      {error && <ErrorNotice error={error} />}
      <Button type="submit" isBusy={isBusy} disabled={!isReady} className="self-start">
        Set up the withdrawal
      </Button>
    </form>
  );
}

interface AmountFieldProps {
  readonly amount: string;
  readonly unit: string;
  readonly holding: Holding;
  readonly problem: string | null;
  readonly onChange: (amount: string) => void;
}

function AmountField({ amount, unit, holding, problem, onChange }: AmountFieldProps) {
  const { available } = holding;
  return (
    <div className="flex items-start gap-3">
      <TextField
        label={`Amount, ${unit}`}
        inputMode="decimal"
        value={amount}
        onChange={({ target }) => onChange(target.value)}
        error={problem}
        hint={
          available === null ? 'The cluster does not say what the vault holds.' : `Of ${withSeparators(available)}.`
        }
        className="flex-1"
        required
      />
      {available !== null && (
        <Button tone="quiet" className="mt-6" onClick={() => onChange(available)}>
          Everything
        </Button>
      )}
    </div>
  );
}

function addressProblem(text: string, vault: string): string | null {
  if (text === vault) return 'This is the vault itself.';
  if (!isAddress(text)) return 'A Solana address: 32 to 44 letters and digits.';
  return isOffCurveAddress(text) ? 'No wallet has this address: it belongs to a program.' : null;
}
