import type { CompanyOverview } from '@flywheel/api';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { toSol } from '../../lib/amounts.ts';
import { auditQuery, companyQuery } from '../../lib/api/company.ts';
import { pluralize } from '../../lib/format.ts';
import { useSession } from '../../lib/session.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { EmptyState, Notice, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Panel, Stat, Stats } from '../../ui/layout.tsx';
import { NavTab, NavTabs } from '../../ui/nav-tabs.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { AddressText, AmountText } from '../../ui/text.tsx';
import { AuditList } from '../audit/audit-list.tsx';
import { SignInPrompt } from '../session/sign-in-dialog.tsx';
import { PauseSwitch } from './pause-switch.tsx';

/** What the company’s operators see and decide. */
export function Company() {
  const session = useSession();
  if (session === undefined) return <SkeletonLines count={4} />;
  if (session === null) return <SignInPrompt />;
  return session.isCompanyOperator ? <Desk /> : <BecomeOperator wallet={session.wallet} />;
}

function Desk() {
  const company = useQuery(companyQuery);
  const countBadge = (found: number | undefined) =>
    found !== undefined && found > 0 ? <span className="tabular text-waiting">{found}</span> : null;
  return (
    <Page
      title="Company"
      lead="Every batch takes the company’s vote. This is where it is given, and where the service is watched."
      action={company.data && <PauseSwitch projectId={null} name="every project" isPaused={company.data.isPaused} />}
    >
      {/* On a phone the figures come last: who takes it out wants to see what waits. */}
      <div className="max-md:order-last">
        <QueryView query={company} skeleton={<SkeletonLines count={1} className="h-28" />}>
          {(found) => <CompanyStats company={found} />}
        </QueryView>
      </div>
      <div>
        <div className="mt-4">
          <NavTabs label="Company">
            <NavTab to="/company" activeOptions={{ exact: true }}>
              Waiting for you {countBadge(company.data?.waitingBatches)}
            </NavTab>
            <NavTab to="/company/projects">Projects</NavTab>
            <NavTab to="/company/jobs">Jobs {countBadge(company.data?.stuckJobs)}</NavTab>
            <NavTab to="/company/audit">Audit log</NavTab>
          </NavTabs>
        </div>
        <Outlet />
      </div>
    </Page>
  );
}

/** Less than this and someone should send SOL to the operator. */
const SHORT_RUNWAY_DAYS = 14;

/** Beyond this the pace of a week says nothing. */
const LONG_RUNWAY_DAYS = 3_650;

/** The operator’s money and how long it lasts, the nonces, what is open and what is stuck. */
function CompanyStats({ company }: { readonly company: CompanyOverview }) {
  const { operator, nonces } = company;
  return (
    <div className="flex flex-col gap-4">
      {company.isPaused && (
        <Notice tone="waiting" title="Every project is paused">
          {company.pauseReason !== undefined && `“${company.pauseReason}” `}
          Init and execute are refused, and nothing more is sent.
        </Notice>
      )}
      <Stats>
        <Stat
          name="Operator’s balance"
          value={operator.lamports === null ? 'unknown' : <AmountText amount={toSol(operator.lamports)} unit="SOL" />}
          note={
            operator.lamports === null ? (
              'The cluster does not answer'
            ) : (
              <>
                <AmountText amount={toSol(operator.rentOutLamports)} unit="SOL" /> more is out as rent ·{' '}
                <AddressText address={operator.address} of="operator" isLinked />
              </>
            )
          }
        />
        <Stat
          name="It lasts"
          value={<Runway days={operator.runwayDays} />}
          note={
            <>
              <AmountText amount={toSol(operator.spentPerDayLamports)} unit="SOL" /> a day in fees and tips
            </>
          }
        />
        <Stat
          name="Open batches"
          value={company.openBatches.toLocaleString('en')}
          note={`${waitWords(company.waitingBatches)} for the company · ${pluralize(company.projects, 'project')}`}
        />
        <Stat
          name="Free nonces"
          value={nonces.available}
          note={`${nonces.leased} lent, ${nonces.refreshing} being renewed, ${nonces.creating} being made`}
        />
      </Stats>
    </div>
  );
}

function waitWords(batches: number): string {
  if (batches === 0) return 'None waits';
  return batches === 1 ? '1 waits' : `${batches} wait`;
}

function Runway({ days }: { readonly days: number | null }) {
  if (days === null) return 'Nothing is being spent';
  if (days > LONG_RUNWAY_DAYS) return 'More than ten years';
  const words = pluralize(days, 'day');
  return days < SHORT_RUNWAY_DAYS ? <StatusBadge status="failed" label={`${words}: send SOL`} /> : words;
}

/** For a wallet that does not act for the company: how it comes to. */
function BecomeOperator({ wallet }: { readonly wallet: string }) {
  return (
    <Page title="Company">
      <EmptyState title="Your wallet does not act for the company">
        <p>
          Operators approve batches, pause projects and see every project. Whoever runs the service names their wallets
          in its environment, separated by commas, and starts it again:
        </p>
        <div className="w-full text-left">
          <CodeBlock label="The service’s environment" code={`COMPANY_OPERATORS=${wallet}`} />
        </div>
        <p>Then come back: no need to sign in again.</p>
      </EmptyState>
    </Page>
  );
}

/** Who did what in any project, and in the company itself. */
export function AuditLog() {
  const log = useInfiniteQuery(auditQuery);
  return (
    <Panel>
      <AuditList history={log} namesProject emptyText="Nobody has done anything yet." />
    </Panel>
  );
}
