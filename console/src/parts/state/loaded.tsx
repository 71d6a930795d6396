import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorNotice } from './notice.tsx';

export interface LoadedProps<Value> {
  readonly query: UseQueryResult<Value>;
  /** As large as what will take its place. */
  readonly skeleton: ReactNode;
  readonly children: (value: Value) => ReactNode;
}

/** A view of what was asked for: its skeleton meanwhile, or what went wrong with a way to ask again. */
export function Loaded<Value>({ query, skeleton, children }: LoadedProps<Value>) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <div aria-busy="true">
      <span role="status" className="sr-only">
        Loading
      </span>
      {skeleton}
    </div>
  );
}
