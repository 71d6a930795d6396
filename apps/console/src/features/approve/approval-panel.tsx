import type { BatchDetail } from '@flywheel/api';
import { type Approval, approvalFee, type Look } from '@flywheel/sdk';
import { formatSol } from '../../lib/text/amount.ts';
import { AddressText } from '../../ui/show/address-text.tsx';
import { Facts } from '../../ui/show/facts.tsx';
import { StateMark } from '../../ui/show/state-mark.tsx';
import { Panel } from '../../ui/state/panel.tsx';

export interface ApprovalPanelProps {
  readonly look: Look;
  /** Who is to sign. */
  readonly wallet: string;
  readonly batch: BatchDetail;
}

/** What the transaction does, decoded on this page from its own bytes. */
export function ApprovalPanel({ look: { approval, approvalFaults }, wallet, batch }: ApprovalPanelProps) {
  return (
    <Panel
      title="What you sign"
      aside={
        approvalFaults.length === 0 ? (
          <StateMark state="done" word="Two votes, nothing else" />
        ) : (
          <StateMark state="failed" word="It does something else" />
        )
      }
    >
      <ol className="flex flex-col gap-1.5">
        {approval.steps.map((step, position) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the instructions of one transaction never move.
          <li key={position} className="flex min-h-8 items-baseline gap-3">
            <span className="tabular w-3 shrink-0 text-right text-xs text-quiet">{position}</span>
            <StepText step={step} wallet={wallet} />
          </li>
        ))}
      </ol>
      <div className="mt-4">
        <Facts
          facts={[
            { name: 'Fee', value: formatSol(approvalFee(approval)) },
            { name: 'Paid by the operator', value: <AddressText address={approval.feePayer} of="operator" /> },
            { name: 'You pay', value: 'nothing' },
            { name: 'Approves batch', value: batch.batch.batchIndex },
            { name: 'By its proposal', value: <AddressText address={proposalOf(approval)} of="proposal" isLinked /> },
          ]}
        />
      </div>
    </Panel>
  );
}

function StepText({ step, wallet }: { readonly step: Approval['steps'][number]; readonly wallet: string }) {
  switch (step.kind) {
    case 'nonce':
      return (
        <span>
          Advance the nonce <AddressText address={step.account} of="nonce" />, so that it counts once
        </span>
      );
    case 'computeLimit':
      return <span className="tabular">Use at most {step.units.toLocaleString('en')} compute units</span>;
    case 'computePrice':
      return <span className="tabular">Pay {step.microLamports.toLocaleString('en')} micro-lamports a unit</span>;
    case 'vote':
      return (
        <span className="font-medium">
          Vote yes as {step.member === wallet ? 'you' : 'the company'},{' '}
          <AddressText address={step.member} of="member" />
        </span>
      );
    case 'other':
      return (
        <span className="font-medium text-failed">
          Call <AddressText address={step.program} of="program" /> with {step.bytes} bytes: no part of an approval
        </span>
      );
    default:
      return step satisfies never;
  }
}

function proposalOf({ steps }: Approval): string {
  return steps.find((step) => step.kind === 'vote')?.proposal ?? 'none';
}
