import type { InShard, ProjectSummary } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { companyProjectsQuery, companyQuery } from '../../lib/api/company.ts';
import { useEnvironment } from '../../lib/api/environment.ts';
import { tokenName } from '../../lib/format.ts';
import { EmptyState, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { focusIfLost, useHeadingFocus } from '../../ui/focus-heading.ts';
import { Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { AddressText, TimeText } from '../../ui/text.tsx';
import { MintRisk } from '../project/mint-risk.tsx';
import { AdmissionSwitch } from './admission.tsx';
import { MissingInList } from './missing-shards.tsx';
import { PauseSwitch } from './pause-switch.tsx';

/** Lists every project, each with a button to pause or resume it. */
export function CompanyProjects() {
  const projects = useQuery(companyProjectsQuery);
  const figures = useQuery({ ...companyQuery, refetchInterval: false }).data;
  const paused = new Set(figures?.shards.flatMap(({ shard, isPaused }) => (isPaused ? [shard] : [])));
  const isOpen = (useEnvironment()?.registration ?? 'open') === 'open';
  return (
    <QueryView query={projects} skeleton={<SkeletonLines count={4} className="h-12" />}>
      {({ projects: found, missing, isSharded }) =>
        found.length === 0 && missing.length === 0 ? (
          <EmptyState title="No projects yet">
            <p>A project is registered with the wallet that will approve its batches: on this site, or with</p>
            <code>flywheel register</code>
          </EmptyState>
        ) : (
          <div className="flex flex-col gap-6">
            <MissingInList failures={missing} />
            {!isOpen && <PendingProjects projects={found.filter(({ isAdmitted }) => !isAdmitted)} />}
            {found.length > 0 && (
              <Panel isFlush>
                <Table
                  label="Projects"
                  columns={columnsOf({ paused, isSharded, isOpen })}
                  rows={found}
                  keyOf={({ id }) => id}
                />
              </Panel>
            )}
          </div>
        )
      }
    </QueryView>
  );
}

/** Lists the projects that are not served because the company has not admitted them. */
function PendingProjects({ projects }: { readonly projects: readonly ProjectSummary[] }) {
  useHeadingFocus(projects.map(({ id }) => id).join(), 'main h1', focusIfLost);
  if (projects.length === 0) return null;
  return (
    <Panel title="Waiting to be admitted" isFlush>
      <Table
        label="Projects that wait to be admitted"
        columns={PENDING_COLUMNS}
        rows={projects}
        keyOf={({ id }) => id}
        under={({ token }) => <MintRisk mint={token.mint} isInList />}
      />
    </Panel>
  );
}

/** Without a symbol, this many characters of the mint are the name to type. */
const TYPED_CHARACTERS = 6;

const PROJECT: Column<ProjectSummary> = {
  name: 'Project',
  isPlain: true,
  render: ({ id, token }) => (
    <Link
      to="/p/$projectId"
      params={{ projectId: id }}
      className="tap inline-flex min-h-6 items-center font-medium text-accent underline underline-offset-2"
    >
      {tokenName(token)}
    </Link>
  ),
};
const TOKEN: Column<ProjectSummary> = {
  name: 'Token',
  render: ({ token }) => <AddressText address={token.mint} of="mint" />,
};
const WALLET: Column<ProjectSummary> = {
  name: 'Wallet',
  render: ({ wallet }) => <AddressText address={wallet} of="wallet" />,
};
const REGISTERED: Column<ProjectSummary> = {
  name: 'Registered',
  render: ({ dateCreated }) => <TimeText at={dateCreated} form="day" />,
};

const PENDING_COLUMNS: readonly Column<ProjectSummary>[] = [
  PROJECT,
  TOKEN,
  WALLET,
  REGISTERED,
  { name: 'Actions', isPlain: true, isNarrow: true, render: (project) => <Admission project={project} /> },
];

function Admission({ project: { id, token, isAdmitted } }: { readonly project: ProjectSummary }) {
  return <AdmissionSwitch projectId={id} name={tokenName(token)} isAdmitted={isAdmitted} />;
}

type Project = InShard<ProjectSummary>;

interface ServiceState {
  /** The shards whose projects are all paused. */
  readonly paused: ReadonlySet<number>;
  readonly isSharded: boolean;
  /** True if projects are served without an admission. */
  readonly isOpen: boolean;
}

function columnsOf({ paused, isSharded, isOpen }: ServiceState): readonly Column<Project>[] {
  return [
    PROJECT,
    ...(isSharded ? [{ name: 'Shard', isAmount: true, render: ({ shard }: Project) => shard }] : []),
    TOKEN,
    WALLET,
    {
      name: 'Company approval',
      render: ({ approvalMode }) => (approvalMode === 'automatic' ? 'Automatic' : 'Manual'),
    },
    { name: 'Open batches', isAmount: true, render: ({ openBatches }) => openBatches },
    REGISTERED,
    {
      name: 'Admission',
      render: (project) => (project.isAdmitted || isOpen ? <Admission project={project} /> : 'Waiting'),
    },
    {
      name: 'State',
      render: ({ isPaused, isAdmitted }) => {
        if (isPaused) return <StatusBadge status="waiting" label="Paused" />;
        if (!isAdmitted && !isOpen) return <StatusBadge status="waiting" label="Not admitted" />;
        return <StatusBadge status="done" label="Active" />;
      },
    },
    {
      name: 'Actions',
      isPlain: true,
      isNarrow: true,
      // While all projects of a shard are paused, a single one cannot be resumed.
      render: ({ id, token, pausedAt, shard }) =>
        paused.has(shard) ? null : (
          <PauseSwitch
            projectId={id}
            name={tokenName(token)}
            typedName={token.symbol === undefined ? token.mint.slice(0, TYPED_CHARACTERS) : tokenName(token)}
            pausedAt={pausedAt}
          />
        ),
    },
  ];
}
