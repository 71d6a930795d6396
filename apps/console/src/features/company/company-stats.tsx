import type { CompanyOverview } from '@flywheel/api';
import { toSol } from '../../lib/text/amount.ts';
import { count } from '../../lib/text/count.ts';
import { Stat, Stats } from '../../ui/layout/stat.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { AmountText } from '../../ui/show/amount-text.tsx';
import { StateMark } from '../../ui/show/state-mark.tsx';
import { Notice } from '../../ui/state/notice.tsx';

/** Less than this and someone should send SOL to the operator. */
const SHORT_RUNWAY_DAYS = 14;

/** Beyond this the pace of a week says nothing. */
const LONG_RUNWAY_DAYS = 3_650;

/** The operator’s money and how long it lasts, the nonces, what is open and what is stuck. */
export function CompanyStats({ company }: { readonly company: CompanyOverview }) {
  const { operator, nonces } = company;
  return (
    <div className="flex flex-col gap-4">
      {company.isPaused && (
        <Notice tone="waiting" title="Every project is paused">
          {company.pauseReason !== undefined && `“${company.pauseReason}” `}
          Init and execute are refused, and nothing more is sent.
        </Notice>
      )}
      <Stats>
        <Stat
          name="Operator’s balance"
          value={operator.lamports === null ? 'unknown' : <AmountText amount={toSol(operator.lamports)} unit="SOL" />}
          note={
            operator.lamports === null ? (
              'The cluster does not answer'
            ) : (
              <>
                <AmountText amount={toSol(operator.rentOutLamports)} unit="SOL" /> more is out as rent ·{' '}
                <AddressText address={operator.address} of="operator" isLinked />
              </>
            )
          }
        />
        <Stat
          name="It lasts"
          value={<Runway days={operator.runwayDays} />}
          note={
            <>
              <AmountText amount={toSol(operator.spentPerDayLamports)} unit="SOL" /> a day in fees and tips
            </>
          }
        />
        <Stat
          name="Open batches"
          value={company.openBatches.toLocaleString('en')}
          note={`${waitWords(company.waitingBatches)} for the company · ${count(company.projects, 'project')}`}
        />
        <Stat
          name="Free nonces"
          value={nonces.available}
          note={`${nonces.leased} lent, ${nonces.refreshing} being renewed, ${nonces.creating} being made`}
        />
      </Stats>
    </div>
  );
}

function waitWords(batches: number): string {
  if (batches === 0) return 'None waits';
  return batches === 1 ? '1 waits' : `${batches} wait`;
}

function Runway({ days }: { readonly days: number | null }) {
  if (days === null) return 'Nothing is being spent';
  if (days > LONG_RUNWAY_DAYS) return 'More than ten years';
  const words = count(days, 'day');
  return days < SHORT_RUNWAY_DAYS ? <StateMark state="failed" word={`${words}: send SOL`} /> : words;
}
