import { type ReactNode, useEffect } from 'react';

export interface PageProps {
  readonly title: string;
  /** Beside the title. */
  readonly action?: ReactNode;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
}

/** A screen: its title, on the page and in the window, and what stands beside it. */
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
