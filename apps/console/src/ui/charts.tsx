import { cn } from './cn.ts';

// Drawn by hand: each chart is one to three rectangles, for which a chart library would be more code than it saves.

export interface ActionCounts {
  readonly burns: number;
  readonly airdrops: number;
  readonly memos: number;
}

/** A bar of the shares of burns, airdrops and memos in a batch. */
export function ActionMixBar({ burns, airdrops, memos }: ActionCounts) {
  const parts = [
    { name: 'burns', count: burns, className: 'fill-ember' },
    { name: 'airdrops', count: airdrops, className: 'fill-tide' },
    { name: 'memos', count: memos, className: 'fill-slate' },
  ].filter(({ count }) => count > 0);
  const total = burns + airdrops + memos;
  let from = 0;
  return (
    <svg
      role="img"
      aria-label={parts.map(({ name, count }) => `${count} ${name}`).join(', ') || 'nothing'}
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      className="h-2 w-full min-w-16 overflow-hidden rounded-full bg-sunken"
    >
      {parts.map(({ name, count, className }) => {
        const x = from;
        from += (count / total) * 100;
        return <rect key={name} x={x} width={from - x} height="8" className={className} />;
      })}
    </svg>
  );
}

export interface MeterProps {
  /** 0 to 1; larger values show as full. */
  readonly share: number;
  readonly label: string;
  readonly tone?: 'accent' | 'ember' | 'tide' | 'failed';
}

const FILLS = { accent: 'fill-accent', ember: 'fill-ember', tide: 'fill-tide', failed: 'fill-failed' } as const;

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
