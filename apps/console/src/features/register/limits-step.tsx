import type { SubmitEvent } from 'react';
import { groupDigits, limitError } from '../../lib/amounts.ts';
import { Button } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/checkbox.tsx';
import { TextField } from '../../ui/fields.tsx';
import type { StepProps } from './draft.ts';

/** What the project may do, and how much of it a day. */
export function LimitsStep({ draft, onChange, onNext }: StepProps) {
  const decimals = draft.token?.decimals ?? 0;
  const burnError = limitError(draft.burnLimit, decimals);
  const airdropError = limitError(draft.airdropLimit, decimals);
  const allowsNothing = !draft.isBurnAllowed && !draft.isAirdropAllowed;
  const isReady = !burnError && !airdropError && !allowsNothing;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isReady) onNext();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      <p className="text-quiet">
        A stolen API key can ask for no more than this, and even that waits for your vote. A day is a UTC day.
      </p>
      <div className="grid gap-5 sm:grid-cols-2">
        <div className="flex flex-col gap-3">
          <Checkbox checked={draft.isBurnAllowed} onChange={(isBurnAllowed) => onChange({ isBurnAllowed })}>
            Burns
          </Checkbox>
          <TextField
            label="Burn limit a day, whole tokens"
            inputMode="decimal"
            value={draft.burnLimit}
            onChange={({ target }) => onChange({ burnLimit: plain(target.value) })}
            error={burnError}
            hint={groupDigits(draft.burnLimit)}
          />
        </div>
        <div className="flex flex-col gap-3">
          <Checkbox checked={draft.isAirdropAllowed} onChange={(isAirdropAllowed) => onChange({ isAirdropAllowed })}>
            Airdrops
          </Checkbox>
          <TextField
            label="Airdrop limit a day, whole tokens"
            inputMode="decimal"
            value={draft.airdropLimit}
            onChange={({ target }) => onChange({ airdropLimit: plain(target.value) })}
            error={airdropError}
            hint={groupDigits(draft.airdropLimit)}
          />
        </div>
      </div>
      {allowsNothing && <p className="text-sm text-failed">Allow burns, airdrops or both.</p>}
      <div>
        <Button type="submit" tone="primary" disabled={!isReady}>
          Continue
        </Button>
      </div>
    </form>
  );
}

function plain(text: string): string {
  return text.replaceAll(',', '').trim();
}
