import type { Ledger } from '@flywheel/api';
import { formatSol } from '../../lib/text/amount.ts';
import { count } from '../../lib/text/count.ts';
import { More } from '../../ui/layout/more.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { StateMark } from '../../ui/show/state-mark.tsx';
import { Panel } from '../../ui/state/panel.tsx';

/** What the batch cost, transaction by transaction; it adds up to the last lamport. */
export function LedgerPanel({ ledger }: { readonly ledger: Ledger }) {
  const rows = [
    { name: 'Fees', lamports: ledger.feeLamports },
    { name: 'Tips', lamports: ledger.tipLamports },
    { name: 'Rent locked', lamports: ledger.rentOutLamports },
    { name: 'Rent returned', lamports: ledger.rentBackLamports },
    { name: 'The operator paid', lamports: ledger.operatorNetLamports },
    { name: 'The vault paid for token accounts', lamports: ledger.vaultRentLamports },
  ];
  return (
    <Panel
      title="What it cost"
      aside={
        ledger.isComplete ? (
          <StateMark state="done" word="All rent is back" />
        ) : (
          <StateMark state="running" word="Rent is locked until the accounts close" />
        )
      }
    >
      <dl className="grid gap-x-8 gap-y-1 sm:grid-cols-2">
        {rows.map(({ name, lamports }) => (
          <div key={name} className="flex justify-between gap-4 border-b py-1.5">
            <dt className="text-quiet">{name}</dt>
            <dd className="tabular">{formatSol(lamports)}</dd>
          </div>
        ))}
      </dl>
      {ledger.entries.length > 0 && (
        <div className="mt-4">
          <More words={count(ledger.entries.length, 'transaction')}>{() => <Entries entries={ledger.entries} />}</More>
        </div>
      )}
    </Panel>
  );
}

function Entries({ entries }: Pick<Ledger, 'entries'>) {
  return (
    <ul className="flex flex-col divide-y">
      {entries.map((entry) => (
        <li key={entry.signature} className="grid grid-cols-3 items-center gap-3 py-1.5">
          <AddressText address={entry.signature} kind="signature" isLinked />
          <span className="text-quiet">{entry.phase}</span>
          <span className="tabular text-right">{formatSol(BigInt(entry.feeLamports) + BigInt(entry.tipLamports))}</span>
        </li>
      ))}
    </ul>
  );
}
