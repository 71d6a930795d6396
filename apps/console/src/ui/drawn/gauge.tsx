import { classes } from '../classes.ts';

export interface GaugeProps {
  /** 0 to 1; more is shown as full. */
  readonly share: number;
  readonly label: string;
  readonly tone?: 'accent' | 'ember' | 'tide' | 'failed';
}

const FILLS = { accent: 'fill-accent', ember: 'fill-ember', tide: 'fill-tide', failed: 'fill-failed' } as const;

/** How much of something is used. */
export function Gauge({ share, label, tone = 'accent' }: GaugeProps) {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <svg
      role="img"
      aria-label={`${label}: ${percent} percent`}
      viewBox="0 0 100 6"
      preserveAspectRatio="none"
      className="h-1.5 w-full overflow-hidden rounded-full bg-sunken"
    >
      <rect width={percent} height="6" className={classes(FILLS[tone])} />
    </svg>
  );
}
