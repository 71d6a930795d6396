import { useQuery } from '@tanstack/react-query';
import { Outlet } from '@tanstack/react-router';
import { SignInPrompt } from '../../app/session/sign-in-prompt.tsx';
import { companyQuery } from '../../lib/service/company.ts';
import { useSession } from '../../lib/service/session.ts';
import { Tab, Tabs } from '../../ui/layout/tabs.tsx';
import { Loaded } from '../../ui/state/loaded.tsx';
import { Page } from '../../ui/state/page.tsx';
import { Lines } from '../../ui/state/skeleton.tsx';
import { BecomeOperator } from './become-operator.tsx';
import { CompanyStats } from './company-stats.tsx';
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
