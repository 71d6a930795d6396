import type { WaitingBatch } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { AddressText } from '../../../parts/show/address-text.tsx';
import { AmountText } from '../../../parts/show/amount-text.tsx';
import { TimeText } from '../../../parts/show/time-text.tsx';
import { Empty } from '../../../parts/state/empty.tsx';
import { Loaded } from '../../../parts/state/loaded.tsx';
import { Notice } from '../../../parts/state/notice.tsx';
import { Lines } from '../../../parts/state/skeleton.tsx';
import { waitingBatchesQuery } from '../../../service/company.ts';
import { Verdict } from './verdict.tsx';

/** The batches that a person of the company decides on, oldest first. */
export function Waiting() {
  const waiting = useQuery(waitingBatchesQuery);
  return (
    <Loaded query={waiting} skeleton={<Lines count={2} className="h-40" />}>
      {({ batches }) =>
        batches.length === 0 ? (
          <Empty title="Nothing waits for the company">
            <p>
              Batches of projects that a person approves appear here once their wallet has signed. Those of other
              projects are approved by themselves when every rule has passed.
            </p>
          </Empty>
        ) : (
          <ul className="flex flex-col gap-4">
            {batches.map((batch) => (
              <li key={batch.id}>
                <WaitingCard batch={batch} />
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

function WaitingCard({ batch }: { readonly batch: WaitingBatch }) {
  const { id: batchId, projectId, batchIndex, mintAddress, actions, problem } = batch;
  const facts = [
    { name: 'Burns', value: <AmountText amount={batch.burned} />, note: `${actions.burn} actions` },
    { name: 'Airdrops', value: <AmountText amount={batch.airdropped} />, note: `${actions.airdrop} actions` },
    { name: 'Pipelines', value: batch.pipelines, note: batch.types.join(', ') },
    { name: 'Token', value: <AddressText address={mintAddress} of="mint" isLinked />, note: `${actions.memo} memos` },
  ];
  return (
    <article className="rounded-lg border bg-raised">
      <header className="flex flex-wrap items-baseline justify-between gap-x-4 border-b px-4 py-3">
        <h2 className="font-semibold">
          <Link
            to="/p/$projectId/batches/$batchId"
            params={{ projectId, batchId }}
            className="underline-offset-2 hover:underline"
          >
            Batch {batchIndex}
          </Link>
        </h2>
        <span className="text-sm text-quiet">
          signed by the wallet <TimeText at={batch.requestedAt} />
        </span>
      </header>
      <dl className="grid grid-cols-2 gap-4 p-4 md:grid-cols-4">
        {facts.map(({ name, value, note }) => (
          <div key={name} className="min-w-0">
            <dt className="text-sm text-quiet">{name}</dt>
            <dd className="text-lg font-semibold">{value}</dd>
            <dd className="truncate text-sm text-quiet">{note}</dd>
          </div>
        ))}
      </dl>
      {problem !== undefined && (
        <div className="px-4 pb-4">
          <Notice tone="waiting" title={problem} />
        </div>
      )}
      <Verdict projectId={projectId} batchId={batchId} batchIndex={batchIndex} />
    </article>
  );
}
