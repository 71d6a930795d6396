import { pluralize } from '@flywheel/protocol';
import { cn } from './cn.ts';

// Drawn by hand: each chart is one to three rectangles, for which a chart library would be more code than it saves.

export interface ActionCounts {
  readonly burns: number;
  readonly airdrops: number;
  readonly memos: number;
}

/** The kinds of actions that a batch has, with their colours. */
function partsOf({ burns, airdrops, memos }: ActionCounts) {
  return [
    { name: 'burn', count: burns, fill: 'fill-ember', dot: 'bg-ember' },
    { name: 'airdrop', count: airdrops, fill: 'fill-tide', dot: 'bg-tide' },
    { name: 'memo', count: memos, fill: 'fill-slate', dot: 'bg-slate' },
  ].filter(({ count }) => count > 0);
}

/** The mix of actions in a batch: a bar of their shares, and how many there are of each kind. Nothing without actions. */
export function ActionMix(counts: ActionCounts) {
  const parts = partsOf(counts);
  if (parts.length === 0) return null;
  return (
    <div className="flex flex-col gap-2">
      <ActionMixBar {...counts} />
      {/* The bar says the same to screen readers. */}
      <p aria-hidden className="tabular flex flex-wrap gap-x-4 gap-y-1 text-sm text-quiet">
        {parts.map(({ name, count, dot }) => (
          <span key={name} className="inline-flex items-center gap-1.5">
            <span className={cn('size-2 rounded-full', dot)} />
            {pluralize(count, name)}
          </span>
        ))}
      </p>
    </div>
  );
}

/** A bar of the shares of burns, airdrops and memos in a batch. */
export function ActionMixBar(counts: ActionCounts) {
  const parts = partsOf(counts);
  const total = parts.reduce((sum, { count }) => sum + count, 0);
  let from = 0;
  return (
    <svg
      role="img"
      aria-label={parts.map(({ name, count }) => pluralize(count, name)).join(', ') || 'No actions'}
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      className="h-2 w-full min-w-16 overflow-hidden rounded-full bg-sunken"
    >
      {parts.map(({ name, count, fill }) => {
        const x = from;
        from += (count / total) * 100;
        return <rect key={name} x={x} width={from - x} height="8" className={fill} />;
      })}
    </svg>
  );
}

export interface MeterProps {
  /** 0 to 1; larger values show as full. */
  readonly share: number;
  readonly label: string;
  readonly tone?: 'accent' | 'ember' | 'tide' | 'done' | 'failed';
}

const FILLS = {
  accent: 'fill-accent',
  ember: 'fill-ember',
  tide: 'fill-tide',
  done: 'fill-done',
  failed: 'fill-failed',
} as const;

/** A bar that shows how much of something is used. */
export function Meter({ share, label, tone = 'accent' }: MeterProps) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <svg
      role="img"
      aria-label={`${label}: ${percent} percent`}
      viewBox="0 0 100 6"
      preserveAspectRatio="none"
      className="h-1.5 w-full overflow-hidden rounded-full bg-sunken"
    >
      <rect width={percent} height="6" className={cn(FILLS[tone])} />
    </svg>
  );
}
