import { cn } from './cn.ts';

export interface RingProps {
  /** 0 to 1; without it the ring is the mark, which has one gap. */
  readonly progress?: number;
  /** For work in progress of unknown length, or that moves right now. */
  readonly isSpinning?: boolean;
  /** CSS pixels. */
  readonly size?: number;
  readonly className?: string;
  /** Read by screen readers; without it the ring is decoration. */
  readonly label?: string;
}

const RADIUS = 9;
const CIRCUMFERENCE = 2 * Math.PI * RADIUS;
/** The part of the circle that the mark draws. */
const MARK_PROGRESS = 0.86;

/** The mark and the progress indicator: a ring with one gap, which closes as a batch completes. */
export function Ring({ progress = MARK_PROGRESS, isSpinning = false, size = 20, className, label }: RingProps) {
  const length = Math.min(1, Math.max(0, progress)) * CIRCUMFERENCE;
  return (
    <svg
      role="img"
      aria-label={label}
      aria-hidden={label === undefined}
      viewBox="0 0 24 24"
      width={size}
      height={size}
      fill="none"
      className={cn('shrink-0', className)}
    >
      <circle cx="12" cy="12" r={RADIUS} stroke="currentColor" strokeWidth="3" opacity="0.18" />
      {/* The group carries the rotation, so that the spinning animation of the circle starts at zero. */}
      <g transform="rotate(-62 12 12)">
        {/* A line of length zero would still draw its round ends. */}
        {length > 0 && (
          <circle
            cx="12"
            cy="12"
            r={RADIUS}
            stroke="currentColor"
            strokeWidth="3"
            strokeLinecap="round"
            strokeDasharray={`${length} ${CIRCUMFERENCE}`}
            className={cn(isSpinning && 'spinning')}
          />
        )}
      </g>
    </svg>
  );
}
