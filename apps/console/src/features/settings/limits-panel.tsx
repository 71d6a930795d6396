import type { ProjectOverview, ProjectSettings } from '@flywheel/api';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { groupDigits, limitError } from '../../lib/amounts.ts';
import { changeLimits } from '../../lib/api/projects.ts';
import { tokenUnit } from '../../lib/format.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { AmountText } from '../../ui/text.tsx';

export interface LimitsPanelProps {
  readonly project: ProjectOverview;
  readonly settings: ProjectSettings;
  readonly mayChange: boolean;
}

/** What may be burned and airdropped a day, and the way to change it. */
export function LimitsPanel({ project, settings, mayChange }: LimitsPanelProps) {
  const [isEditing, setEditing] = useState(false);
  const unit = tokenUnit(project.token);
  const limits = [
    { name: 'Burned a day, at most', amount: settings.burnLimit, used: project.limits.burn.used, scope: 'burn' },
    {
      name: 'Airdropped a day, at most',
      amount: settings.airdropLimit,
      used: project.limits.airdrop.used,
      scope: 'airdrop',
    },
  ] as const;
  return (
    <Panel
      title="Daily limits"
      aside={
        mayChange &&
        !isEditing && (
          <Button size="small" onClick={() => setEditing(true)}>
            Change the limits
          </Button>
        )
      }
    >
      {isEditing ? (
        <LimitsForm {...{ project, settings }} onDone={() => setEditing(false)} />
      ) : (
        <dl className="flex flex-col gap-4">
          {limits.map(({ name, amount, used, scope }) => (
            <div key={name}>
              <dt className="text-sm text-quiet">{name}</dt>
              <dd className="text-lg font-semibold">
                <AmountText amount={amount} unit={unit} />
              </dd>
              <dd className="text-sm text-quiet">
                {settings.scopes.includes(scope) ? (
                  <>
                    <AmountText amount={used} /> used today
                  </>
                ) : (
                  `The project was registered without ${scope}s: no key can ask for one.`
                )}
              </dd>
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
  const queries = useQueryClient();
  const [burnLimit, setBurnLimit] = useState(settings.burnLimit);
  const [airdropLimit, setAirdropLimit] = useState(settings.airdropLimit);
  const change = useMutation({
    mutationFn: () => changeLimits(project.id, { burnLimit, airdropLimit }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['project', project.id] });
      onDone();
    },
  });
  const { decimals } = project.token;
  const problems = [limitError(burnLimit, decimals), limitError(airdropLimit, decimals)];
  const isSame = burnLimit === settings.burnLimit && airdropLimit === settings.airdropLimit;
  const isReady = problems.every((problem) => problem === null) && !isSame;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isReady) change.mutate();
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <LimitField
        label="Burned a day, at most"
        value={burnLimit}
        before={settings.burnLimit}
        problem={problems[0] ?? null}
        onChange={setBurnLimit}
      />
      <LimitField
        label="Airdropped a day, at most"
        value={airdropLimit}
        before={settings.airdropLimit}
        problem={problems[1] ?? null}
        onChange={setAirdropLimit}
      />
      {change.error && <ErrorNotice error={change.error} />}
      <div className="flex gap-3">
        <Button type="submit" tone="primary" isBusy={change.isPending} disabled={!isReady}>
          Save the limits
        </Button>
        <Button onClick={onDone}>Keep them</Button>
      </div>
    </form>
  );
}

interface LimitFieldProps {
  readonly label: string;
  readonly value: string;
  readonly before: string;
  readonly problem: string | null;
  readonly onChange: (value: string) => void;
}

function LimitField({ label, value, before, problem, onChange }: LimitFieldProps) {
  return (
    <TextField
      label={`${label}, whole tokens`}
      inputMode="decimal"
      value={value}
      onChange={({ target }) => onChange(target.value.replaceAll(',', '').trim())}
      error={problem}
      hint={value === before ? 'As it is.' : `${groupDigits(before)} → ${groupDigits(value)}`}
      required
    />
  );
}
