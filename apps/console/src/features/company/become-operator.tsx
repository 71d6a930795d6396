import { CodeBlock } from '../../ui/copy/code-block.tsx';
import { Empty } from '../../ui/state/empty.tsx';
import { Page } from '../../ui/state/page.tsx';

/** For a wallet that does not act for the company: how it comes to. */
export function BecomeOperator({ wallet }: { readonly wallet: string }) {
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
