import type { KeySummary } from '@flywheel/api';
import { TimeText } from '../../ui/text.tsx';

export interface OverlapBarsProps {
  /** The key that ends. */
  readonly old: KeySummary;
  /** The key that takes its place. */
  readonly next: KeySummary;
}

/** How much of the picture stands before the rotation and after the old key’s end. */
const MARGIN = 0.18;

/** Two bars: until when the old key works, and since when the new one does. */
export function OverlapBars({ old, next }: OverlapBarsProps) {
  const startMs = Date.parse(next.dateCreated);
  const endMs = Date.parse(old.expiresAt ?? next.dateCreated);
  const spanMs = Math.max(1, endMs - startMs) * (1 + 2 * MARGIN);
  const place = (ms: number) => Math.min(100, Math.max(0, ((ms - startMs) / spanMs + MARGIN / (1 + 2 * MARGIN)) * 100));
  const nowAt = place(Date.now());
  return (
    <figure className="flex flex-col gap-1.5 rounded border bg-sunken p-3">
      <div className="grid grid-cols-[auto_1fr] items-center gap-x-3 gap-y-1.5 text-xs">
        <code>{old.prefix}…</code>
        <Bar from={0} to={place(endMs)} nowAt={nowAt} className="fill-waiting" />
        <code>{next.prefix}…</code>
        <Bar from={place(startMs)} to={100} nowAt={nowAt} className="fill-done" />
      </div>
      <figcaption className="text-sm">
        Both work until {old.expiresAt === undefined ? 'further notice' : <TimeText at={old.expiresAt} />}. Put the new
        key in place before then; the old one was last used{' '}
        {old.lastUsedAt === undefined ? 'never' : <TimeText at={old.lastUsedAt} />}.
      </figcaption>
    </figure>
  );
}

interface BarProps {
  readonly from: number;
  readonly to: number;
  readonly nowAt: number;
  readonly className: string;
}

function Bar({ from, to, nowAt, className }: BarProps) {
  return (
    <svg aria-hidden viewBox="0 0 100 10" preserveAspectRatio="none" className="h-2.5 w-full overflow-visible">
      <rect width="100" height="10" className="fill-line" />
      <rect x={from} width={Math.max(0, to - from)} height="10" className={className} />
      <rect x={nowAt} y="-3" width="0.4" height="16" className="fill-ink" />
    </svg>
  );
}
