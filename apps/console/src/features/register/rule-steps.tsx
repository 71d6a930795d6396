import type { SubmitEvent } from 'react';
import { limitIssue } from '../../lib/amounts.ts';
import { APPROVAL_MODE_NAMES, amountWithUnit } from '../../lib/format.ts';
import { Button } from '../../ui/button.tsx';
import { Checkbox } from '../../ui/checkbox.tsx';
import { TextField } from '../../ui/fields.tsx';
import { RadioGroup } from '../../ui/radio-group.tsx';
import { findDraftIssue } from '../proof-types/draft.ts';
import { ProofTypesEditor } from '../proof-types/proof-types-editor.tsx';
import { hasValidLimits, type StepProps } from './draft.ts';

/** Step 2: allowed actions and their daily limits. */
export function LimitsStep({ draft, onChange, onNext }: StepProps) {
  const decimals = draft.token?.decimals ?? 0;
  const burnError = limitIssue(draft.burnLimit, decimals);
  const airdropError = limitIssue(draft.airdropLimit, decimals);
  const allowsNothing = !draft.isBurnAllowed && !draft.isAirdropAllowed;
  const isReady = hasValidLimits(draft);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isReady) onNext();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      <p className="text-quiet">
        A stolen API key cannot request more than this, and every batch still needs your approval. A day is a UTC day.
      </p>
      <div className="grid gap-5 sm:grid-cols-2">
        <div className="flex flex-col gap-3">
          <Checkbox checked={draft.isBurnAllowed} onChange={(isBurnAllowed) => onChange({ isBurnAllowed })}>
            Burns
          </Checkbox>
          <TextField
            label="Daily burn limit, tokens"
            inputMode="decimal"
            value={draft.burnLimit}
            onChange={({ target }) => onChange({ burnLimit: target.value.trim() })}
            error={burnError}
            hint={amountWithUnit(draft.burnLimit, 'tokens')}
          />
        </div>
        <div className="flex flex-col gap-3">
          <Checkbox checked={draft.isAirdropAllowed} onChange={(isAirdropAllowed) => onChange({ isAirdropAllowed })}>
            Airdrops
          </Checkbox>
          <TextField
            label="Daily airdrop limit, tokens"
            inputMode="decimal"
            value={draft.airdropLimit}
            onChange={({ target }) => onChange({ airdropLimit: target.value.trim() })}
            error={airdropError}
            hint={amountWithUnit(draft.airdropLimit, 'tokens')}
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

/** Step 3: proof types that pipelines may have. */
export function ProofTypesStep({ draft, onChange, onNext }: StepProps) {
  const issue = findDraftIssue(draft.proofTypes);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (issue === null) onNext();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      <p className="text-quiet">
        A proof type names what a user did, for example WATCH_AD. If you register any, the service rejects pipelines of
        other types. If you register none, it accepts any type.
      </p>
      <ProofTypesEditor drafts={draft.proofTypes} onChange={(proofTypes) => onChange({ proofTypes })} />
      {issue !== null && <p className="text-sm break-words text-failed">{issue}</p>}
      <div>
        <Button type="submit" tone="primary" disabled={issue !== null}>
          {draft.proofTypes.length === 0 ? 'Continue without proof types' : 'Continue'}
        </Button>
      </div>
    </form>
  );
}

/** Step 4: how the company approves. The project always approves with its wallet. */
export function ApprovalStep({ draft, onChange, onNext }: StepProps) {
  return (
    <div className="flex flex-col gap-5">
      <p className="text-quiet">
        Every batch needs two approvals: one by your wallet, one by the company. How should the company approve?
      </p>
      <RadioGroup
        label="Company approval"
        value={draft.approvalMode}
        onChange={(approvalMode) => onChange({ approvalMode })}
        options={[
          {
            value: 'automatic',
            title: APPROVAL_MODE_NAMES.automatic,
            text: 'Immediately, if the checks of limits, proofs, funds and simulation pass. Withdrawals still need an operator of the company.',
          },
          {
            value: 'manual',
            title: APPROVAL_MODE_NAMES.manual,
            text: 'An operator of the company reviews every batch first.',
          },
        ]}
      />
      <div>
        <Button tone="primary" onClick={onNext}>
          Continue
        </Button>
      </div>
    </div>
  );
}
