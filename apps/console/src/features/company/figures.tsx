import type { CompanyOverview, CompanyTotals } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { toSol } from '../../lib/amounts.ts';
import type { CompanyFigures } from '../../lib/api/company.ts';
import { Notice } from '../../ui/feedback.tsx';
import { Panel, Stat, Stats } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { AddressText, AmountText } from '../../ui/text.tsx';

/**
 * Shows the figures of the service: the operator’s account, batches and nonces. Of several shards, those of each and
 * their sums.
 */
export function Figures({ figures }: { readonly figures: CompanyFigures }) {
  const [only] = figures.shards;
  return (
    <div className="flex flex-col gap-4">
      {figures.isSharded ? <ShardFigures figures={figures} /> : only && <CompanyStats company={only} />}
    </div>
  );
}

/** Says which projects are paused; nothing without a pause of a whole shard. */
export function PauseNotice({ figures: { shards, missing } }: { readonly figures: CompanyFigures }) {
  const paused = shards.filter(({ isPaused }) => isPaused);
  if (paused.length === 0) return null;
  const isAll = paused.length === shards.length && missing.length === 0;
  const names = new Intl.ListFormat('en').format(paused.map(({ shard }) => `shard ${shard}`));
  const reasons = new Set(paused.flatMap(({ pauseReason }) => (pauseReason === undefined ? [] : [pauseReason])));
  return (
    <Notice tone="waiting" title={isAll ? 'All projects are paused' : `All projects of ${names} are paused`}>
      {[...reasons].map((reason) => `“${reason}” `)}
      No batch can be created or executed {isAll ? '' : 'there '}until you resume them.
    </Notice>
  );
}

function ShardFigures({ figures: { shards, totals, missing } }: { readonly figures: CompanyFigures }) {
  return (
    <>
      <Stats>
        {totals.operator && <OperatorStats operator={totals.operator} />}
        <BatchesStat counts={totals} />
        <Stat
          name="Stuck jobs"
          value={totals.stuckJobs.toLocaleString('en')}
          note={missing.length === 0 ? 'of all shards' : 'of the shards below'}
        />
      </Stats>
      <Panel isFlush>
        <Table
          label="Shards"
          columns={SHARD_COLUMNS}
          rows={shards}
          keyOf={({ shard }) => String(shard)}
          under={({ operator }) => totals.operator === null && <OperatorLine {...operator} />}
        />
      </Panel>
    </>
  );
}

type ShardOverview = CompanyFigures['shards'][number];

const SHARD_COLUMNS: readonly Column<ShardOverview>[] = [
  {
    name: 'Shard',
    isPlain: true,
    render: ({ shard, isPaused }) => (
      <span className="inline-flex items-center gap-3 font-medium">
        Shard {shard} {isPaused && <StatusBadge status="waiting" label="Paused" />}
      </span>
    ),
  },
  { name: 'Projects', isAmount: true, render: ({ projects }) => projects.toLocaleString('en') },
  { name: 'Open batches', isAmount: true, render: ({ openBatches }) => openBatches.toLocaleString('en') },
  { name: 'Waiting', isAmount: true, render: ({ waitingBatches }) => waitingBatches.toLocaleString('en') },
  { name: 'Stuck jobs', isAmount: true, render: ({ stuckJobs }) => stuckJobs.toLocaleString('en') },
  { name: 'Free nonces', isAmount: true, render: ({ nonces }) => nonces.available.toLocaleString('en') },
  {
    name: 'Rent reserved, not admitted',
    isAmount: true,
    render: ({ exposure }) => <AmountOfCap use={exposure.unadmitted.locked} />,
  },
  {
    name: 'Fees today, not admitted',
    isAmount: true,
    render: ({ exposure }) => <AmountOfCap use={exposure.unadmitted.spentToday} />,
  },
];

