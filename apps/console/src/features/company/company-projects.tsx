import type { ProjectSummary } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { companyProjectsQuery, companyQuery } from '../../lib/api/company.ts';
import { tokenName } from '../../lib/format.ts';
import { EmptyState, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { AddressText, TimeText } from '../../ui/text.tsx';
import { PauseSwitch } from './pause-switch.tsx';

/** Lists every project, each with a button to pause or resume it. */
export function CompanyProjects() {
  const projects = useQuery(companyProjectsQuery);
  const isAllPaused = useQuery(companyQuery).data?.isPaused === true;
  return (
    <QueryView query={projects} skeleton={<SkeletonLines count={4} className="h-12" />}>
      {({ projects: found }) =>
        found.length === 0 ? (
          <EmptyState title="No projects yet">
            <p>A project is registered with the wallet that will approve its batches: on this site, or with</p>
            <code>flywheel register</code>
          </EmptyState>
        ) : (
          <Panel isFlush>
            <Table label="Projects" columns={columnsOf(isAllPaused)} rows={found} keyOf={({ id }) => id} />
          </Panel>
        )
      }
    </QueryView>
  );
}

/** Without a symbol, this many characters of the mint are the name to type. */
const TYPED_CHARACTERS = 6;

function columnsOf(isAllPaused: boolean): readonly Column<ProjectSummary>[] {
  return [
    {
      name: 'Project',
      isPlain: true,
      render: ({ id, token }) => (
        <Link
          to="/p/$projectId"
          params={{ projectId: id }}
          className="font-medium text-accent underline underline-offset-2"
        >
          {tokenName(token)}
        </Link>
      ),
    },
    { name: 'Token', render: ({ token }) => <AddressText address={token.mint} of="mint" /> },
    { name: 'Wallet', render: ({ wallet }) => <AddressText address={wallet} of="wallet" /> },
    {
      name: 'Company approval',
      render: ({ approvalMode }) => (approvalMode === 'automatic' ? 'Automatic' : 'Manual'),
    },
    { name: 'Open batches', isAmount: true, render: ({ openBatches }) => openBatches },
    { name: 'Registered', render: ({ dateCreated }) => <TimeText at={dateCreated} form="day" /> },
    {
      name: 'State',
      render: ({ isPaused }) =>
        isPaused ? <StatusBadge status="waiting" label="Paused" /> : <StatusBadge status="done" label="Active" />,
    },
    {
      name: 'Actions',
      isPlain: true,
      isNarrow: true,
      // While all projects are paused, a single one cannot be resumed.
      render: ({ id, token, pausedAt }) =>
        isAllPaused ? null : (
          <PauseSwitch
            projectId={id}
            name={token.symbol === undefined ? token.mint.slice(0, TYPED_CHARACTERS) : tokenName(token)}
            pausedAt={pausedAt}
          />
        ),
    },
  ];
}
