import { type ReactNode, useEffect, useState } from 'react';
import { cn } from './cn.ts';
import { useIsPrinting } from './printing.ts';

export interface PageProps {
  readonly title: string;
  /** Shown beside the title. */
  readonly action?: ReactNode;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
}

/** A screen with its title, which is also the title of the browser tab. */
export function Page({ title, action, lead, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Flywheel`;
  }, [title]);
  return (
    <div className="flex flex-col gap-6">
      <header className="flex min-h-10 flex-wrap items-center justify-between gap-3">
        <div>
          <h1 className="text-xl font-semibold">{title}</h1>
          {lead && <div className="text-quiet">{lead}</div>}
        </div>
        {action}
      </header>
      {children}
    </div>
  );
}

export interface PanelProps {
  readonly title?: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
  /** Removes the padding, for example for a table. */
  readonly isFlush?: boolean;
}

/** A section of a screen, with a border and an optional title. */
export function Panel({ title, aside, children, className, isFlush = false }: PanelProps) {
  return (
    <section className={cn('rounded-lg border bg-raised', className)}>
      {title !== undefined && (
        <header className="flex min-h-12 flex-wrap items-center justify-between gap-2 px-4 py-2">
          <h2 className="font-semibold">{title}</h2>
          {aside}
        </header>
      )}
      <div className={cn('empty:hidden', title !== undefined && 'border-t', !isFlush && 'p-4')}>{children}</div>
    </section>
  );
}

export interface StatProps {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
}

/** A figure with its name above it and a note below it. */
export function Stat({ name, value, note }: StatProps) {
  return (
    <div className="flex min-h-28 flex-col gap-1.5 bg-raised p-4">
      <dt className="text-sm text-quiet">{name}</dt>
      <dd className="text-lg font-semibold tracking-tight break-words">{value}</dd>
      {note && <dd className="mt-auto text-sm text-quiet">{note}</dd>}
    </div>
  );
}

/** A row of two or four figures. */
export function Stats({ children }: { readonly children: ReactNode }) {
  return (
    <dl className="grid grid-cols-1 gap-px overflow-hidden rounded-lg border bg-line min-[440px]:grid-cols-2 lg:has-[>:nth-child(3)]:grid-cols-4">
      {children}
    </dl>
  );
}

/** Names and values, one pair per line. */
export function DescriptionList({
  items,
}: {
  readonly items: readonly { readonly name: string; readonly value: ReactNode }[];
}) {
  return (
    <dl className="divide-y rounded border bg-raised">
      {items.map(({ name, value }) => (
        <div
          key={name}
          className="flex min-h-11 flex-wrap items-center justify-between gap-x-6 md:min-h-10 gap-y-1 px-3 py-2"
        >
          <dt className="text-quiet">{name}</dt>
          <dd className="tabular ml-auto min-w-0 text-right wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export interface LoadMoreProps {
  /** For example `and 197 more`. */
  readonly label: string;
  readonly children: () => ReactNode;
}

/** A long part of a screen, rendered when it is opened or printed, and scrolled inside its own area. */
export function LoadMore({ label, children }: LoadMoreProps) {
  const [isOpen, setOpen] = useState(false);
  const isPrinting = useIsPrinting();
  return (
    <details open={isOpen || isPrinting} onToggle={({ currentTarget }) => setOpen(currentTarget.open && !isPrinting)}>
      <summary className="text-sm text-quiet">{label}</summary>
      {(isOpen || isPrinting) && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, a scrolling region takes focus.
        <section aria-label={label} tabIndex={0} className="mt-2 max-h-80 overflow-y-auto print:max-h-none">
          {children()}
        </section>
      )}
    </details>
  );
}

/** Says how many items a list has beside those that it shows; nothing if it shows all. */
export function MoreItems({ count }: { readonly count: number }) {
  return count > 0 && <li>and {count.toLocaleString('en')} more</li>;
}
