import { CircleAlert } from 'lucide-react';
import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react';
import { cn } from './cn.ts';

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  /** A sentence; its presence marks the field as invalid. */
  readonly error?: string | null;
}

/** A one-line text field with a label, and a hint or an error. */
export function TextField({
  label,
  hint,
  error,
  className,
  ...rest
}: FieldProps & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Frame {...{ label, hint, error, className }}>
      {(control) => <input spellCheck={false} autoComplete="off" {...rest} {...control} className={CONTROL} />}
    </Frame>
  );
}

/** A text field with several lines. */
export function TextArea({
  label,
  hint,
  error,
  className,
  ...rest
}: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Frame {...{ label, hint, error, className }}>
      {(control) => (
        <textarea
          spellCheck={false}
          rows={4}
          {...rest}
          {...control}
          className={cn(BOX, 'py-2 font-mono text-sm print:field-sizing-content')}
        />
      )}
    </Frame>
  );
}

/** The browser’s own select, which phones show in a way their users know. */
export function SelectField({
  label,
  hint,
  error,
  className,
  children,
  ...rest
}: FieldProps & SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <Frame {...{ label, hint, error, className }}>
      {(control) => (
        <select {...rest} {...control} className={CONTROL}>
          {children}
        </select>
      )}
    </Frame>
  );
}

const BOX =
  'w-full rounded border border-line-strong/70 bg-raised px-3 placeholder:text-quiet aria-invalid:border-failed';
const CONTROL = `${BOX} h-11 md:h-9`;

interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
}

interface FrameProps extends FieldProps {
  readonly className?: string | undefined;
  readonly children: (wiring: ControlProps) => ReactNode;
}

function Frame({ label, hint, error, className, children }: FrameProps) {
  const id = useId();
  const noteId = error || hint ? `${id}-note` : undefined;
  return (
    <div className={cn('flex flex-col gap-1', className)}>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children({ id, 'aria-describedby': noteId, 'aria-invalid': Boolean(error) })}
      {noteId && (
        <p id={noteId} className={cn('flex items-start gap-1 text-xs', error ? 'text-failed' : 'text-quiet')}>
          {error && <CircleAlert size={13} aria-hidden className="mt-px shrink-0" />}
          <span>{error || hint}</span>
        </p>
      )}
    </div>
  );
}
