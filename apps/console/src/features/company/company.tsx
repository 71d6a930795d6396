import type { CompanyOverview } from '@flywheel/api';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { SignInPrompt } from '../../app/session/sign-in-prompt.tsx';
import { auditQuery, companyQuery } from '../../lib/service/company.ts';
import { useSession } from '../../lib/service/session.ts';
import { toSol } from '../../lib/text/amount.ts';
import { count } from '../../lib/text/count.ts';
import { CodeBlock } from '../../ui/copy/code-block.tsx';
import { Stat, Stats } from '../../ui/layout/stat.tsx';
import { Tab, Tabs } from '../../ui/layout/tabs.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { AmountText } from '../../ui/show/amount-text.tsx';
import { StateMark } from '../../ui/show/state-mark.tsx';
import { Empty } from '../../ui/state/empty.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Notice } from '../../ui/state/notice.tsx';
import { Page } from '../../ui/state/page.tsx';
import { Panel } from '../../ui/state/panel.tsx';
import { Lines } from '../../ui/state/skeleton.tsx';
import { AuditList } from '../audit/audit-list.tsx';
import { PauseSwitch } from './pause-switch.tsx';

/** What the company’s operators see and decide. */
export function Company() {
  const session = useSession();
  if (session === undefined) return <Lines count={4} />;
  if (session === null) return <SignInPrompt />;
  return session.isCompanyOperator ? <Desk /> : <BecomeOperator wallet={session.wallet} />;
}

function Desk() {
  const company = useQuery(companyQuery);
  const count = (found: number | undefined) =>
    found !== undefined && found > 0 ? <span className="tabular text-waiting">{found}</span> : null;
  return (
    <Page
      title="Company"
      lead="Every batch takes the company’s vote. This is where it is given, and where the service is watched."
      action={company.data && <PauseSwitch projectId={null} name="every project" isPaused={company.data.isPaused} />}
    >
      {/* On a phone the figures come last: who takes it out wants to see what waits. */}
      <div className="max-md:order-last">
        <Loaded query={company} skeleton={<Lines count={1} className="h-28" />}>
          {(found) => <CompanyStats company={found} />}
        </Loaded>
      </div>
      <div>
        <div className="mt-4">
          <Tabs label="Company">
            <Tab to="/company" activeOptions={{ exact: true }}>
              Waiting for you {count(company.data?.waitingBatches)}
            </Tab>
            <Tab to="/company/projects">Projects</Tab>
            <Tab to="/company/jobs">Jobs {count(company.data?.stuckJobs)}</Tab>
            <Tab to="/company/audit">Audit log</Tab>
          </Tabs>
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
          note={`${waitWords(company.waitingBatches)} for the company · ${count(company.projects, 'project')}`}
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
  const words = count(days, 'day');
  return days < SHORT_RUNWAY_DAYS ? <StateMark state="failed" word={`${words}: send SOL`} /> : words;
}

/** For a wallet that does not act for the company: how it comes to. */
function BecomeOperator({ wallet }: { readonly wallet: string }) {
  return (
    <Page title="Company">
      <Empty title="Your wallet does not act for the company">
        <p>
          Operators approve batches, pause projects and see every project. Whoever runs the service names their wallets
          in its environment, separated by commas, and starts it again:
        </p>
        <div className="w-full text-left">
          <CodeBlock label="The service’s environment" code={`COMPANY_OPERATORS=${wallet}`} />
        </div>
        <p>Then come back: no need to sign in again.</p>
      </Empty>
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
