import type { CompanyOverview } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { toSol } from '../../lib/amounts.ts';
import { auditQuery, companyQuery, waitingBatchesQuery } from '../../lib/api/company.ts';
import { useSession } from '../../lib/api/session.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { EmptyState, Notice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Panel, Stat, Stats } from '../../ui/layout.tsx';
import { NavTab, NavTabs } from '../../ui/nav-tabs.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { AddressText, AmountText } from '../../ui/text.tsx';
import { AuditList } from '../audit/audit-list.tsx';
import { SignInPrompt } from '../session/sign-in-dialog.tsx';
import { PauseSwitch } from './pause-switch.tsx';

/** The screen of the company’s operators. */
export function Company() {
  const session = useSession();
  if (session === undefined) return <SkeletonLines count={4} />;
  if (session === null) return <SignInPrompt />;
  return session.isCompanyOperator ? <CompanyPage /> : <BecomeOperator wallet={session.wallet} />;
}

function CompanyPage() {
  const company = useQuery(companyQuery);
  // The overview counts one shard, and the list is of all, but bounded.
  const listed = useQuery(waitingBatchesQuery).data?.batches.length ?? 0;
  return (
    <Page
      title="Company"
      lead="Approve batches, pause projects and monitor the service."
      action={company.data && <PauseEverything company={company.data} />}
    >
      {/* On a phone the batches to approve come first. */}
      <div className="max-md:order-last">
        <QueryView query={company} skeleton={<SkeletonLines count={1} className="h-28" />}>
          {(found) => (
            <>
              {found.count > 1 && <ShardNote shard={found.shard} count={found.count} />}
              <CompanyStats company={found} />
            </>
          )}
        </QueryView>
      </div>
      <div>
        <div className="mt-4">
          <NavTabs label="Company">
            <NavTab to="/company" activeOptions={{ exact: true }}>
              Waiting for you <TabCount count={Math.max(company.data?.waitingBatches ?? 0, listed)} />
            </NavTab>
            <NavTab to="/company/projects">Projects</NavTab>
            <NavTab to="/company/jobs">
              Jobs <TabCount count={company.data?.stuckJobs} />
            </NavTab>
            <NavTab to="/company/audit">Audit log</NavTab>
          </NavTabs>
        </div>
        <Outlet />
      </div>
    </Page>
  );
}

function PauseEverything({ company }: { readonly company: ShardNoteProps & Pick<CompanyOverview, 'pausedAt'> }) {
  const { shard, count, pausedAt } = company;
  const name = count > 1 ? `all projects of shard ${shard}` : 'all projects';
  return <PauseSwitch paused={{ projectId: null, shard }} name={name} pausedAt={pausedAt} />;
}

interface ShardNoteProps {
  readonly shard: number;
  /** Number of shards. */
  readonly count: number;
}

/** Says of which shard the page is, except for its queue, and links to the others. */
function ShardNote({ shard, count }: ShardNoteProps) {
  const others = Array.from({ length: count }, (_, index) => index + 1).filter((each) => each !== shard);
  return (
    <p className="mb-4 text-sm text-quiet">
      These figures, the pause, the projects, the jobs and the audit log are of shard {shard} of {count}. Batches of all
      shards wait below.{' '}
      {others.map((each) => (
        <a key={each} href={`/shard/${each}`} className="mr-2 underline underline-offset-2">
          Change to shard {each}
        </a>
      ))}
    </p>
  );
}

function TabCount({ count }: { readonly count: number | undefined }) {
  return count !== undefined && count > 0 ? (
    <span className="tabular text-waiting">{count.toLocaleString('en')}</span>
  ) : null;
}

/** With fewer days left the page asks for a deposit to the operator. */
const SHORT_RUNWAY_DAYS = 14;

/** The pace of one week cannot predict more days than this. */
const LONG_RUNWAY_DAYS = 3_650;

