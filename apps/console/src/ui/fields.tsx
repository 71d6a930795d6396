import { CircleAlert } from 'lucide-react';
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import { cn } from './cn.ts';

interface Labelled {
  readonly label: string;
  readonly hint?: ReactNode;
  /** A sentence; the field is marked invalid while there is one. */
  readonly error?: string | null;
}

/** A text field with its label, a hint and an error in words. */
export function TextField({
  label,
  hint,
  error,
  className,
  ...rest
}: Labelled & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Framed {...{ label, hint, error, className }}>
      {(wiring) => <input spellCheck={false} autoComplete="off" {...rest} {...wiring} className={CONTROL} />}
    </Framed>
  );
}

/** The same, of several lines. */
export function TextArea({
  label,
  hint,
  error,
  className,
  ...rest
}: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Framed {...{ label, hint, error, className }}>
      {(wiring) => (
        <textarea spellCheck={false} rows={4} {...rest} {...wiring} className={cn(BOX, 'py-2 font-mono text-sm')} />
      )}
    </Framed>
  );
}

/** The platform's own select: it is at its best on a phone. */
export function SelectField({
  label,
  hint,
  error,
  className,
  children,
  ...rest
}: Labelled & SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <Framed {...{ label, hint, error, className }}>
      {(wiring) => (
        <select {...rest} {...wiring} className={CONTROL}>
          {children}
        </select>
      )}
    </Framed>
  );
}

const BOX =
  'w-full rounded border border-line-strong/70 bg-raised px-3 placeholder:text-quiet aria-invalid:border-failed';
const CONTROL = `${BOX} h-10 md:h-9`;

interface Wiring {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
}

interface FramedProps extends Labelled {
  readonly className?: string | undefined;
  readonly children: (wiring: Wiring) => ReactNode;
}

function Framed({ label, hint, error, className, children }: FramedProps) {
  const id = useId();
  const described = error || hint ? `${id}-note` : undefined;
  return (
    <div className={cn('flex flex-col gap-1', className)}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': Boolean(error) })}
      {described && (
        <p id={described} className={cn('flex items-start gap-1 text-xs', error ? 'text-failed' : 'text-quiet')}>
          {error && <CircleAlert size={13} aria-hidden className="mt-px shrink-0" />}
          <span>{error || hint}</span>
        </p>
      )}
    </div>
  );
}
