import { classes } from '../classes.ts';

export interface RingProps {
  /** How far the ring is closed, 0 to 1. The mark itself has one gap. */
  readonly closed?: number;
  /** Something is moving right now. */
  readonly isTurning?: boolean;
  /** CSS pixels. */
  readonly size?: number;
  readonly className?: string;
  /** Said by screen readers; without it the ring is decoration. */
  readonly label?: string;
}

const RADIUS = 9;
const CIRCUMFERENCE = 2 * Math.PI * RADIUS;
/** The mark's gap. */
const MARK_CLOSED = 0.86;

/** The mark: a ring with one gap, which closes as a batch completes. The progress indicator everywhere. */
export function Ring({ closed = MARK_CLOSED, isTurning = false, size = 20, className, label }: RingProps) {
  const drawn = Math.min(1, Math.max(0, closed)) * CIRCUMFERENCE;
  return (
    <svg
      role="img"
      aria-label={label}
      aria-hidden={label === undefined}
      viewBox="0 0 24 24"
      width={size}
      height={size}
      fill="none"
      className={classes('shrink-0', className)}
    >
      <circle cx="12" cy="12" r={RADIUS} stroke="currentColor" strokeWidth="3" opacity="0.18" />
      {/* Turned by the group, so that the animation of the circle begins from nothing. */}
      <g transform="rotate(-62 12 12)">
        {/* A line of no length would still have round ends. */}
        {drawn > 0 && (
          <circle
            cx="12"
            cy="12"
            r={RADIUS}
            stroke="currentColor"
            strokeWidth="3"
            strokeLinecap="round"
            strokeDasharray={`${drawn} ${CIRCUMFERENCE}`}
            className={classes(isTurning && 'turning')}
          />
        )}
      </g>
    </svg>
  );
}
