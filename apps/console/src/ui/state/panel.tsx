import type { ReactNode } from 'react';
import { classes } from '../classes.ts';

export interface PanelProps {
  readonly title?: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
  readonly className?: string;
  /** What is in it reaches the hairline: a table. */
  readonly isFlush?: boolean;
}

/** A part of a screen, in a hairline. */
export function Panel({ title, aside, children, className, isFlush = false }: PanelProps) {
  return (
    <section className={classes('rounded-lg border bg-raised', className)}>
      {title !== undefined && (
        <header className="flex min-h-12 flex-wrap items-center justify-between gap-2 border-b px-4 py-2">
          <h2 className="font-semibold">{title}</h2>
          {aside}
        </header>
      )}
      <div className={isFlush ? undefined : 'p-4'}>{children}</div>
    </section>
  );
}
