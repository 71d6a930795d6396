import type { ProjectOverview, ProjectSettings } from '@flywheel/api';
import { groupDigits } from '@flywheel/protocol';
import { type SubmitEvent, useState } from 'react';
import { limitIssue, toFinestUnits } from '../../lib/amounts.ts';
import { changeLimits } from '../../lib/api/projects.ts';
import { amountWithUnit, tokenUnit } from '../../lib/format.ts';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { AmountText } from '../../ui/text.tsx';
import { SaveError, useSaveSettings } from './save-settings.tsx';

export interface LimitsPanelProps {
  readonly project: ProjectOverview;
  readonly settings: ProjectSettings;
  readonly canEdit: boolean;
}

/** Shows the daily limits and edits them. */
export function LimitsPanel({ project, settings, canEdit }: LimitsPanelProps) {
  const [isEditing, setEditing] = useState(false);
  const unit = tokenUnit(project.token);
  const limits = [
    {
      name: 'Daily burn limit',
      amount: settings.burnLimit,
      ofCompany: settings.companyTerms.burnLimit,
      used: project.limits.burn.used,
      scope: 'burn',
    },
    {
      name: 'Daily airdrop limit',
      amount: settings.airdropLimit,
      ofCompany: settings.companyTerms.airdropLimit,
      used: project.limits.airdrop.used,
      scope: 'airdrop',
    },
  ] as const;
  return (
    <Panel
      title="Daily limits"
      aside={
        canEdit &&
        !isEditing && (
          <Button size="small" onClick={() => setEditing(true)}>
            Change limits
          </Button>
        )
      }
    >
      {isEditing ? (
        <LimitsForm {...{ project, settings }} onDone={() => setEditing(false)} />
      ) : (
        <dl className="flex flex-col gap-4">
          {limits.map(({ name, amount, ofCompany, used, scope }) => (
            <div key={name}>
              <dt className="text-sm text-quiet">{name}</dt>
              <dd className="text-lg font-semibold">
                <AmountText amount={amount} unit={unit} />
              </dd>
              <dd className="text-sm text-quiet">
                {settings.scopes.includes(scope) ? (
                  <>
                    <AmountText amount={used} unit={unit} /> used today
                  </>
                ) : (
                  `Not available: the project was registered without ${scope}s.`
                )}
              </dd>
              {toFinestUnits(amount) > toFinestUnits(ofCompany) && (
                <dd className="text-sm text-quiet">
                  The company approves <AmountText amount={ofCompany} unit={unit} /> a day without one of its operators.
                  Batches above that wait for one.
                </dd>
              )}
            </div>
          ))}
        </dl>
      )}
    </Panel>
  );
}

interface LimitsFormProps {
  readonly project: ProjectOverview;
  readonly settings: ProjectSettings;
  readonly onDone: () => void;
}

function LimitsForm({ project, settings, onDone }: LimitsFormProps) {
  const [typed, setTyped] = useState<Partial<Limits>>({});
  const { seen, save } = useSaveSettings({
    projectId: project.id,
    settings,
    send: (from) => changeLimits(project.id, { ...limitsOf(from), ...typed, from: limitsOf(from) }),
    onDone,
  });
  const { burnLimit, airdropLimit } = { ...limitsOf(seen), ...typed };
  const { decimals } = project.token;
  const errors = [limitIssue(burnLimit, decimals), limitIssue(airdropLimit, decimals)];
  const isUnchanged = burnLimit === seen.burnLimit && airdropLimit === seen.airdropLimit;
  const isReady = errors.every((error) => error === null) && !isUnchanged;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isReady) save.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <LimitField
        label="Daily burn limit"
        value={burnLimit}
        current={seen.burnLimit}
        error={errors[0] ?? null}
        onChange={(limit) => setTyped({ ...typed, burnLimit: limit })}
      />
      <LimitField
        label="Daily airdrop limit"
        value={airdropLimit}
        current={seen.airdropLimit}
        error={errors[1] ?? null}
        onChange={(limit) => setTyped({ ...typed, airdropLimit: limit })}
      />
      {save.error && <SaveError error={save.error} />}
      <div className="flex gap-3">
        <Button type="submit" tone="primary" isBusy={save.isPending} disabled={!isReady}>
          Save limits
        </Button>
        <Button disabled={save.isPending} onClick={onDone}>
          Cancel
        </Button>
      </div>
    </form>
  );
}

type Limits = Pick<ProjectSettings, 'burnLimit' | 'airdropLimit'>;

function limitsOf({ burnLimit, airdropLimit }: ProjectSettings): Limits {
  return { burnLimit, airdropLimit };
}

interface LimitFieldProps {
  readonly label: string;
  readonly value: string;
  readonly current: string;
  readonly error: string | null;
  readonly onChange: (value: string) => void;
}

function LimitField({ label, value, current, error, onChange }: LimitFieldProps) {
  return (
    <TextField
      label={`${label}, tokens`}
      inputMode="decimal"
      value={value}
      onChange={({ target }) => onChange(target.value.trim())}
      error={error}
      hint={value === current ? 'No change' : `${groupDigits(current)} → ${amountWithUnit(value, 'tokens')}`}
      required
    />
  );
}
