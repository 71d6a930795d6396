import type { ProjectOverview, Usage } from '@flywheel/api';
import { toBaseUnits } from '@flywheel/sdk';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { usageQuery } from '../../lib/service/projects.ts';
import { tokenUnit } from '../../lib/text/token-name.ts';
import { Button } from '../../ui/form/button.tsx';
import { Table } from '../../ui/layout/table.tsx';
import { AmountText } from '../../ui/show/amount-text.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Panel } from '../../ui/state/panel.tsx';
import { UsageChart } from './usage-chart.tsx';

export interface UsagePanelProps {
  readonly projectId: string;
  readonly token: ProjectOverview['token'];
}

const SPANS = [7, 30, 90] as const;

/** Burns and airdrops per day: drawn, or as a table. */
export function UsagePanel({ projectId, token }: UsagePanelProps) {
  const [days, setDays] = useState<(typeof SPANS)[number]>(30);
  const [isTable, setTable] = useState(false);
  const usage = useQuery(usageQuery(projectId, days));
  return (
    <Panel
      title="Per day"
      aside={
        <span className="flex flex-wrap items-center gap-1">
          {SPANS.map((span) => (
            <Button
              key={span}
              size="small"
              tone={span === days ? 'plain' : 'quiet'}
              aria-pressed={span === days}
              onClick={() => setDays(span)}
            >
              {span} days
            </Button>
          ))}
          <Button size="small" tone="quiet" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
            {isTable ? 'Chart' : 'Table'}
          </Button>
        </span>
      }
    >
      <Loaded query={usage} skeleton={<div className="skeleton h-64" />}>
        {({ days: found }) => {
          if (isTable) return <UsageTable days={found} unit={tokenUnit(token)} />;
          return <UsageChart days={readDays(found, token.decimals)} token={token} />;
        }}
      </Loaded>
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
          { name: 'Day, UTC', show: ({ day }) => day },
          { name: `Burned, ${unit}`, isAmount: true, show: ({ burned }) => <AmountText amount={burned} /> },
          { name: `Airdropped, ${unit}`, isAmount: true, show: ({ airdropped }) => <AmountText amount={airdropped} /> },
        ]}
      />
    </section>
  );
}