/** Shows the operator’s balance and runway, the open batches and the free nonces. */
function CompanyStats({ company }: { readonly company: CompanyOverview }) {
  const { operator, nonces, exposure } = company;
  return (
    <div className="flex flex-col gap-4">
      {company.isPaused && (
        <Notice tone="waiting" title="All projects are paused">
          {company.pauseReason !== undefined && `“${company.pauseReason}” `}
          No batch can be created or executed until you resume them.
        </Notice>
      )}
      <Stats>
        <Stat
          name="Operator balance"
          value={operator.lamports === null ? 'Unknown' : <AmountText amount={toSol(operator.lamports)} unit="SOL" />}
          note={
            operator.lamports === null ? (
              'The cluster does not respond'
            ) : (
              <>
                plus <AmountText amount={toSol(operator.rentOutLamports)} unit="SOL" /> locked as rent ·{' '}
                <AddressText address={operator.address} of="operator" isLinked />
              </>
            )
          }
        />
        <Stat
          name="Operator runway"
          value={<Runway days={operator.runwayDays} />}
          note={
            <>
              <AmountText amount={toSol(operator.spentPerDayLamports)} unit="SOL" /> per day in fees and tips
            </>
          }
        />
        <Stat
          name="Open batches"
          value={company.openBatches.toLocaleString('en')}
          note={`${company.waitingBatches.toLocaleString('en')} waiting for the company · ${pluralize(company.projects, 'project')}`}
        />
        <Stat
          name="Free nonces"
          value={nonces.available.toLocaleString('en')}
          note={`${nonces.leased} in use, ${nonces.refreshing} advancing, ${nonces.creating} being created`}
        />
      </Stats>
      <Stats>
        <Stat
          name="Locked, projects not admitted"
          value={<AmountOfCap use={exposure.unadmitted.locked} />}
          note={
            <>
              <AmountText amount={toSol(exposure.lockedLamports)} unit="SOL" /> at most for all projects
            </>
          }
        />
        <Stat
          name="Fees today, projects not admitted"
          value={<AmountOfCap use={exposure.unadmitted.spentToday} />}
          note={
            <>
              <AmountText amount={toSol(exposure.spentTodayLamports)} unit="SOL" /> for all projects, with what open
              batches may still take
            </>
          }
        />
      </Stats>
    </div>
  );
}

function AmountOfCap({ use }: { readonly use: CompanyOverview['exposure']['unadmitted']['locked'] }) {
  return (
    <>
      <AmountText amount={toSol(use.used)} />{' '}
      <span className="inline-block text-[0.85em] font-normal text-quiet">
        of <AmountText amount={toSol(use.cap)} unit="SOL" />
      </span>
    </>
  );
}

function Runway({ days }: { readonly days: number | null }) {
  if (days === null) return 'No recent spending';
  if (days > LONG_RUNWAY_DAYS) return 'Over 10 years';
  const words = pluralize(days, 'day');
  return days < SHORT_RUNWAY_DAYS ? <StatusBadge status="failed" label={`${words}: send SOL`} /> : words;
}

/** Explains how a wallet becomes a company operator. */
function BecomeOperator({ wallet }: { readonly wallet: string }) {
  return (
    <Page title="Company">
      <EmptyState title="Your wallet is not a company operator">
        <p>
          Operators approve batches, pause projects and see every project. To make this wallet an operator, set this
          variable and restart the service. Separate several wallets with commas.
        </p>
        <div className="w-full text-left">
          <CodeBlock label="Environment of the service" code={`COMPANY_OPERATORS=${wallet}`} />
        </div>
        <p>Then reload this page. You stay signed in.</p>
      </EmptyState>
    </Page>
  );
}

/** Lists the actions of all projects and of the company. */
export function AuditLog() {
  const log = useInfiniteQuery(auditQuery);
  return (
    <Panel>
      <AuditList history={log} showsProject emptyText="No entries yet." />
    </Panel>
  );
}
