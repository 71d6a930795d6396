import { address } from '@flywheel/protocol';

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { pauseProject, resumeProject } from '../../lib/api/company.ts';
import { projectQuery } from '../../lib/api/projects.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { TextField } from '../../ui/fields.tsx';
import { DescriptionList } from '../../ui/layout.tsx';
import { AddressText, TimeText } from '../../ui/text.tsx';
import { DecisionForm } from './decision.tsx';

export interface PauseSwitchProps {
  readonly projectId: string;
  /** Name of the project, as the list shows it. */
  readonly name: string;
  /** Name that must be typed to pause the project. */
  readonly typedName: string;
  /** Start of the pause; undefined if it is not paused. */
  readonly pausedAt: string | undefined;
}

/** Pauses a project after its name is typed, and resumes it with a signature. */
export function PauseSwitch({ projectId, name, typedName, pausedAt }: PauseSwitchProps) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const verb = pausedAt === undefined ? 'Pause' : 'Resume';
  const Icon = pausedAt === undefined ? Pause : Play;
  return (
    <>
      <Button
        size="small"
        tone={pausedAt === undefined ? 'danger' : 'plain'}
        aria-label={`${verb} ${name}`}
        onClick={() => setOpen(true)}
      >
        <Icon size={14} aria-hidden /> {verb}
      </Button>
      {pausedAt === undefined ? (
        <PauseDialog
          name={typedName}
          pause={(reason) => pauseProject(projectId, reason)}
          isOpen={isOpen}
          onClose={close}
        />
      ) : (
        <Dialog title={`Resume ${name}?`} isOpen={isOpen} onClose={close}>
          <ResumeForm projectId={projectId} pausedAt={pausedAt} onClose={close} />
        </Dialog>
      )}
    </>
  );
}

export interface PauseDialogProps {
  readonly name: string;
  readonly pause: (reason: { readonly reason?: string }) => Promise<unknown>;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Asks for the name of what is paused and for a reason. */
export function PauseDialog({ name, pause, isOpen, onClose }: PauseDialogProps) {
  const [reason, setReason] = useState('');
  const queries = useQueryClient();
  const confirm = async () => {
    // Also after an error: some shards may have done it.
    await pause(reason === '' ? {} : { reason }).finally(() => queries.invalidateQueries());
    setReason('');
  };
  return (
    <ConfirmDialog
      title={`Pause ${name}?`}
      name={name}
      verb="Pause"
      isOpen={isOpen}
      onConfirm={confirm}
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <p>
          No batch can be created or executed, and no more transactions are sent. Those already sent may still land.
          Resuming needs the signature of your wallet.
        </p>
        <TextField
          label="Reason (shown to the project)"
          value={reason}
          maxLength={500}
          onChange={({ target }) => setReason(target.value)}
        />
      </div>
    </ConfirmDialog>
  );
}

interface ResumeFormProps {
  readonly projectId: string;
  readonly pausedAt: string;
  readonly onClose: () => void;
}

function ResumeForm({ projectId, pausedAt, onClose }: ResumeFormProps) {
  const project = useQuery(projectQuery(projectId));
  return (
    <QueryView query={project} skeleton={<SkeletonLines count={2} />}>
      {({ multisig: { address: multisig } }) => (
        <DecisionForm
          subject={{ type: 'resume', multisig: address(multisig), pausedAt: new Date(pausedAt) }}
          verb={RESUME_VERB}
          send={(signature) => resumeProject(projectId, { ...signature, pausedAt })}
          onDecided={onClose}
          onClose={onClose}
        >
          <p>{RESUME_EFFECT}</p>
          <DescriptionList
            items={[
              { name: 'Paused since', value: <TimeText at={pausedAt} /> },
              { name: 'Multisig', value: <AddressText address={multisig} of="multisig" /> },
            ]}
          />
        </DecisionForm>
      )}
    </QueryView>
  );
}

export const RESUME_VERB = 'Sign and resume';
export const RESUME_EFFECT = 'Batches can be created and executed again. Blocked batches continue by themselves.';
