import type { ProjectOverview } from '@flywheel/api';
import { type PointerEvent, useState } from 'react';
import { formatBaseUnits, shareOf } from '../../lib/amounts.ts';
import { tokenUnit, unitBeside } from '../../lib/format.ts';

/** Amounts of one UTC day, base units. */
interface ChartDay {
  readonly day: string;
  readonly burned: bigint;
  readonly airdropped: bigint;
}

interface UsageChartProps {
  /** Oldest first; at least one. */
  readonly days: readonly ChartDay[];
  readonly token: ProjectOverview['token'];
}

const HEIGHT = 100;
/** Width of a bar, as a share of the width of a day. */
const BAR_WIDTH = 0.38;

/**
 * Bar chart with two bars per day: burned in ember, airdropped in tide. The pointer, a finger and the arrow keys choose the
 * day whose amounts stand above it; without a choice that is today.
 */
export function UsageChart({ days, token }: UsageChartProps) {
  const [hovered, setHovered] = useState<number | null>(null);
  const [chosen, setChosen] = useState<number | null>(null);
  const last = days.length - 1;
  const position = Math.min(hovered ?? chosen ?? last, last);
  const unit = tokenUnit(token);
  const show = (baseUnits: bigint) => {
    const amount = formatBaseUnits(baseUnits, token.decimals);
    return `${amount} ${unitBeside(amount, unit)}`;
  };
  const most = largest(days.flatMap(({ burned, airdropped }) => [burned, airdropped]));
  const { day = '', burned = 0n, airdropped = 0n } = days[position] ?? {};
  const sayDay = `${dayName(day)}: ${show(burned)} burned, ${show(airdropped)} airdropped`;
  return (
    <figure className="flex flex-col gap-3">
      <figcaption className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1 text-sm">
        <span className="flex flex-wrap gap-x-4">
          <Key className="bg-ember" name="Burned" amount={show(burned)} />
          <Key className="bg-tide" name="Airdropped" amount={show(airdropped)} />
        </span>
        <span className="tabular text-quiet">
          {position === last ? 'today, UTC, open batches included' : `on ${dayName(day)}, UTC`}
        </span>
      </figcaption>
      <div className="relative rounded-sm has-[:focus-visible]:outline-2 has-[:focus-visible]:outline-offset-2 has-[:focus-visible]:outline-accent">
        <Bars days={days} most={most} marked={hovered ?? chosen} />
        <input
          type="range"
          aria-label={`Day of the chart of ${days.length} days`}
          aria-valuetext={sayDay}
          min={0}
          max={last}
          value={position}
          onChange={({ target }) => setChosen(Number(target.value))}
          onBlur={() => setChosen(null)}
          onPointerMove={(event) => setHovered(positionAt(event, days.length))}
          onPointerLeave={() => setHovered(null)}
          className="absolute inset-0 size-full cursor-crosshair touch-pan-y opacity-0"
        />
      </div>
      <div className="flex justify-between gap-3 text-xs text-quiet">
        <span className="whitespace-nowrap">{dayName(days[0]?.day ?? '')}</span>
        <span className="tabular text-center">
          {most === 0n ? 'Nothing burned or airdropped in this period.' : `Highest bar: ${show(most)}`}
        </span>
        <span className="whitespace-nowrap">Today, UTC</span>
      </div>
    </figure>
  );
}

/** Finds the day under the pointer, from the position within the chart. */
function positionAt({ clientX, currentTarget }: PointerEvent, count: number): number {
  const { left, width } = currentTarget.getBoundingClientRect();
  return Math.min(count - 1, Math.max(0, Math.floor(((clientX - left) / width) * count)));
}

interface BarsProps {
  readonly days: readonly ChartDay[];
  /** The largest amount of any day. */
  readonly most: bigint;
  /** Zero-based position of the day that is chosen; null for none. */
  readonly marked: number | null;
}

function Bars({ days, most, marked }: BarsProps) {
  return (
    <svg aria-hidden viewBox={`0 0 ${days.length} ${HEIGHT}`} preserveAspectRatio="none" className="h-48 w-full">
      {marked !== null && <rect x={marked} width="1" height={HEIGHT} className="fill-sunken" />}
      {[0.25, 0.5, 0.75, 1].map((line) => (
        <rect key={line} y={HEIGHT * (1 - line)} width={days.length} height="0.4" className="fill-line" />
      ))}
      {days.map(({ day, burned, airdropped }, position) => (
        <g key={day}>
          <Bar x={position + 0.1} share={shareOf(burned, most)} className="fill-ember" />
          <Bar x={position + 0.1 + BAR_WIDTH} share={shareOf(airdropped, most)} className="fill-tide" />
        </g>
      ))}
      <rect y={HEIGHT - 0.4} width={days.length} height="0.4" className="fill-line-strong" />
    </svg>
  );
}

function largest(amounts: readonly bigint[]): bigint {
  let found = 0n;
  for (const amount of amounts) if (amount > found) found = amount;
  return found;
}

interface KeyProps {
  readonly className: string;
  readonly name: string;
  readonly amount: string;
}

function Key({ className, name, amount }: KeyProps) {
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
