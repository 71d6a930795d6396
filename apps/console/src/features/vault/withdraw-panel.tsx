import type { Asset, ProjectOverview, Withdrawal, WithdrawalRequest } from '@flywheel/api';
import { toBaseUnits, toDecimal } from '@flywheel/protocol';
import { isAddress, isOffCurveAddress } from '@solana/kit';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';
import { groupDigits, SOL_DECIMALS, toSol } from '../../lib/amounts.ts';
import { useOwnsProject } from '../../lib/api/projects.ts';
import { withdraw } from '../../lib/api/treasury.ts';
import { tokenUnit } from '../../lib/format.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { ErrorNotice, Notice } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { RadioGroup } from '../../ui/radio-group.tsx';

/** Takes SOL or tokens out of the vault, as a batch that both sides approve; for the project’s own wallet only. */
export function WithdrawPanel({ project }: { readonly project: ProjectOverview }) {
  const mayChange = useOwnsProject(project.id);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [key, setKey] = useState(newKey);
  const ask = useMutation({
    mutationFn: (request: Parameters<typeof withdraw>[2]) => withdraw(project.id, key, request),
    onSuccess: async ({ batchId, warnings }) => {
      void queries.invalidateQueries({ queryKey: ['project', project.id] });
      const params = { projectId: project.id, batchId };
      if (warnings.length === 0) await navigate({ to: '/p/$projectId/approve/$batchId', params });
    },
  });
  const again = () => {
    setKey(newKey());
    ask.reset();
  };
  if (!mayChange) return null;
  return (
    <Panel title="Withdraw">
      {ask.data ? (
        <WithdrawalWarnings projectId={project.id} withdrawal={ask.data} onAgain={again} />
      ) : (
        <WithdrawForm
          project={project}
          isBusy={ask.isPending}
          error={ask.error}
          onChange={() => ask.isError && again()}
          onSubmit={(request) => ask.mutate(request)}
        />
      )}
    </Panel>
  );
}

/** Another request is another withdrawal; the same one, sent again, is not. */
function newKey(): string {
  return crypto.randomUUID();
}

interface WithdrawalWarningsProps {
  readonly projectId: string;
  readonly withdrawal: Withdrawal;
  readonly onAgain: () => void;
}

function WithdrawalWarnings({ projectId, withdrawal: { batchId, warnings }, onAgain }: WithdrawalWarningsProps) {
  return (
    <div className="flex flex-col gap-4">
      <Notice tone="waiting" title="The withdrawal is being set up. Before you approve it">
        <ul className="mt-1 flex list-disc flex-col gap-1 pl-4">
          {warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      </Notice>
      <div className="flex flex-wrap gap-3">
        <ButtonLink to="/p/$projectId/approve/$batchId" params={{ projectId, batchId }} tone="primary">
          Review and approve
        </ButtonLink>
        <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }}>
          Open it to cancel
        </ButtonLink>
        <Button tone="quiet" onClick={onAgain}>
          Withdraw more
        </Button>
      </div>
    </div>
  );
}

interface WithdrawFormProps {
  readonly project: ProjectOverview;
  readonly isBusy: boolean;
  readonly error: Error | null;
  readonly onChange: () => void;
  readonly onSubmit: (request: WithdrawalRequest) => void;
}

/** What, how much, to whom. */
function WithdrawForm({ project, isBusy, error, onChange, onSubmit }: WithdrawFormProps) {
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
      <RadioGroup
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
        hint={available === null ? 'The cluster does not say what the vault holds.' : `Of ${groupDigits(available)}.`}
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

/** Of one asset in the vault. */
interface Holding {
  readonly decimals: number;
  /** Decimal; null while the cluster does not answer. */
  readonly available: string | null;
  /** Base units that must stay, unless nothing does. */
  readonly least: bigint;
}

/** What the chain lets a vault hold at least: rent for its 128 bytes of metadata. */
const LEAST_LAMPORTS = 890_880n;

/** What can be taken out of a project’s vault; what is not known yet is null. */
function holdingsOf({ funds, token }: ProjectOverview): Readonly<Record<Asset, Holding>> {
  const lamports = funds?.lamports.available;
  return {
    SOL: {
      decimals: SOL_DECIMALS,
      available: lamports === undefined ? null : toSol(lamports),
      least: LEAST_LAMPORTS,
    },
    TOKEN: { decimals: token.decimals, available: funds?.tokens.available ?? null, least: 0n },
  };
}

/** Why so much cannot be withdrawn, a sentence; null when it can, as far as this page knows. */
function withdrawProblem(amount: string, { decimals, available, least }: Holding): string | null {
  if (!/^\d+(\.\d+)?$/.test(amount)) return 'A number, e.g. 10 or 0.5.';
  const asked = toBaseUnits(amount, decimals);
  if (asked === null) return `It has ${decimals} decimals; this has more.`;
  if (asked === 0n) return 'More than nothing.';
  const held = available === null ? null : toBaseUnits(available, decimals);
  if (held === null) return null;
  if (asked > held) return `The vault holds ${available}.`;
  const left = held - asked;
  if (left > 0n && left < least) {
    return `That leaves ${toDecimal(left, decimals)}. Leave ${toDecimal(least, decimals)} at least, or nothing.`;
  }
  return null;
}
