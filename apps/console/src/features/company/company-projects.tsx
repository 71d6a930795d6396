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

/** Every project of the service, each with its pause switch. */
export function CompanyProjects() {
  const projects = useQuery(companyProjectsQuery);
  const isAllPaused = useQuery(companyQuery).data?.isPaused === true;
  return (
    <QueryView query={projects} skeleton={<SkeletonLines count={4} className="h-12" />}>
      {({ projects: found }) =>
        found.length === 0 ? (
          <EmptyState title="No project yet">
            <p>A project is registered by the wallet that will approve its batches, on this site or with:</p>
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

/** Of a mint, where a project has no other name: enough to be sure, few enough to type. */
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
      render: ({ approvalMode }) => (approvalMode === 'automatic' ? 'automatic' : 'by a person'),
    },
    { name: 'Open', isAmount: true, render: ({ openBatches }) => openBatches },
    { name: 'Since', render: ({ dateCreated }) => <TimeText at={dateCreated} form="day" /> },
    {
      name: 'State',
      render: ({ isPaused }) =>
        isPaused ? <StatusBadge status="waiting" label="Paused" /> : <StatusBadge status="done" label="Going" />,
    },
    {
      name: 'Pause',
      isPlain: true,
      isNarrow: true,
      // While all are paused a project says so too, and cannot be let go on by itself.
      render: ({ id, token, isPaused }) =>
        isAllPaused ? null : (
          <PauseSwitch
            projectId={id}
            name={token.symbol === undefined ? token.mint.slice(0, TYPED_CHARACTERS) : tokenName(token)}
            isPaused={isPaused}
          />
        ),
    },
  ];
}
