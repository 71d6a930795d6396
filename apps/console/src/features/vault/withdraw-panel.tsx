import type { Asset, ProjectOverview, Withdrawal, WithdrawalRequest } from '@flywheel/api';
import { isPlainDecimal, MIN_VAULT_LAMPORTS, SOL_DECIMALS, toBaseUnits, toDecimal } from '@flywheel/protocol';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type SubmitEvent, useState } from 'react';
import { toSol } from '../../lib/amounts.ts';
import { useOwnsProject } from '../../lib/api/projects.ts';
import { withdraw } from '../../lib/api/treasury.ts';
import { amountWithUnit, tokenUnit } from '../../lib/format.ts';
import { walletAddressError } from '../../lib/wallet/address.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { ErrorNotice, Notice } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';
import { RadioGroup } from '../../ui/radio-group.tsx';

/** Withdraws SOL or tokens from the vault, as a batch that both approvers sign; shown to the project’s wallet only. */
export function WithdrawPanel({ project }: { readonly project: ProjectOverview }) {
  const isOwner = useOwnsProject(project.id);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [key, setKey] = useState(newKey);
  const withdrawal = useMutation({
    mutationFn: (request: WithdrawalRequest) => withdraw(project.id, key, request),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['project', project.id] }),
  });
  const create = (request: WithdrawalRequest) =>
    withdrawal.mutate(request, {
      // Given here, it is not called for a person who has left this screen meanwhile.
      onSuccess: ({ batchId, warnings }) => {
        const params = { projectId: project.id, batchId };
        if (warnings.length === 0) void navigate({ to: '/p/$projectId/approve/$batchId', params });
      },
    });
  const startOver = () => {
    setKey(newKey());
    withdrawal.reset();
  };
  if (!isOwner) return null;
  return (
    <Panel title="Withdraw">
      {withdrawal.data ? (
        <WithdrawalWarnings projectId={project.id} withdrawal={withdrawal.data} onStartOver={startOver} />
      ) : (
        <WithdrawForm
          project={project}
          isBusy={withdrawal.isPending}
          error={withdrawal.error}
          onChange={() => withdrawal.isError && startOver()}
          onSubmit={create}
        />
      )}
    </Panel>
  );
}

/** Creates the idempotency key of one withdrawal; sending the same request again with it withdraws once. */
function newKey(): string {
  return crypto.randomUUID();
}

interface WithdrawalWarningsProps {
  readonly projectId: string;
  readonly withdrawal: Withdrawal;
  readonly onStartOver: () => void;
}

