import type { InShard, JobSummary } from '@flywheel/api';
import { shorten } from '@flywheel/protocol';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { companyProjectsQuery, jobsQuery, retryJob } from '../../lib/api/company.ts';
import { tokenName } from '../../lib/format.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState, ErrorNotice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { TimeText } from '../../ui/text.tsx';
import { MissingInList } from './missing-shards.tsx';

/** Lists the open jobs, those with a problem first, each with a button to retry it now. */
export function Jobs() {
  const jobs = useQuery(jobsQuery);
  return (
    <QueryView query={jobs} skeleton={<SkeletonLines count={3} className="h-14" />}>
      {({ jobs: found, missing, isSharded }) =>
        found.length === 0 && missing.length === 0 ? (
          <EmptyState title="No open jobs">
            <p>A job sets up, executes or closes one batch, or refills the nonces. Jobs in progress appear here.</p>
          </EmptyState>
        ) : (
          <div className="flex flex-col gap-4">
            <MissingInList failures={missing} />
            {found.length > 0 && (
              <Panel isFlush>
                <Table
                  label="Jobs"
                  columns={isSharded ? SHARDED_COLUMNS : COLUMNS}
                  rows={found.toSorted((a, b) => Number(b.problem !== undefined) - Number(a.problem !== undefined))}
                  keyOf={({ id }) => id}
                  under={({ error, problem }) =>
                    error !== undefined &&
                    problem !== undefined && <p className="text-sm break-words text-quiet">{error}</p>
                  }
                />
              </Panel>
            )}
          </div>
        )
      }
    </QueryView>
  );
}

type Job = InShard<JobSummary>;

const NAME: Column<Job> = {
  name: 'Job',
  isPlain: true,
  render: ({ type }) => (
    <span className="inline-block font-medium first-letter:uppercase">{type.replaceAll('-', ' ')}</span>
  ),
};

const STATES: readonly Column<Job>[] = [
  { name: 'State', render: (job) => <JobState {...job} /> },
  { name: 'Batch', render: (job) => <BatchLink {...job} /> },
  { name: 'Failed attempts', isAmount: true, render: ({ failedAttempts }) => failedAttempts },
  { name: 'Created', render: ({ dateCreated }) => <TimeText at={dateCreated} /> },
  { name: 'Due', render: ({ dueAt }) => <TimeText at={dueAt} /> },
  {
    name: 'Actions',
    isPlain: true,
    isNarrow: true,
    render: (job) => (job.state === 'running' ? null : <Retry job={job} />),
  },
];

const COLUMNS = [NAME, ...STATES];
const SHARDED_COLUMNS = [NAME, { name: 'Shard', isAmount: true, render: ({ shard }: Job) => shard }, ...STATES];

const ISSUES = {
  failed: 'Gave up',
  abandoned: 'Abandoned',
  failing: 'Keeps failing',
  unattended: 'No worker',
} as const;

function JobState({ state, problem }: JobSummary) {
  if (problem !== undefined) return <StatusBadge status="failed" label={ISSUES[problem]} />;
  switch (state) {
    case 'running':
      return <StatusBadge status="running" label="Running" />;
    case 'waiting':
      return <StatusBadge status="waiting" label="Waiting" />;
    case 'failed':
      return <StatusBadge status="failed" label="Failed" />;
    case 'cancelled':
      return <StatusBadge status="failed" label="Cancelled" />;
    case 'completed':
      return <StatusBadge status="done" label="Done" />;
    default:
      return state satisfies never;
  }
}

/** Links to the batch of a job; a job whose batch is gone has only its id. */
function BatchLink({ batchId, batchIndex, projectId }: JobSummary) {
  const projects = useQuery(companyProjectsQuery);
  if (batchId === undefined) return 'none';
  if (projectId === undefined) return <code>{shorten(batchId)}</code>;
  const token = projects.data?.projects.find(({ id }) => id === projectId)?.token;
  return (
    <Link
      to="/p/$projectId/batches/$batchId"
      params={{ projectId, batchId }}
      className="tap inline-flex min-h-6 items-center text-sm text-accent underline underline-offset-2"
    >
      {token && `${tokenName(token)} · `}
      Batch {batchIndex ?? shorten(batchId)}
    </Link>
  );
}

function Retry({ job }: { readonly job: Job }) {
  const queries = useQueryClient();
  const retry = useMutation({
    mutationFn: () => retryJob(job),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['company'] }),
  });
  return (
    <span className="flex flex-col gap-2">
      <Button size="small" isBusy={retry.isPending} onClick={() => retry.mutate()}>
        {retry.isSuccess ? 'Retried' : 'Retry now'}
      </Button>
      {retry.error && <ErrorNotice error={retry.error} />}
    </span>
  );
}
