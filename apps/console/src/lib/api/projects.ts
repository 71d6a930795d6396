import { type LimitsRequest, PROJECT_OPERATIONS, type ProjectOverview, type ProofTypesRequest } from '@flywheel/api';
import { infiniteQueryOptions, queryOptions, useQuery } from '@tanstack/react-query';
import { call } from './call.ts';
import { useEnvironment } from './environment.ts';
import { useSession } from './session.ts';

/** The projects of the wallet that is signed in. */
export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: () => call(PROJECT_OPERATIONS.listProjects, {}),
});

/** Long enough not to be a burden, short enough that a deposit shows while one looks on. */
const OVERVIEW_EVERY_MS = 10_000;

/** Reads a project’s overview, and polls it while the page is visible. */
export function projectQuery(projectId: string) {
  return queryOptions({
    queryKey: ['project', projectId, 'overview'],
    queryFn: () => call(PROJECT_OPERATIONS.getProject, { params: { projectId } }),
    refetchInterval: OVERVIEW_EVERY_MS,
  });
}

/** True when the signed-in wallet owns the project; the company’s operators may read it but change nothing. */
export function useOwnsProject(projectId: string): boolean {
  const session = useSession();
  const { data } = useQuery(projectQuery(projectId));
  return data !== undefined && data.wallet === session?.wallet;
}

/** True when the company serves a project: it has admitted the project, or it serves every one. */
export function useIsServed({ isAdmitted }: Pick<ProjectOverview, 'isAdmitted'>): boolean {
  return (useEnvironment()?.registration ?? 'open') === 'open' || isAdmitted;
}

/** True when the company lets a project create batches: it serves the project and has not paused it. */
export function useTakesBatches(project: Pick<ProjectOverview, 'isAdmitted' | 'isPaused'>): boolean {
  return useIsServed(project) && !project.isPaused;
}

/** True when the signed-in wallet can create a batch of the project now; false until that is known. */
export function useMayCreateBatch(projectId: string): boolean {
  const isOwner = useOwnsProject(projectId);
  const { data } = useQuery(projectQuery(projectId));
  const takesBatches = useTakesBatches(data ?? { isAdmitted: false, isPaused: false });
  return useEnvironment() !== undefined && takesBatches && isOwner;
}

/** Reads the amounts burned and airdropped per UTC day, with those of open batches, and polls them like the overview. */
export function usageQuery(projectId: string, days: number) {
  return queryOptions({
    queryKey: ['project', projectId, 'usage', days],
    queryFn: () => call(PROJECT_OPERATIONS.getUsage, { params: { projectId }, query: { days: String(days) } }),
    refetchInterval: OVERVIEW_EVERY_MS,
  });
}

/** Reads the settings of a project. */
export function settingsQuery(projectId: string) {
  return queryOptions({
    queryKey: ['project', projectId, 'settings'],
    queryFn: () => call(PROJECT_OPERATIONS.getSettings, { params: { projectId } }),
  });
}

/** Reads the history of a project, newest first. */
export function historyQuery(projectId: string) {
  return infiniteQueryOptions({
    queryKey: ['project', projectId, 'history'],
    initialPageParam: '',
    queryFn: ({ pageParam: cursor }) =>
      call(PROJECT_OPERATIONS.listProjectHistory, { params: { projectId }, query: cursor === '' ? {} : { cursor } }),
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
}

/** Changes the daily limits, in whole tokens per UTC day. What today has used stays counted. */
export function changeLimits(projectId: string, body: LimitsRequest) {
  return call(PROJECT_OPERATIONS.changeLimits, { params: { projectId }, body });
}

/** Replaces all proof types of a project. */
export function changeProofTypes(projectId: string, body: ProofTypesRequest) {
  return call(PROJECT_OPERATIONS.changeProofTypes, { params: { projectId }, body });
}
