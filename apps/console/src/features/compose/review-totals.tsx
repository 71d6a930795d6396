import type { ProjectOverview } from '@flywheel/api';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatSol, shareOf, toFinestUnits } from '../../lib/amounts.ts';
import { tokenUnit } from '../../lib/format.ts';
import { Meter } from '../../ui/charts.tsx';
import { Stat, Stats } from '../../ui/layout.tsx';
import { AmountText, TimeText } from '../../ui/text.tsx';
import { exceeds, type PreviewTotals } from './planned-batches.ts';

interface ReviewTotalsProps {
  readonly projectId: string;
  readonly sums: PreviewTotals;
  readonly token: ProjectOverview['token'];
}

/** Compares the batches with the daily limits and the vault’s balance, and shows the cost. */
export function ReviewTotals({ projectId, sums, token }: ReviewTotalsProps) {
  const { burn, airdrop, tokens, lamports, cost } = sums;
  const unit = tokenUnit(token);
  return (
    <Stats>
      <LimitStat name="Burns" limit={burn} tone="ember" token={token} />
      <LimitStat name="Airdrops" limit={airdrop} tone="tide" token={token} />
      <Stat
        name="From the vault"
        value={<AmountText amount={tokens.needed} unit={unit} />}
        note={
          <Balance
            projectId={projectId}
            missing={tokens.missing !== '0' && <AmountText amount={tokens.missing} unit={unit} />}
          >
            of <AmountText amount={tokens.available} unit={unit} /> available
            {lamports.needed !== '0' && <>; {formatSol(lamports.needed)} for token accounts</>}
          </Balance>
        }
      />
      <Stat
        name="Cost to the operator"
        value={formatSol(cost.operatorNetLamports)}
        note={
          <Balance
            projectId={projectId}
            missing={lamports.missing !== '0' && <>{formatSol(lamports.missing)} for token accounts</>}
          >
            fees and tips, plus {formatSol(cost.rentLockedLamports)} rent, returned later
          </Balance>
        }
      />
    </Stats>
  );
}

interface LimitStatProps {
  readonly name: string;
  readonly limit: PreviewTotals['burn'];
  readonly tone: 'ember' | 'tide';
  readonly token: ProjectOverview['token'];
}

function LimitStat({ name, limit, tone, token }: LimitStatProps) {
  const isTooMuch = exceeds(limit);
  return (
    <Stat
      name={name}
      value={<AmountText amount={limit.asked} unit={tokenUnit(token)} />}
      note={
        <span className="flex flex-col gap-1.5">
          <Meter
            share={shareOf(toFinestUnits(limit.used) + toFinestUnits(limit.asked), toFinestUnits(limit.cap))}
            label={`${name} of the day’s limit`}
            tone={isTooMuch ? 'failed' : tone}
          />
          <span className={isTooMuch ? 'font-medium text-failed' : undefined}>
            <AmountText amount={limit.left} unit={tokenUnit(token)} /> left today, resets at{' '}
            <TimeText at={limit.resetsAt} form="hour" />
          </span>
        </span>
      }
    />
  );
}

interface BalanceProps {
  readonly projectId: string;
  /** The missing amount; false if nothing is missing. */
  readonly missing: ReactNode;
  readonly children: ReactNode;
}

function Balance({ projectId, missing, children }: BalanceProps) {
  if (missing === false) return <span>{children}</span>;
  return (
    <Link
      to="/p/$projectId/vault"
      params={{ projectId }}
      className="font-medium text-failed underline underline-offset-2"
    >
      {missing} missing
    </Link>
  );
}
