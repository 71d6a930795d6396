import type { BatchProgress, TimelineStep } from '@flywheel/api';
import type { ReactNode } from 'react';
import { More } from '../../ui/layout/more.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { TimeText } from '../../ui/show/time-text.tsx';
import { type TimelineStep as ShownStep, Timeline } from '../../ui/show/timeline.tsx';

export interface BatchTimelineProps {
  readonly progress: BatchProgress;
  /** Where the wallet is asked; only while it is its turn. */
  readonly approveAction?: ReactNode;
}

const NAMES = {
  compiled: 'Compiled',
  setUp: 'Set up on chain',
  walletApproval: 'Your approval',
  companyApproval: 'Company approval',
  executed: 'Executed',
  rentReturned: 'Rent returned',
} as const satisfies Record<TimelineStep['step'], string>;

/** From compiled to rent returned: what happened when, by which transactions, and whose turn it is. */
export function BatchTimeline({ progress, approveAction }: BatchTimelineProps) {
  const { timeline, expiresAt } = progress;
  return (
    <Timeline
      steps={timeline.map(({ step, state, at, note, signatures }): ShownStep => {
        const isAsked = step === 'walletApproval' && state === 'waiting';
        return {
          name: NAMES[step],
          state: state === 'upcoming' ? 'coming' : state,
          at: at ?? null,
          text: (
            <>
              {note}
              {isAsked && expiresAt !== undefined && (
                <p>
                  Valid until <TimeText at={expiresAt} />
                </p>
              )}
              <Signatures signatures={signatures} />
            </>
          ),
          action: isAsked ? approveAction : null,
        };
      })}
    />
  );
}

/** A batch of a thousand pipelines has hundreds. */
const SHOWN = 3;

function Signatures({ signatures }: { readonly signatures: readonly string[] }) {
  if (signatures.length === 0) return null;
  const more = signatures.slice(SHOWN);
  return (
    <>
      <SignatureList signatures={signatures.slice(0, SHOWN)} />
      {more.length > 0 && (
        <More words={`and ${more.length.toLocaleString('en')} more`}>{() => <SignatureList signatures={more} />}</More>
      )}
    </>
  );
}

function SignatureList({ signatures }: { readonly signatures: readonly string[] }) {
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-0.5">
      {signatures.map((signature) => (
        <li key={signature}>
          <AddressText address={signature} kind="signature" isLinked />
        </li>
      ))}
    </ul>
  );
}
