import { type UseQueryResult, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import {
  auditQuery,
  type CompanyFigures,
  companyProjectsQuery,
  companyQuery,
  waitingBatchesQuery,
} from '../../lib/api/company.ts';
import { useSession } from '../../lib/api/session.ts';
import { tokenName } from '../../lib/format.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { EmptyState, QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { Page, Panel } from '../../ui/layout.tsx';
import { NavTab, NavTabs } from '../../ui/nav-tabs.tsx';
import { AuditList } from '../audit/audit-list.tsx';
import { SignInPrompt } from '../session/sign-in-dialog.tsx';
import { SignedIn } from '../session/signed-in.tsx';
import { Figures, PauseNotice } from './figures.tsx';
import { MissingInList, MissingShards } from './missing-shards.tsx';
import { PauseAll, PauseButton } from './pause-all.tsx';

/** The screen of the company’s operators. */
export function Company() {
  return <SignedIn prompt={<SignInPrompt />}>{(wallet) => <CompanyScreens wallet={wallet} />}</SignedIn>;
}

function CompanyScreens({ wallet }: { readonly wallet: string }) {
  return useSession()?.isCompanyOperator ? <CompanyPage /> : <BecomeOperator wallet={wallet} />;
}

function CompanyPage() {
  const company = useQuery(companyQuery);
  // The figures may be older than the list, which is bounded.
  const listed = useQuery(waitingBatchesQuery).data?.batches.length ?? 0;
  return (
    <Page
      title="Company"
      lead="Approve batches, pause projects and monitor the service."
      action={<PauseAction company={company} />}
    >
      <MissingShards failures={company.data?.missing ?? []} />
      {company.data && <PauseNotice figures={company.data} />}
      {/* On a phone the batches to approve come first. */}
      <div className="max-md:order-last">
        <QueryView query={company} skeleton={<SkeletonLines count={1} className="h-28" />}>
          {(figures) => <Figures figures={figures} />}
        </QueryView>
      </div>
      <div>
        <div className="mt-4">
          <NavTabs label="Company">
            <NavTab to="/company" activeOptions={{ exact: true }}>
              Waiting for you <TabCount count={Math.max(company.data?.totals.waitingBatches ?? 0, listed)} />
            </NavTab>
            <NavTab to="/company/projects">Projects</NavTab>
            <NavTab to="/company/jobs">
              Jobs <TabCount count={company.data?.totals.stuckJobs} />
            </NavTab>
            <NavTab to="/company/audit">Audit log</NavTab>
          </NavTabs>
        </div>
        <Outlet />
      </div>
    </Page>
  );
}

/** All projects can be paused also while the figures cannot be read. */
function PauseAction({ company: { data, isError } }: { readonly company: UseQueryResult<CompanyFigures> }) {
  if (data !== undefined) return <PauseAll figures={data} />;
  return isError && <PauseButton />;
}

function TabCount({ count }: { readonly count: number | undefined }) {
  return count !== undefined && count > 0 ? (
    <span className="tabular text-waiting">{count.toLocaleString('en')}</span>
  ) : null;
}

/** Explains how a wallet becomes a company operator. */
function BecomeOperator({ wallet }: { readonly wallet: string }) {
  return (
    <Page title="Company">
      <EmptyState title="Your wallet is not a company operator">
        <p>
          Operators approve batches, pause projects and see every project. To make this wallet an operator, add it to
          the list in this variable, after those who are in it now, and restart the service.
        </p>
        <div className="w-full text-left">
          <CodeBlock label="Environment of the service" code={`COMPANY_OPERATORS=<present ones>,${wallet}`} />
        </div>
        <p>Then reload this page. You stay signed in.</p>
      </EmptyState>
    </Page>
  );
}

/** Lists the actions of all projects and of the company. */
export function AuditLog() {
  const log = useInfiniteQuery(auditQuery);
  const projects = useQuery(companyProjectsQuery);
  const names = new Map(projects.data?.projects.map(({ id, token }) => [id, tokenName(token)]));
  const pages = log.data?.pages ?? [];
  const missing = pages.flatMap((page) => page.missing);
  return (
    <div className="flex flex-col gap-4">
      <MissingInList failures={missing} />
      <Panel>
        <AuditList
          history={log}
          projectNames={names}
          showsShard={pages.some(({ count }) => count > 1)}
          emptyText={
            missing.length === 0
              ? 'No entries yet. Decisions, pauses and changes of all projects will appear here.'
              : 'No entries in the other shards yet.'
          }
        />
      </Panel>
    </div>
  );
}
