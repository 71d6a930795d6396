import type { Batch, BundleExecution } from '@flywheel/api';
import { count } from '../../lib/text/count.ts';
import { More } from '../../ui/layout/more.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { Panel } from '../../ui/state/panel.tsx';

/** What setup and execution came to: counts, bundles, signatures. */
export function ResultsPanel({ batch }: { readonly batch: Batch }) {
  const { initResult, executeResult } = batch;
  if (!initResult && !executeResult) return null;
  return (
    <Panel title="Results">
      <div className="grid gap-6 md:grid-cols-2">
        {initResult && (
          <Outcome
            title="Setup"
            text={`${initResult.totalSuccessful} of ${initResult.total} transactions`}
            failure={initResult.failedTxMsg}
            bundles={initResult.successfulExecutions}
          />
        )}
        {executeResult && (
          <Outcome
            title="Execution"
            text={`${executeResult.totalSuccessful} of ${executeResult.total} pipelines`}
            failure={executeResult.failedTxMsg}
            bundles={executeResult.successfulExecutions}
          />
        )}
      </div>
    </Panel>
  );
}

interface OutcomeProps {
  readonly title: string;
  readonly text: string;
  readonly failure: string | undefined;
  readonly bundles: readonly BundleExecution[];
}

function Outcome({ title, text, failure, bundles }: OutcomeProps) {
  const more = bundles.slice(SHOWN);
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <h3 className="font-medium">
        {title} <span className="tabular font-normal text-quiet">{text}</span>
      </h3>
      {failure && <p className="text-sm break-words text-failed">{failure}</p>}
      <Bundles bundles={bundles.slice(0, SHOWN)} />
      {more.length > 0 && (
        <More words={`and ${count(more.length, 'more bundle')}`}>{() => <Bundles bundles={more} />}</More>
      )}
    </div>
  );
}

/** A batch of a thousand pipelines takes hundreds. */
const SHOWN = 3;

function Bundles({ bundles }: { readonly bundles: readonly BundleExecution[] }) {
  return (
    <ul className="flex flex-col gap-2">
      {bundles.map(({ bundleId, txHashes }) => (
        <li key={bundleId} className="rounded border px-3 py-2">
          <p className="flex items-center justify-between gap-2 text-sm text-quiet">
            Bundle <AddressText address={bundleId} of="bundle" />
          </p>
          <ul className="mt-1 flex flex-wrap gap-x-4 gap-y-1">
            {txHashes.map((signature) => (
              <li key={signature}>
                <AddressText address={signature} kind="signature" isLinked />
              </li>
            ))}
          </ul>
        </li>
      ))}
    </ul>
  );
}
