import { RadioGroup as RadixRadioGroup } from 'radix-ui';
import type { ReactNode } from 'react';

export interface RadioGroupProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
  readonly options: readonly { readonly value: Value; readonly title: string; readonly text: ReactNode }[];
}

/** One of a few, each with a sentence. */
export function RadioGroup<Value extends string>({ label, value, onChange, options }: RadioGroupProps<Value>) {
  const choose = (chosen: string) => {
    const option = options.find((candidate) => candidate.value === chosen);
    if (option) onChange(option.value);
  };
  return (
    <RadixRadioGroup.Root aria-label={label} value={value} onValueChange={choose} className="grid gap-2 sm:grid-cols-2">
      {options.map((option) => (
        <RadixRadioGroup.Item
          key={option.value}
          value={option.value}
          className="flex gap-3 rounded border bg-raised p-3 text-left data-[state=checked]:border-accent data-[state=checked]:bg-accent-wash"
        >
          <span className="mt-1 grid size-4 shrink-0 place-items-center rounded-full border border-line-strong">
            <RadixRadioGroup.Indicator className="size-2 rounded-full bg-accent" />
          </span>
          <span>
            <span className="block font-medium">{option.title}</span>
            <span className="block text-sm text-quiet">{option.text}</span>
          </span>
        </RadixRadioGroup.Item>
      ))}
    </RadixRadioGroup.Root>
  );
}
