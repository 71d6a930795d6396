import type { ShardFailure } from '@flywheel/api';
import { useQueryClient } from '@tanstack/react-query';
import { Pause, Play } from 'lucide-react';
import { useState } from 'react';
import { type CompanyFigures, pauseAll, requireEveryShard, resumeAll } from '../../lib/api/company.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { focusIfLost, useHeadingFocus } from '../../ui/focus-heading.ts';
import { DescriptionList } from '../../ui/layout.tsx';
import { TimeText } from '../../ui/text.tsx';
import { DecisionsForm, type SignDecision } from './decision.tsx';
import { PauseDialog, RESUME_EFFECT, RESUME_VERB } from './pause-switch.tsx';

const NAME = 'all projects';

/** Pauses the projects of every shard after a confirmation, and resumes them with a signature for each shard that is paused. */
export function PauseAll({ figures }: { readonly figures: CompanyFigures }) {
  const { shards, missing, isSharded } = figures;
  const pauses = shards.flatMap(({ shard, pausedAt }) => (pausedAt === undefined ? [] : [{ shard, pausedAt }]));
  // A shard that does not answer may not be paused.
  const mayPause = pauses.length < shards.length || missing.length > 0;
  useHeadingFocus(pauses.map(({ shard }) => shard).join(), 'main h1', focusIfLost);
  return (
    <div className="flex flex-wrap gap-2">
      {mayPause && <PauseButton />}
      {pauses.length > 0 && <ResumeButton pauses={pauses} isSharded={isSharded} />}
    </div>
  );
}

/** Pauses the projects of every shard after a confirmation. */
export function PauseButton() {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button tone="danger" onClick={() => setOpen(true)}>
        <Pause size={14} aria-hidden /> Pause {NAME}
      </Button>
      <PauseDialog name={NAME} pause={pauseAll} isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}

interface ShardPause {
  readonly shard: number;
  readonly pausedAt: string;
}

interface ResumeProps {
  readonly pauses: readonly ShardPause[];
  readonly isSharded: boolean;
}

function ResumeButton(props: ResumeProps) {
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>
        <Play size={14} aria-hidden /> Resume {NAME}
      </Button>
      <Dialog title={`Resume ${NAME}?`} isOpen={isOpen} onClose={close}>
        <ResumeForm {...props} onClose={close} />
      </Dialog>
    </>
  );
}

function ResumeForm({ pauses, isSharded, onClose }: ResumeProps & { readonly onClose: () => void }) {
  const queries = useQueryClient();
  const decide = async (sign: SignDecision) => {
    try {
      await resumeEach(pauses, sign);
    } catch (error) {
      // Some shards may have done it.
      void queries.invalidateQueries();
      throw error;
    }
  };
  return (
    <DecisionsForm decide={decide} verb={RESUME_VERB} onDecided={onClose} onClose={onClose}>
      <p>{RESUME_EFFECT}</p>
      {pauses.length > 1 && <p>Each shard has a pause of its own: your wallet signs {pauses.length} times.</p>}
      <DescriptionList
        items={[
          ...pauses.map(({ shard, pausedAt }) => ({
            name: isSharded ? `Shard ${shard} paused since` : 'Paused since',
            value: <TimeText at={pausedAt} />,
          })),
          { name: 'Multisig', value: 'All projects' },
        ]}
      />
    </DecisionsForm>
  );
}

/** Signs and sends the end of each pause. @throws Error that names the shards which have not accepted it. */
async function resumeEach(pauses: readonly ShardPause[], sign: SignDecision): Promise<void> {
  const failures: ShardFailure[] = [];
  for (const { shard, pausedAt } of pauses) {
    const signature = await sign({ type: 'resume', multisig: null, pausedAt: new Date(pausedAt) });
    await resumeAll(shard, { ...signature, pausedAt }).catch((error: unknown) => failures.push({ shard, error }));
  }
  const [first] = failures;
  if (first !== undefined && failures.length === pauses.length) throw first.error;
  requireEveryShard(failures);
}
