import type { ProjectOverview } from '@flywheel/api';
import { AddressText } from '../../ui/show/address-text.tsx';
import { TimeText } from '../../ui/show/time-text.tsx';
import { Panel } from '../../ui/state/panel.tsx';

export interface ProjectFactsProps {
  readonly project: ProjectOverview;
  /** Of the wallet that is signed in. */
  readonly isOwn: boolean;
}

/** Who approves, and the addresses that anyone can look up. */
export function ProjectFacts({ project, isOwn }: ProjectFactsProps) {
  const { multisig, batches } = project;
  const facts = [
    { name: 'Batches executed', value: batches.EXECUTED },
    { name: 'open', value: project.openBatches },
    { name: 'failed', value: batches.FAILED },
    {
      name: 'Company approval',
      value: project.approvalMode === 'automatic' ? 'automatic' : 'by a person',
    },
    { name: 'Multisig', value: <AddressText address={multisig.address} of="multisig" isLinked /> },
    {
      name: isOwn ? 'Votes: your wallet' : 'Votes: its wallet',
      value: <AddressText address={multisig.wallet} of="wallet" />,
    },
    { name: 'Votes: the company', value: <AddressText address={multisig.company} of="company" /> },
    { name: 'Pays fees', value: <AddressText address={multisig.operator} of="operator" /> },
    { name: 'Registered', value: <TimeText at={project.dateCreated} form="day" /> },
  ];
  return (
    <Panel title="Project" isFlush>
      <dl className="divide-y px-4 py-1">
        {facts.map(({ name, value }) => (
          <div key={name} className="flex items-baseline justify-between gap-4 py-1.5">
            <dt className="text-quiet">{name}</dt>
            <dd className="tabular text-right">{value}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
