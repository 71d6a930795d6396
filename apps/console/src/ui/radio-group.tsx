import { type ReactNode, useId } from 'react';

export interface RadioGroupProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly options: readonly { readonly value: Value; readonly title: string; readonly text: ReactNode }[];
}

/** A choice between a few options, each with an explanation: the browser’s own radio buttons, with its arrow keys. */
export function RadioGroup<Value extends string>({ label, value, onChange, options }: RadioGroupProps<Value>) {
  const name = useId();
  return (
    <fieldset className="grid gap-2 sm:grid-cols-2">
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label
          key={option.value}
          className="flex cursor-pointer gap-3 rounded border bg-raised p-3 has-checked:border-accent has-checked:bg-accent-wash has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
            aria-labelledby={`${name}-${option.value}`}
            aria-describedby={`${name}-${option.value}-text`}
            className="mt-1 size-4 shrink-0 accent-accent outline-none"
          />
          <span>
            <span id={`${name}-${option.value}`} className="block font-medium">
              {option.title}
            </span>
            <span id={`${name}-${option.value}-text`} className="block text-sm text-quiet">
              {option.text}
            </span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
