import { IDENTITY_OPERATIONS } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { call } from './call.ts';

export type Environment = Awaited<ReturnType<typeof readEnvironment>>;

/** Which cluster the service is on, and where a browser reaches it. It does not change while the service runs. */
export const environmentQuery = {
  queryKey: ['environment'],
  queryFn: readEnvironment,
  staleTime: Number.POSITIVE_INFINITY,
};

/** undefined until it is known. */
export function useEnvironment(): Environment | undefined {
  return useQuery(environmentQuery).data;
}

function readEnvironment() {
  return call(IDENTITY_OPERATIONS.getEnvironment, {});
}
