import type { Batch, BundleExecution, Ledger } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import { formatSol } from '../../lib/amounts.ts';
import { LoadMore, Panel } from '../../ui/layout.tsx';
import { StatusBadge } from '../../ui/status-badge.tsx';
import { AddressText } from '../../ui/text.tsx';
import { costSoFar } from './batch-summary.ts';

/** Shows the results of setup and execution: counts, bundles, signatures. `FailureNotice` says why one failed. */
export function ResultsPanel({ batch }: { readonly batch: Batch }) {
  const { initResult, executeResult } = batch;
  if (!initResult && !executeResult) return null;
  return (
    <Panel title="Results">
      <div className="grid grid-cols-1 gap-6 md:grid-cols-2">
        {initResult && (
          <Outcome
            title="Setup"
            text={`${initResult.totalSuccessful} of ${pluralize(initResult.total, 'transaction')}`}
            bundles={initResult.successfulExecutions}
          />
        )}
        {executeResult && (
          <Outcome
            title="Execution"
            text={`${executeResult.totalSuccessful} of ${pluralize(executeResult.total, 'pipeline')}`}
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
  readonly bundles: readonly BundleExecution[];
}

function Outcome({ title, text, bundles }: OutcomeProps) {
  const more = bundles.slice(SHOWN);
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <h3 className="font-medium">
        {title} <span className="tabular font-normal text-quiet">{text}</span>
      </h3>
      <Bundles bundles={bundles.slice(0, SHOWN)} />
      {more.length > 0 && (
        <LoadMore label={`Show ${pluralize(more.length, 'more bundle')}`}>{() => <Bundles bundles={more} />}</LoadMore>
      )}
    </div>
  );
}

/** A batch of a thousand pipelines takes hundreds of bundles. */
const SHOWN = 3;

function Bundles({ bundles }: { readonly bundles: readonly BundleExecution[] }) {
  return (
    <ul className="flex flex-col gap-2">
      {bundles.map(({ bundleId, txHashes }) => (
        <li key={bundleId} className="rounded border px-3 py-2">
          <p className="flex items-center justify-between gap-2 text-sm text-quiet">
            Bundle <AddressText address={bundleId} of="bundle" />
          </p>
          <ul className="mt-1 flex flex-wrap gap-x-4 gap-y-1 max-md:gap-y-5">
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

interface LedgerPanelProps {
  readonly ledger: Ledger;
  /** True while the wallet’s cancel vote may be what the rent waits for. */
  readonly awaitsCancelVote: boolean;
}

/** Shows what the batch cost, in total and per transaction. */
export function LedgerPanel({ ledger, awaitsCancelVote }: LedgerPanelProps) {
  const { lockedLamports } = costSoFar(ledger);
  const rows = [
    { name: 'Fees', lamports: ledger.feeLamports },
    { name: 'Tips', lamports: ledger.tipLamports },
    { name: 'Rent locked', lamports: ledger.rentOutLamports },
    { name: 'Rent returned', lamports: ledger.rentBackLamports },
    ledger.isComplete
      ? { name: 'Net cost to the operator', lamports: ledger.operatorNetLamports }
      : { name: 'Rent that comes back', lamports: lockedLamports },
    { name: 'Token account rent, paid by the vault', lamports: ledger.vaultRentLamports },
  ];
  return (
    <Panel title="Cost" aside={<RentBadge isComplete={ledger.isComplete} {...{ lockedLamports, awaitsCancelVote }} />}>
      <dl className="grid gap-x-8 gap-y-1 sm:grid-cols-2">
        {rows.map(({ name, lamports }) => (
          <div key={name} className="flex justify-between gap-4 border-b py-1.5">
            <dt className="text-quiet">{name}</dt>
            <dd className="tabular whitespace-nowrap">{formatSol(lamports)}</dd>
          </div>
        ))}
      </dl>
      {ledger.entries.length > 0 && (
        <div className="mt-4">
          <LoadMore label={`Show ${pluralize(ledger.entries.length, 'transaction')}`}>
            {() => <Entries entries={ledger.entries} />}
          </LoadMore>
        </div>
      )}
    </Panel>
  );
}

interface RentBadgeProps extends Pick<LedgerPanelProps, 'awaitsCancelVote'> {
  /** No more transactions of the batch follow. */
  readonly isComplete: boolean;
  readonly lockedLamports: bigint;
}

function RentBadge({ isComplete, lockedLamports, awaitsCancelVote }: RentBadgeProps) {
  if (lockedLamports <= 0n) return isComplete && <StatusBadge status="done" label="All rent returned" />;
  if (isComplete) return <StatusBadge status="failed" label={`${formatSol(lockedLamports)} of rent not returned`} />;
  return awaitsCancelVote ? (
    <StatusBadge status="waiting" label="Rent waits for the cancel vote" />
  ) : (
    <StatusBadge status="running" label="Rent locked until the accounts close" />
  );
}

function Entries({ entries }: Pick<Ledger, 'entries'>) {
  return (
    <ul className="flex flex-col divide-y">
      {entries.map((entry) => (
        <li key={entry.signature} className="grid grid-cols-3 items-center gap-3 py-1.5 max-md:min-h-11">
          <AddressText address={entry.signature} kind="signature" isLinked />
          <span className="text-quiet">{entry.phase}</span>
          <span className="tabular text-right">{formatSol(BigInt(entry.feeLamports) + BigInt(entry.tipLamports))}</span>
        </li>
      ))}
    </ul>
  );
}
