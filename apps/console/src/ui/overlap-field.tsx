import { Notice } from './feedback.tsx';
import { SelectField } from './fields.tsx';

export interface OverlapFieldProps {
  readonly label: string;
  readonly seconds: number;
  readonly onChange: (seconds: number) => void;
}

const DAY_SECONDS = 86_400;

/** Initial value of the field. */
export const DEFAULT_OVERLAP_SECONDS = DAY_SECONDS;

const OVERLAPS = [
  { seconds: DAY_SECONDS, label: 'a day' },
  { seconds: 3_600, label: 'an hour' },
  { seconds: 7 * DAY_SECONDS, label: 'a week' },
  { seconds: 30 * DAY_SECONDS, label: '30 days' },
  { seconds: 0, label: 'no time: it stops now' },
];

/** Says what the end of a secret without an overlap does; shown before it is asked for. */
export function NoOverlapNotice({ children }: { readonly children: string }) {
  return (
    <Notice tone="waiting" title="There is no overlap">
      {children} You cannot undo this.
    </Notice>
  );
}

/** Selects how long a replaced secret keeps working beside the new one. */
export function OverlapField({ label, seconds, onChange }: OverlapFieldProps) {
  return (
    <SelectField label={label} value={seconds} onChange={({ target }) => onChange(Number(target.value))}>
      {OVERLAPS.map((overlap) => (
        <option key={overlap.seconds} value={overlap.seconds}>
          {overlap.label}
        </option>
      ))}
    </SelectField>
  );
}