/** Shows the operator of a shard, if the others have another one. */
function OperatorLine({ address, lamports, runwayDays }: CompanyOverview['operator']) {
  return (
    <p className="flex flex-wrap gap-x-3 text-sm text-quiet">
      <span>
        Operator <AddressText address={address} of="operator" isLinked />
      </span>
      <span>
        Balance <Balance lamports={lamports} />
      </span>
      <span>
        Runway <Runway days={runwayDays} />
      </span>
    </p>
  );
}

/** Shows the operator’s balance and runway, the open batches and the free nonces. */
function CompanyStats({ company }: { readonly company: CompanyOverview }) {
  const { operator, nonces, exposure } = company;
  return (
    <>
      <Stats>
        <OperatorStats operator={operator} />
        <BatchesStat counts={company} />
        <Stat
          name="Free nonces"
          value={nonces.available.toLocaleString('en')}
          note={`${nonces.leased} in use, ${nonces.refreshing} advancing, ${nonces.creating} being created`}
        />
      </Stats>
      <Stats>
        <Stat
          name="Rent reserved, projects not admitted"
          value={<AmountOfCap use={exposure.unadmitted.locked} />}
          note={
            <>
              <AmountText amount={toSol(exposure.lockedLamports)} unit="SOL" /> at most for all projects
            </>
          }
        />
        <Stat
          name="Fees today, projects not admitted"
          value={<AmountOfCap use={exposure.unadmitted.spentToday} />}
          note={
            <>
              <AmountText amount={toSol(exposure.spentTodayLamports)} unit="SOL" /> for all projects, with what open
              batches may still take
            </>
          }
        />
      </Stats>
    </>
  );
}

function OperatorStats({ operator }: Pick<CompanyOverview, 'operator'>) {
  return (
    <>
      <Stat
        name="Operator balance"
        value={<Balance {...operator} />}
        note={
          operator.lamports === null ? (
            'The cluster does not respond'
          ) : (
            <>
              plus <AmountText amount={toSol(operator.rentOutLamports)} unit="SOL" /> locked as rent ·{' '}
              <AddressText address={operator.address} of="operator" isLinked />
            </>
          )
        }
      />
      <Stat
        name="Operator runway"
        value={<Runway days={operator.runwayDays} />}
        note={
          <>
            <AmountText amount={toSol(operator.spentPerDayLamports)} unit="SOL" /> per day in fees and tips
          </>
        }
      />
    </>
  );
}

function Balance({ lamports }: Pick<CompanyOverview['operator'], 'lamports'>) {
  return lamports === null ? 'Unknown' : <AmountText amount={toSol(lamports)} unit="SOL" />;
}

function BatchesStat({ counts }: { readonly counts: Omit<CompanyTotals, 'operator'> }) {
  return (
    <Stat
      name="Open batches"
      value={counts.openBatches.toLocaleString('en')}
      note={`${counts.waitingBatches.toLocaleString('en')} waiting for the company · ${pluralize(counts.projects, 'project')}`}
    />
  );
}

function AmountOfCap({ use }: { readonly use: CompanyOverview['exposure']['unadmitted']['locked'] }) {
  return (
    <>
      <AmountText amount={toSol(use.used)} />{' '}
      <span className="inline-block text-[0.85em] font-normal text-quiet">
        of <AmountText amount={toSol(use.cap)} unit="SOL" />
      </span>
    </>
  );
}

/** With fewer days left the page asks for a deposit to the operator. */
const SHORT_RUNWAY_DAYS = 14;

/** The pace of one week cannot predict more days than this. */
const LONG_RUNWAY_DAYS = 3_650;

function Runway({ days }: { readonly days: number | null }) {
  if (days === null) return 'No recent spending';
  if (days > LONG_RUNWAY_DAYS) return 'Over 10 years';
  const words = pluralize(days, 'day');
  return days < SHORT_RUNWAY_DAYS ? <StatusBadge status="failed" label={`${words}: send SOL`} /> : words;
}
