import type { ProjectOverview, Usage } from '@flywheel/api';
import { toBaseUnits } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { usageQuery } from '../../lib/api/projects.ts';
import { tokenUnit } from '../../lib/format.ts';
import { Button } from '../../ui/button.tsx';
import { QueryView } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { Table } from '../../ui/table.tsx';
import { AmountText } from '../../ui/text.tsx';
import { UsageChart } from './usage-chart.tsx';

interface UsagePanelProps {
  readonly projectId: string;
  readonly token: ProjectOverview['token'];
}

const RANGES = [7, 30, 90] as const;

/** Shows burns and airdrops per day, as a chart or a table. */
export function UsagePanel({ projectId, token }: UsagePanelProps) {
  const [days, setDays] = useState<(typeof RANGES)[number]>(30);
  const [isTable, setTable] = useState(false);
  const usage = useQuery(usageQuery(projectId, days));
  return (
    <Panel
      title="Daily usage"
      aside={
        <span className="flex flex-wrap items-center gap-1">
          {RANGES.map((range) => (
            <Button
              key={range}
              size="small"
              tone={range === days ? 'plain' : 'quiet'}
              aria-pressed={range === days}
              onClick={() => setDays(range)}
            >
              {range} days
            </Button>
          ))}
          <Button size="small" tone="quiet" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            {isTable ? 'Chart' : 'Table'}
          </Button>
        </span>
      }
    >
      <QueryView query={usage} skeleton={<div className="skeleton h-64" />}>
        {({ days: found }) => {
          if (isTable) return <UsageTable days={found} unit={tokenUnit(token)} />;
          return <UsageChart days={readDays(found, token.decimals)} token={token} />;
        }}
      </QueryView>
    </Panel>
  );
}

type Day = Usage['days'][number];

function readDays(days: readonly Day[], decimals: number) {
  return days.map(({ day, burned, airdropped }) => ({
    day,
    burned: toBaseUnits(burned, decimals) ?? 0n,
    airdropped: toBaseUnits(airdropped, decimals) ?? 0n,
  }));
}

function UsageTable({ days, unit }: { readonly days: readonly Day[]; readonly unit: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, a scrolling region takes focus.
    <section aria-label="Burned and airdropped per day" tabIndex={0} className="-m-4 h-72 overflow-y-auto">
      <Table
        label="Burned and airdropped per day"
        rows={days.toReversed()}
        keyOf={({ day }) => day}
        columns={[
          { name: 'Day, UTC', render: ({ day }) => day },
          { name: `Burned, ${unit}`, isAmount: true, render: ({ burned }) => <AmountText amount={burned} /> },
          {
            name: `Airdropped, ${unit}`,
            isAmount: true,
            render: ({ airdropped }) => <AmountText amount={airdropped} />,
          },
        ]}
      />
    </section>
  );
}
