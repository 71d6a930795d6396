import type { ProjectOverview, VaultFunds } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { usageQuery } from '../../lib/service/projects.ts';
import { toSol } from '../../lib/text/amount.ts';
import { count } from '../../lib/text/count.ts';
import { tokenUnit } from '../../lib/text/token-name.ts';
import { unitsOf } from '../../lib/text/units.ts';
import { Table } from '../../ui/layout/table.tsx';
import { AmountText } from '../../ui/show/amount-text.tsx';
import { StateMark } from '../../ui/show/state-mark.tsx';
import { Notice } from '../../ui/state/notice.tsx';
import { Panel } from '../../ui/state/panel.tsx';

/** What the vault holds, what the open batches need of it, what is missing, and how long the tokens last. */
export function FundsPanel({ project }: { readonly project: ProjectOverview }) {
  const { funds, token } = project;
  return (
    <Panel title="What it holds" isFlush>
      {funds ? (
        <FundsTable funds={funds} unit={tokenUnit(token)} />
      ) : (
        <div className="p-4">
          <Notice tone="failed" title="The cluster does not answer, so nobody knows what the vault holds">
            Nothing is lost: balances are on chain. This page asks again by itself.
          </Notice>
        </div>
      )}
      {funds && <Runway project={project} available={funds.tokens.available} />}
    </Panel>
  );
}

interface Row {
  readonly unit: string;
  readonly available: string;
  readonly needed: string;
  readonly missing: string;
}

function FundsTable({ funds, unit }: { readonly funds: VaultFunds; readonly unit: string }) {
  const { lamports, tokens } = funds;
  const rows: readonly Row[] = [
    { unit, ...tokens },
    {
      unit: 'SOL',
      available: toSol(lamports.available),
      needed: toSol(lamports.needed),
      missing: toSol(lamports.missing),
    },
  ];
  return (
    <Table
      label="What the vault holds"
      rows={rows}
      keyOf={(row) => row.unit}
      columns={[
        { name: 'Of', isPlain: true, show: (row) => <span className="font-medium">{row.unit}</span> },
        {
          name: 'Available',
          isAmount: true,
          show: (row) => (
            <span className="text-lg font-semibold">
              <AmountText amount={row.available} />
            </span>
          ),
        },
        { name: 'Needed by open batches', isAmount: true, show: (row) => <AmountText amount={row.needed} /> },
        {
          name: 'Missing',
          isAmount: true,
          show: ({ missing }) =>
            missing === '0' ? (
              <StateMark state="done" word="Nothing" />
            ) : (
              <span className="inline-flex items-center gap-2">
                <StateMark state="failed" word="Deposit" />
                <span className="font-semibold text-failed">
                  <AmountText amount={missing} />
                </span>
              </span>
            ),
        },
      ]}
    />
  );
}

const PACE_DAYS = 30;

/** How long the tokens last at the pace of the last month; nothing when nothing was used. */
function Runway({ project, available }: { readonly project: ProjectOverview; readonly available: string }) {
  const { data: usage } = useQuery(usageQuery(project.id, PACE_DAYS));
  const used = (usage?.days ?? []).reduce((sum, day) => sum + unitsOf(day.burned) + unitsOf(day.airdropped), 0n);
  const days = used > 0n ? (unitsOf(available) * BigInt(PACE_DAYS)) / used : null;
  return (
    <p className="min-h-10 border-t px-4 py-2.5 text-sm text-quiet">
      {days === null
        ? 'Nothing was burned or airdropped in the last 30 days.'
        : `At the pace of the last ${PACE_DAYS} days the tokens last ${days === 0n ? 'less than a day' : count(Number(days), 'day')}.`}
    </p>
  );
}
