import type { ProjectOverview, Usage } from '@flywheel/api';
import { toBaseUnits } from '@flywheel/protocol';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { formatBaseUnits, shareOf } from '../../lib/amounts.ts';
import { usageQuery } from '../../lib/api/projects.ts';
import { tokenUnit } from '../../lib/format.ts';
import { Button } from '../../ui/button.tsx';
import { QueryView } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { Table } from '../../ui/table.tsx';
import { AmountText } from '../../ui/text.tsx';

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

/** Amounts of one UTC day, base units. */
interface ChartDay {
  readonly day: string;
  readonly burned: bigint;
  readonly airdropped: bigint;
}

interface UsageChartProps {
  readonly days: readonly ChartDay[];
  readonly token: ProjectOverview['token'];
}

const HEIGHT = 100;
/** Width of a bar, as a share of the width of a day. */
const BAR_WIDTH = 0.38;

/** Bar chart with two bars per day: burned in ember, airdropped in tide. */
function UsageChart({ days, token }: UsageChartProps) {
  const [hoveredDay, setHoveredDay] = useState<string | null>(null);
  const show = (baseUnits: bigint) => formatBaseUnits(baseUnits, token.decimals);
  const most = largest(days.flatMap(({ burned, airdropped }) => [burned, airdropped]));
  const shown = days.find(({ day }) => day === hoveredDay) ?? days.at(-1);
  const total = {
    burned: days.reduce((sum, { burned }) => sum + burned, 0n),
    airdropped: days.reduce((sum, { airdropped }) => sum + airdropped, 0n),
  };
  const unit = tokenUnit(token);
  return (
    <figure className="flex flex-col gap-3">
      <figcaption className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1 text-sm">
        <span className="flex flex-wrap gap-x-4">
          <Key className="bg-ember" name="Burned" amount={show(shown?.burned ?? 0n)} />
          <Key className="bg-tide" name="Airdropped" amount={show(shown?.airdropped ?? 0n)} />
        </span>
        <span className="tabular text-quiet">{shown ? `on ${dayName(shown.day)}` : ''}</span>
      </figcaption>
      <svg
        role="img"
        aria-label={`${days.length} days: ${show(total.burned)} ${unit} burned, ${show(total.airdropped)} airdropped, at most ${show(most)} per day. The table lists every day.`}
        viewBox={`0 0 ${days.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="h-48 w-full"
        onPointerLeave={() => setHoveredDay(null)}
      >
        {[0.25, 0.5, 0.75, 1].map((line) => (
          <rect key={line} y={HEIGHT * (1 - line)} width={days.length} height="0.4" className="fill-line" />
        ))}
        {days.map(({ day, burned, airdropped }, position) => (
          <g key={day} onPointerEnter={() => setHoveredDay(day)}>
            <rect
              x={position}
              width="1"
              height={HEIGHT}
              className={day === hoveredDay ? 'fill-sunken' : 'fill-transparent'}
            />
            <Bar x={position + 0.1} share={shareOf(burned, most)} className="fill-ember" />
            <Bar x={position + 0.1 + BAR_WIDTH} share={shareOf(airdropped, most)} className="fill-tide" />
          </g>
        ))}
        <rect y={HEIGHT - 0.4} width={days.length} height="0.4" className="fill-line-strong" />
      </svg>
      <div className="flex justify-between text-xs text-quiet">
        <span>{dayName(days[0]?.day ?? '')}</span>
        <span className="tabular">
          {most === 0n ? 'Nothing burned or airdropped in this period.' : `Highest bar: ${show(most)} ${unit}`}
        </span>
        <span>Today, UTC</span>
      </div>
    </figure>
  );
}

function largest(amounts: readonly bigint[]): bigint {
  let found = 0n;
  for (const amount of amounts) if (amount > found) found = amount;
  return found;
}

function Key({
  className,
  name,
  amount,
}: {
  readonly className: string;
  readonly name: string;
  readonly amount: string;
}) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <span aria-hidden className={`size-2.5 rounded-xs ${className}`} />
      <span className="text-quiet">{name}</span>
      <span className="tabular font-medium">{amount}</span>
    </span>
  );
}

/** A small amount keeps a visible bar. */
const MIN_HEIGHT = 1;

function Bar({ x, share, className }: { readonly x: number; readonly share: number; readonly className: string }) {
  const height = share === 0 ? 0 : Math.max(MIN_HEIGHT, share * HEIGHT);
  return <rect x={x} y={HEIGHT - height} width={BAR_WIDTH} height={height} className={className} />;
}

const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** Formats `2026-11-21` as `21 Nov`, in UTC. */
function dayName(day: string): string {
  return day === '' ? '' : DAY.format(new Date(`${day}T00:00:00Z`));
}
