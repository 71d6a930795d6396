import { type ReactNode, useId } from 'react';

export interface CheckboxProps {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly children: ReactNode;
}

/** A checkbox with its label: the browser’s own, in the accent colour. */
export function Checkbox({ checked, onChange, children }: CheckboxProps) {
  const id = useId();
  return (
    <span className="inline-flex items-center gap-2">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        onChange={({ target }) => onChange(target.checked)}
        className="size-5 shrink-0 accent-accent"
      />
      <label htmlFor={id} className="max-md:py-[11px]">
        {children}
      </label>
    </span>
  );
}
