import { SelectField } from './fields.tsx';

export interface OverlapFieldProps {
  readonly label: string;
  readonly seconds: number;
  readonly onChange: (seconds: number) => void;
}

const DAY_SECONDS = 86_400;

/** What is chosen unless somebody chooses. */
export const DEFAULT_OVERLAP_SECONDS = DAY_SECONDS;

const OVERLAPS = [
  { seconds: DAY_SECONDS, words: 'a day' },
  { seconds: 3_600, words: 'an hour' },
  { seconds: 7 * DAY_SECONDS, words: 'a week' },
  { seconds: 30 * DAY_SECONDS, words: '30 days' },
  { seconds: 0, words: 'not at all: it ends now' },
];

/** How long what is replaced goes on working beside what takes its place. */
export function OverlapField({ label, seconds, onChange }: OverlapFieldProps) {
  return (
    <SelectField label={label} value={seconds} onChange={({ target }) => onChange(Number(target.value))}>
      {OVERLAPS.map((overlap) => (
        <option key={overlap.seconds} value={overlap.seconds}>
          {overlap.words}
        </option>
      ))}
    </SelectField>
  );
}
