import { classes } from '../../../ui/classes.ts';
import { FILTERS, type Filter } from './filters.ts';

export interface FilterChipsProps {
  readonly current: Filter;
  readonly onChange: (filter: Filter) => void;
}

/** Which batches are listed; one at a time. */
export function FilterChips({ current, onChange }: FilterChipsProps) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset does not scroll sideways.
    <div role="group" aria-label="Show" className="-mx-4 flex gap-2 overflow-x-auto px-4 py-1">
      {FILTERS.map((filter) => {
        const isCurrent = filter.name === current.name;
        return (
          <button
            key={filter.name}
            type="button"
            aria-pressed={isCurrent}
            onClick={() => onChange(filter)}
            className={classes(
              'h-9 shrink-0 rounded-full border px-3.5 text-sm whitespace-nowrap md:h-8',
              isCurrent
                ? 'border-accent bg-accent-wash font-medium text-accent'
                : 'bg-raised text-quiet hover:text-ink',
            )}
          >
            {filter.word}
          </button>
        );
      })}
    </div>
  );
}
