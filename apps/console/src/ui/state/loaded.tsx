import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorNotice } from './notice.tsx';

export interface LoadedProps<Value> {
  readonly query: UseQueryResult<Value>;
  /** As large as what will take its place. */
  readonly skeleton: ReactNode;
  readonly children: (value: Value) => ReactNode;
  /** In a panel without a margin of its own. */
  readonly isFlush?: boolean;
}

/** A view of what was asked for: its skeleton meanwhile, or what went wrong with a way to ask again. */
export function Loaded<Value>({ query, skeleton, children, isFlush = false }: LoadedProps<Value>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) {
    return (
      <div className={isFlush ? 'p-3' : undefined}>
        <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
      </div>
    );
  }
  return (
    <div aria-busy="true">
      <span role="status" className="sr-only">
        Loading
      </span>
      {skeleton}
    </div>
  );
}
