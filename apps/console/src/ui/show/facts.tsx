import type { ReactNode } from 'react';

/** Names and values, a pair a line. */
export function Facts({ facts }: { readonly facts: readonly { readonly name: string; readonly value: ReactNode }[] }) {
  return (
    <dl className="divide-y rounded border bg-raised">
      {facts.map(({ name, value }) => (
        <div key={name} className="flex min-h-10 flex-wrap items-center justify-between gap-x-6 gap-y-1 px-3 py-2">
          <dt className="text-quiet">{name}</dt>
          <dd className="tabular min-w-0 text-right break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
