import type { ReactNode } from 'react';

export interface StatProps {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
}

/** One figure that counts, with its name above and a few words below. */
export function Stat({ name, value, note }: StatProps) {
  return (
    <div className="flex min-h-28 flex-col gap-1.5 bg-raised p-4">
      <dt className="text-sm text-quiet">{name}</dt>
      <dd className="text-lg font-semibold tracking-tight break-words">{value}</dd>
      {note && <dd className="mt-auto text-sm text-quiet">{note}</dd>}
    </div>
  );
}

/** Figures side by side, a hairline between them: two of them, or four. */
export function Stats({ children }: { readonly children: ReactNode }) {
  return (
    <dl className="grid grid-cols-1 gap-px overflow-hidden rounded-lg border bg-line min-[440px]:grid-cols-2 lg:has-[>:nth-child(3)]:grid-cols-4">
      {children}
    </dl>
  );
}
