import { Hint } from '../hint/hint.tsx';

export interface TimeTextProps {
  /** ISO 8601. */
  readonly at: string;
  /** `clock` and `hour` leave the day out. */
  readonly form?: 'full' | 'clock' | 'hour' | 'day';
}

const FORMATS = {
  full: new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }),
  clock: new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' }),
  hour: new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' }),
  day: new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' }),
};

/** A local time; UTC on hover. */
export function TimeText({ at, form = 'full' }: TimeTextProps) {
  return (
    <Hint text={`${at.slice(0, 19).replace('T', ' ')} UTC`}>
      <time dateTime={at} className="tabular whitespace-nowrap">
        {FORMATS[form].format(new Date(at))}
      </time>
    </Hint>
  );
}
