import type { WaitingBatch } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { waitingBatchesQuery } from '../../../lib/service/company.ts';
import { count } from '../../../lib/text/count.ts';
import { ButtonLink } from '../../../ui/form/button.tsx';
import { AddressText } from '../../../ui/show/address-text.tsx';
import { AmountText } from '../../../ui/show/amount-text.tsx';
import { TimeText } from '../../../ui/show/time-text.tsx';
import { Empty } from '../../../ui/state/empty.tsx';
import { Loaded } from '../../../ui/state/loaded.tsx';
import { Notice } from '../../../ui/state/notice.tsx';
import { Lines } from '../../../ui/state/skeleton.tsx';
import { kindName } from '../../batch/kind-name.ts';
import { type Given, Verdict } from './verdict.tsx';

/** The batches that a person of the company decides on, oldest first. */
export function Waiting() {
  const waiting = useQuery(waitingBatchesQuery);
  const [given, setGiven] = useState<Given | null>(null);
  return (
    <div className="flex flex-col gap-4">
      {given && <GivenNotice given={given} />}
      <Loaded query={waiting} skeleton={<Lines count={2} className="h-40" />}>
        {({ batches }) =>
          batches.length === 0 ? (
            <NothingWaits />
          ) : (
            <ul className="flex flex-col gap-4">
              {batches.map((batch) => (
                <li key={batch.id}>
                  <WaitingCard batch={batch} onGiven={setGiven} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}

function GivenNotice({ given: { isApproved, projectId, batchId, batchIndex } }: { readonly given: Given }) {
  return (
    <Notice
      tone={isApproved ? 'done' : 'plain'}
      title={isApproved ? `Batch ${batchIndex} is approved` : `Batch ${batchIndex} is rejected`}
      action={
        <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }} size="small">
          See it
        </ButtonLink>
      }
    >
      {isApproved ? 'It is being executed now.' : 'It has ended, and the project reads why.'}
    </Notice>
  );
}

function NothingWaits() {
  return (
    <Empty title="Nothing waits for the company">
      <p>
        Batches of projects that a person approves appear here once their wallet has signed, withdrawals and changes of
        members always. Other batches are approved by themselves when every rule has passed.
      </p>
    </Empty>
  );
}

/** Why a person is always asked of these. */
const WARNINGS = {
  withdrawal:
    'It takes money out of the vault, past every daily limit. Look where to, and ask the project by another way.',
  rotation: 'It changes who decides over the vault. Look who goes and who comes, and ask the project by another way.',
};

interface WaitingCardProps {
  readonly batch: WaitingBatch;
  readonly onGiven: (given: Given) => void;
}

function WaitingCard({ batch, onGiven }: WaitingCardProps) {
  const { id: batchId, projectId, batchIndex, mintAddress, actions, problem } = batch;
  const facts = [
    { name: 'Burns', value: <AmountText amount={batch.burned} />, note: count(actions.burn, 'action') },
    { name: 'Airdrops', value: <AmountText amount={batch.airdropped} />, note: count(actions.airdrop, 'action') },
    { name: 'Pipelines', value: batch.pipelines, note: batch.types.join(', ') },
    {
      name: 'Token',
      value: <AddressText address={mintAddress} of="mint" isLinked />,
      note: count(actions.memo, 'memo'),
    },
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
            {kindName(batch.kind)} {batchIndex}
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
      {batch.kind !== undefined && batch.kind !== 'pipelines' && (
        <div className="px-4 pb-4">
          <Notice tone="waiting" title={WARNINGS[batch.kind]} />
        </div>
      )}
      {problem !== undefined && (
        <div className="px-4 pb-4">
          <Notice tone="waiting" title={problem} />
        </div>
      )}
      <Verdict projectId={projectId} batchId={batchId} batchIndex={batchIndex} onGiven={onGiven} />
    </article>
  );
}