function WithdrawalWarnings({ projectId, withdrawal: { batchId, warnings }, onStartOver }: WithdrawalWarningsProps) {
  return (
    <div className="flex flex-col gap-4">
      <Notice tone="waiting" title="Check this before you approve the withdrawal">
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
          View or cancel
        </ButtonLink>
        <Button tone="quiet" onClick={onStartOver}>
          New withdrawal
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

/** Asks for asset, recipient and amount. */
function WithdrawForm({ project, isBusy, error, onChange, onSubmit }: WithdrawFormProps) {
  const [asset, setAsset] = useState<WithdrawalRequest['asset']>('SOL');
  const [to, setTo] = useState('');
  const [amount, setAmount] = useState('');
  const unit = tokenUnit(project.token);
  const assetUnit = asset === 'SOL' ? 'SOL' : unit;
  const holding = holdingsOf(project)[asset];
  const errors = { to: recipientError(to, project.vaultAddress), amount: amountError(amount, holding, assetUnit) };
  const isReady = to !== '' && amount !== '' && errors.to === null && errors.amount === null;
  const edited = (set: (text: string) => void) => (text: string) => {
    set(text.trim());
    onChange();
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (isReady) onSubmit({ asset, to, amount });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <p>A withdrawal is a batch: your wallet and the company must approve it. Daily limits do not apply.</p>
      <RadioGroup
        label="Asset"
        value={asset}
        onChange={(chosen) => {
          setAsset(chosen);
          onChange();
        }}
        options={[
          {
            value: 'SOL',
            title: 'SOL',
            text: `Withdraw everything, or leave at least ${toSol(MIN_VAULT_LAMPORTS)} SOL for rent.`,
          },
          {
            value: 'TOKEN',
            title: unit === 'tokens' ? 'Tokens' : unit,
            text: 'The vault pays for the recipient’s token account if it does not exist.',
          },
        ]}
      />
      <TextField
        label="Recipient’s wallet"
        value={to}
        onChange={({ target }) => edited(setTo)(target.value)}
        error={to === '' ? null : errors.to}
        hint="You cannot change the recipient after the approval."
        required
      />
      <AmountField
        {...{ amount, holding }}
        unit={assetUnit}
        error={amount === '' ? null : errors.amount}
        onChange={edited(setAmount)}
      />
      {error && <ErrorNotice error={error} />}
      <Button type="submit" isBusy={isBusy} disabled={!isReady} className="self-start">
        Create withdrawal
      </Button>
    </form>
  );
}

interface AmountFieldProps {
  readonly amount: string;
  readonly unit: string;
  readonly holding: Holding;
  readonly error: string | null;
  readonly onChange: (amount: string) => void;
}

function AmountField({ amount, unit, holding, error, onChange }: AmountFieldProps) {
  const { available } = holding;
  return (
    <div className="flex items-start gap-3">
      <TextField
        label={`Amount, ${unit}`}
        inputMode="decimal"
        value={amount}
        onChange={({ target }) => onChange(target.value)}
        error={error}
        hint={
          available === null
            ? 'The cluster does not respond: the balance is unknown.'
            : `Available: ${amountWithUnit(available, unit)}`
        }
        className="flex-1"
        required
      />
      {available !== null && (
        <Button tone="quiet" className="mt-6" onClick={() => onChange(available)}>
          Max
        </Button>
      )}
    </div>
  );
}

function recipientError(text: string, vault: string): string | null {
  return text === vault ? 'This is the address of the vault.' : walletAddressError(text);
}

/** Balance of one asset in the vault. */
interface Holding {
  readonly decimals: number;
  /** Decimal; null while the cluster does not respond. */
  readonly available: string | null;
  /** Base units that must remain, unless everything is withdrawn. */
  readonly minimum: bigint;
}

/** Reads the balances that can be withdrawn from a project’s vault. */
function holdingsOf({ funds, token }: ProjectOverview): Readonly<Record<Asset, Holding>> {
  const lamports = funds?.lamports.available;
  return {
    SOL: {
      decimals: SOL_DECIMALS,
      available: lamports === undefined ? null : toSol(lamports),
      minimum: MIN_VAULT_LAMPORTS,
    },
    TOKEN: { decimals: token.decimals, available: funds?.tokens.available ?? null, minimum: 0n },
  };
}

/** Checks the amount of a withdrawal against the known balance; returns the error as a sentence, or null. */
function amountError(amount: string, { decimals, available, minimum }: Holding, unit: string): string | null {
  if (!isPlainDecimal(amount)) return 'Enter an amount without commas, for example 10 or 0.5.';
  const asked = toBaseUnits(amount, decimals);
  if (asked === null) return `An amount may have ${decimals} decimals; this one has more.`;
  if (asked === 0n) return 'The amount must be more than zero.';
  const held = available === null ? null : toBaseUnits(available, decimals);
  if (held === null) return null;
  if (asked > held) return `The vault holds only ${amountWithUnit(available ?? '0', unit)}.`;
  const left = held - asked;
  if (left > 0n && left < minimum) {
    const [rest, least] = [left, minimum].map((units) => amountWithUnit(toDecimal(units, decimals), unit));
    return `This leaves ${rest}. Leave at least ${least}, or withdraw everything.`;
  }
  return null;
}
