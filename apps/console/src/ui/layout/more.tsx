import { type ReactNode, useState } from 'react';

export interface MoreProps {
  /** E.g. `and 197 more`. */
  readonly words: string;
  readonly children: () => ReactNode;
}

/** What is too long to be shown at once: made when it is asked for, and scrolled by itself. */
export function More({ words, children }: MoreProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="text-sm text-quiet">{words}</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, a scrolling region takes focus.
        <section aria-label={words} tabIndex={0} className="mt-2 max-h-80 overflow-y-auto">
          {children()}
        </section>
      )}
    </details>
  );
}
