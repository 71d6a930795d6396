import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { AnchorHTMLAttributes, ButtonHTMLAttributes, MouseEvent, Ref } from 'react';
import { cn } from './cn.ts';
import { Ring } from './ring.tsx';

interface ButtonStyle {
  readonly tone?: 'primary' | 'plain' | 'quiet' | 'danger';
  readonly size?: 'normal' | 'small';
}

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement>, ButtonStyle {
  /** Shows the spinning ring; a press does nothing. The button keeps the focus, which `disabled` would take from it. */
  readonly isBusy?: boolean;
}

/** A button. A screen has at most one `primary` button. */
export function Button({ tone, size, isBusy = false, children, className, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-disabled={isBusy || undefined}
      aria-busy={isBusy}
      onClick={isBusy ? ignorePress : onClick}
      className={buttonClasses({ tone, size }, className)}
    >
      {isBusy && <Ring size={15} progress={0.7} isSpinning />}
      {children}
    </button>
  );
}

/** Also of Enter in a field, which presses the button of its form. */
function ignorePress(event: MouseEvent): void {
  event.preventDefault();
}

interface AnchorProps extends AnchorHTMLAttributes<HTMLAnchorElement>, ButtonStyle {
  readonly ref?: Ref<HTMLAnchorElement>;
}

function Anchor({ tone, size, className, children, ...rest }: AnchorProps) {
  return (
    <a {...rest} className={buttonClasses({ tone, size }, className)}>
      {children}
    </a>
  );
}

/** A link to another screen that looks like a button. */
export const ButtonLink: LinkComponent<typeof Anchor> = createLink(Anchor);

const TONES = {
  primary: 'border-accent bg-accent text-on-accent hover:opacity-90',
  plain: 'border-line-strong/60 bg-raised hover:bg-sunken',
  quiet: 'border-transparent text-quiet hover:bg-sunken hover:text-ink',
  danger: 'border-failed/60 text-failed hover:bg-failed-wash',
} as const;

/** On a phone as high as a finger needs: 44 px. */
const SIZES = { normal: 'h-11 px-4 md:h-9', small: 'h-11 px-3 text-sm md:h-7 md:px-2.5' } as const;

function buttonClasses({ tone = 'plain', size = 'normal' }: ButtonStyle, className: string | undefined): string {
  return cn(
    'inline-flex print:hidden items-center justify-center gap-2 rounded border font-medium whitespace-nowrap no-underline transition-opacity select-none disabled:opacity-55 aria-disabled:opacity-55',
    TONES[tone],
    SIZES[size],
    className,
  );
}
