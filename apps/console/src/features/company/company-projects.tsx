import type { ProjectSummary } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { companyProjectsQuery, companyQuery } from '../../lib/service/company.ts';
import { tokenName } from '../../lib/text/token-name.ts';
import { type Column, Table } from '../../ui/layout/table.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { StateMark } from '../../ui/show/state-mark.tsx';
import { TimeText } from '../../ui/show/time-text.tsx';
import { Empty } from '../../ui/state/empty.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Panel } from '../../ui/state/panel.tsx';
import { Lines } from '../../ui/state/skeleton.tsx';
import { PauseSwitch } from './pause-switch.tsx';

/** Every project of the service, each with its pause switch. */
export function CompanyProjects() {
  const projects = useQuery(companyProjectsQuery);
  const isAllPaused = useQuery(companyQuery).data?.isPaused === true;
  return (
    <Loaded query={projects} skeleton={<Lines count={4} className="h-12" />}>
      {({ projects: found }) =>
        found.length === 0 ? (
          <Empty title="No project yet">
            <p>A project is registered by the wallet that will approve its batches, on this site or with:</p>
            <code>flywheel register</code>
          </Empty>
        ) : (
          <Panel isFlush>
            <Table label="Projects" columns={columnsOf(isAllPaused)} rows={found} keyOf={({ id }) => id} />
          </Panel>
        )
      }
    </Loaded>
  );
}

/** Of a mint, where a project has no other name: enough to be sure, few enough to type. */
const TYPED_CHARACTERS = 6;

function columnsOf(isAllPaused: boolean): readonly Column<ProjectSummary>[] {
  return [
    {
      name: 'Project',
      isPlain: true,
      show: ({ id, token }) => (
        <Link
          to="/p/$projectId"
          params={{ projectId: id }}
          className="font-medium text-accent underline underline-offset-2"
        >
          {tokenName(token)}
        </Link>
      ),
    },
    { name: 'Token', show: ({ token }) => <AddressText address={token.mint} of="mint" /> },
    { name: 'Wallet', show: ({ wallet }) => <AddressText address={wallet} of="wallet" /> },
    {
      name: 'Company approval',
      show: ({ approvalMode }) => (approvalMode === 'automatic' ? 'automatic' : 'by a person'),
    },
    { name: 'Open', isAmount: true, show: ({ openBatches }) => openBatches },
    { name: 'Since', show: ({ dateCreated }) => <TimeText at={dateCreated} form="day" /> },
    {
      name: 'State',
      show: ({ isPaused }) =>
        isPaused ? <StateMark state="waiting" word="Paused" /> : <StateMark state="done" word="Going" />,
    },
    {
      name: 'Pause',
      isPlain: true,
      isNarrow: true,
      // While all are paused a project says so too, and cannot be let go on by itself.
      show: ({ id, token, isPaused }) =>
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
