import type { ProjectOverview } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { rotationsQuery } from '../../lib/service/treasury.ts';
import { Button, ButtonLink } from '../../ui/form/button.tsx';
import { AddressText } from '../../ui/show/address-text.tsx';
import { Notice } from '../../ui/state/notice.tsx';
import { Panel } from '../../ui/state/panel.tsx';
import { useMayChange } from '../project/use-may-change.ts';
import { RotateCompanyButton } from './rotate-company-button.tsx';
import { RotateWalletForm } from './rotate-wallet-form.tsx';
import { RotationList } from './rotation-list.tsx';

/** Who votes for the project’s batches, and the way to put another in the place of either. */
export function RotatePanel({ project }: { readonly project: ProjectOverview }) {
  const [isChanging, setChanging] = useState(false);
  const mayChange = useMayChange(project.id);
  const { data } = useQuery(rotationsQuery(project.id));
  const rotations = data?.rotations ?? [];
  const open = rotations.find(({ dateEnded }) => dateEnded === undefined);
  const { wallet, company } = project.multisig;
  return (
    <Panel title="Who approves">
      <div className="flex flex-col gap-4">
        <dl className="divide-y">
          <Voter name="The project’s wallet" address={wallet}>
            {mayChange && !open && !isChanging && (
              <Button size="small" onClick={() => setChanging(true)}>
                Replace it
              </Button>
            )}
          </Voter>
          <Voter name="The company’s approver" address={company}>
            {!open && <RotateCompanyButton projectId={project.id} present={company} />}
          </Voter>
        </dl>
        {open && <OpenRotation projectId={project.id} batchId={open.batchId} isOwner={mayChange} />}
        {isChanging && !open && <RotateWalletForm project={project} onClose={() => setChanging(false)} />}
        <RotationList projectId={project.id} rotations={rotations} />
      </div>
    </Panel>
  );
}

interface VoterProps {
  readonly name: string;
  readonly address: string;
  readonly children: React.ReactNode;
}

function Voter({ name, address, children }: VoterProps) {
  return (
    <div className="flex min-h-12 flex-wrap items-center justify-between gap-x-4 gap-y-1 py-2">
      <dt className="text-quiet">{name}</dt>
      <dd className="flex items-center gap-3">
        <AddressText address={address} of={name} isLinked />
        {children}
      </dd>
    </div>
  );
}

interface OpenRotationProps {
  readonly projectId: string;
  readonly batchId: string;
  readonly isOwner: boolean;
}

function OpenRotation({ projectId, batchId, isOwner }: OpenRotationProps) {
  return (
    <Notice
      tone="waiting"
      title="One of them is being replaced"
      action={
        isOwner ? (
          <ButtonLink to="/p/$projectId/approve/$batchId" params={{ projectId, batchId }} size="small">
            Look and approve
          </ButtonLink>
        ) : (
          <ButtonLink to="/p/$projectId/batches/$batchId" params={{ projectId, batchId }} size="small">
            Open it
          </ButtonLink>
        )
      }
    >
      Until that has ended no batch can be made: it could never be approved. Cancel it to leave everything as it is.
    </Notice>
  );
}
