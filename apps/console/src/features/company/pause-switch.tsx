import { address } from '@flywheel/protocol';

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { type Paused, pause, resume } from '../../lib/api/company.ts';
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
  readonly paused: Paused;
  /** Name of what is paused; it must be typed to pause it. */
  readonly name: string;
  /** Start of the pause; undefined if it is not paused. */
  readonly pausedAt: string | undefined;
}

/** Pauses one project or all of them after its name is typed, and resumes it with a signature. */
export function PauseSwitch({ paused, name, pausedAt }: PauseSwitchProps) {
  const { projectId } = paused;
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  const verb = pausedAt === undefined ? 'Pause' : 'Resume';
  const Icon = pausedAt === undefined ? Pause : Play;
  return (
    <>
      <Button
        size={projectId === null ? 'normal' : 'small'}
        tone={pausedAt === undefined ? 'danger' : 'plain'}
        aria-label={`${verb} ${name}`}
        onClick={() => setOpen(true)}
      >
        <Icon size={14} aria-hidden /> {verb} {projectId === null && name}
      </Button>
      {pausedAt === undefined ? (
        <PauseDialog {...{ paused, name, isOpen }} onClose={close} />
      ) : (
        <Dialog title={`Resume ${name}?`} isOpen={isOpen} onClose={close}>
          {projectId === null ? (
            <ResumeForm {...{ paused, pausedAt }} multisig={null} onClose={close} />
          ) : (
            <ResumeProject {...{ projectId, pausedAt }} onClose={close} />
          )}
        </Dialog>
      )}
    </>
  );
}

interface PauseDialogProps extends Pick<PauseSwitchProps, 'paused' | 'name'> {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function PauseDialog({ paused, name, isOpen, onClose }: PauseDialogProps) {
  const [reason, setReason] = useState('');
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: () => pause(paused, reason === '' ? {} : { reason }),
    onSuccess: async () => {
      setReason('');
      onClose();
      await queries.invalidateQueries();
    },
  });
  return (
    <ConfirmDialog
      title={`Pause ${name}?`}
      name={name}
      verb="Pause"
      isOpen={isOpen}
      isBusy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
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

interface ResumeProps {
  readonly pausedAt: string;
  readonly onClose: () => void;
}

function ResumeProject({ projectId, ...rest }: ResumeProps & { readonly projectId: string }) {
  const project = useQuery(projectQuery(projectId));
  return (
    <QueryView query={project} skeleton={<SkeletonLines count={2} />}>
      {({ multisig }) => <ResumeForm paused={{ projectId }} multisig={multisig.address} {...rest} />}
    </QueryView>
  );
}

interface ResumeFormProps extends ResumeProps {
  readonly paused: Paused;
  /** Null for all projects. */
  readonly multisig: string | null;
}

function ResumeForm({ paused, multisig, pausedAt, onClose }: ResumeFormProps) {
  return (
    <DecisionForm
      subject={{
        type: 'resume',
        multisig: multisig === null ? null : address(multisig),
        pausedAt: new Date(pausedAt),
      }}
      verb="Sign and resume"
      send={(signature) => resume(paused, { ...signature, pausedAt })}
      onDecided={onClose}
      onClose={onClose}
    >
      <p>Batches can be created and executed again. Blocked batches continue by themselves.</p>
      <DescriptionList
        items={[
          { name: 'Paused since', value: <TimeText at={pausedAt} /> },
          {
            name: 'Multisig',
            value: multisig === null ? 'All projects' : <AddressText address={multisig} of="multisig" />,
          },
        ]}
      />
    </DecisionForm>
  );
}
