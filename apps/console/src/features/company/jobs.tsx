import type { JobSummary } from '@flywheel/api';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { jobsQuery, retryJob } from '../../lib/service/company.ts';
import { shorten } from '../../lib/text/shorten.ts';
import { Button } from '../../ui/form/button.tsx';
import { type Column, Table } from '../../ui/layout/table.tsx';
import { StateMark } from '../../ui/show/state-mark.tsx';
import { TimeText } from '../../ui/show/time-text.tsx';
import { Empty } from '../../ui/state/empty.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { ErrorNotice } from '../../ui/state/notice.tsx';
import { Panel } from '../../ui/state/panel.tsx';
import { Lines } from '../../ui/state/skeleton.tsx';

/** The jobs that have not ended: those that are stuck first, each with why, and with a way to begin at once. */
export function Jobs() {
  const jobs = useQuery(jobsQuery);
  return (
    <Loaded query={jobs} skeleton={<Lines count={3} className="h-14" />}>
      {({ jobs: found }) =>
        found.length === 0 ? (
          <Empty title="No job is open">
            <p>A job sets up, executes or closes one batch. Those under way appear here.</p>
          </Empty>
        ) : (
          <Panel isFlush>
            <Table
              label="Jobs"
              columns={COLUMNS}
              rows={found.toSorted((a, b) => Number(b.problem !== undefined) - Number(a.problem !== undefined))}
              keyOf={({ id }) => id}
              under={({ error, problem }) =>
                error !== undefined &&
                problem !== undefined && <p className="text-sm break-words text-quiet">{error}</p>
              }
            />
          </Panel>
        )
      }
    </Loaded>
  );
}

const COLUMNS: readonly Column<JobSummary>[] = [
  { name: 'Job', isPlain: true, show: ({ type }) => <span className="font-medium">{type.replaceAll('-', ' ')}</span> },
  { name: 'State', show: (job) => <JobState {...job} /> },
  { name: 'Batch', show: (job) => <BatchLink {...job} /> },
  { name: 'Attempts failed', isAmount: true, show: ({ failedAttempts }) => failedAttempts },
  { name: 'Since', show: ({ dateCreated }) => <TimeText at={dateCreated} /> },
  { name: 'Due', show: ({ dueAt }) => <TimeText at={dueAt} /> },
  {
    name: 'Retry',
    isPlain: true,
    isNarrow: true,
    show: ({ id, state }) => (state === 'running' ? null : <Retry jobId={id} />),
  },
];

const PROBLEMS = {
  failed: 'Gave up',
  abandoned: 'Abandoned',
  failing: 'Keeps failing',
  unattended: 'Nobody takes it',
} as const;

function JobState({ state, problem }: JobSummary) {
  if (problem !== undefined) return <StateMark state="failed" word={PROBLEMS[problem]} />;
  switch (state) {
    case 'running':
      return <StateMark state="running" word="Running" />;
    case 'waiting':
      return <StateMark state="waiting" word="Waiting" />;
    case 'failed':
      return <StateMark state="failed" word="Failed" />;
    case 'cancelled':
      return <StateMark state="failed" word="Cancelled" />;
    case 'completed':
      return <StateMark state="done" word="Done" />;
    default:
      return state satisfies never;
  }
}

function BatchLink({ batchId, projectId }: JobSummary) {
  if (batchId === undefined) return 'none';
  if (projectId === undefined) return <code>{shorten(batchId)}</code>;
  return (
    <Link
      to="/p/$projectId/batches/$batchId"
      params={{ projectId, batchId }}
      className="font-mono text-sm text-accent underline underline-offset-2"
    >
      {shorten(batchId)}
    </Link>
  );
}

function Retry({ jobId }: { readonly jobId: string }) {
  const queries = useQueryClient();
  const retry = useMutation({
    mutationFn: () => retryJob(jobId),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['company'] }),
  });
  return (
    <span className="flex flex-col gap-2">
      <Button size="small" isBusy={retry.isPending} onClick={() => retry.mutate()}>
        {retry.isSuccess ? 'Begins again' : 'Begin now'}
      </Button>
      {retry.error && <ErrorNotice error={retry.error} />}
    </span>
  );
}
