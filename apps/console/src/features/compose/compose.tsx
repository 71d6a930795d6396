import type { Pipeline, ProjectOverview, ProofType } from '@flywheel/api';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { projectQuery, settingsQuery } from '../../lib/api/projects.ts';
import { Button } from '../../ui/button.tsx';
import { QueryView, SkeletonLines } from '../../ui/feedback.tsx';
import { useHeadingFocus } from '../../ui/focus-heading.ts';
import { Page } from '../../ui/layout.tsx';
import { useLeaveQuestion } from '../../ui/leave-question.ts';
import { RadioGroup } from '../../ui/radio-group.tsx';
import { AirdropFileEditor, type FileDraft, useAirdropPipelines } from './airdrop-file-editor.tsx';
import { newPipeline, type PipelineDraft, readPipeline } from './pipeline-draft.ts';
import { PipelineEditor } from './pipeline-editor.tsx';
import { type PlannedBatch, planBatches } from './planned-batches.ts';
import { Review } from './review.tsx';

/** The screen that composes a batch: by hand, or as an airdrop from a file. */
export function Compose() {
  const { projectId } = useParams({ from: '/p/$projectId/new' });
  const project = useQuery({ ...projectQuery(projectId), refetchInterval: false });
  const settings = useQuery(settingsQuery(projectId));
  return (
    <Page title="New batch" lead="Each pipeline becomes one transaction that begins with its proof memo.">
      <QueryView query={project} skeleton={<SkeletonLines count={4} className="h-24" />}>
        {({ token }) => (
          <QueryView query={settings} skeleton={<SkeletonLines count={4} className="h-24" />}>
            {({ proofTypes }) => <Composer projectId={projectId} token={token} proofTypes={proofTypes} />}
          </QueryView>
        )}
      </QueryView>
    </Page>
  );
}

type Source = 'hand' | 'file';

interface ComposerProps {
  readonly projectId: string;
  readonly token: ProjectOverview['token'];
  readonly proofTypes: readonly ProofType[];
}

function Composer({ projectId, token, proofTypes }: ComposerProps) {
  const firstType = proofTypes[0]?.type ?? '';
  const [source, setSource] = useState<Source>('hand');
  const [initial] = useState<readonly PipelineDraft[]>(() => [newPipeline(firstType)]);
  const [drafts, setDrafts] = useState(initial);
  const [file, setFile] = useState<FileDraft>({ type: firstType || 'AIRDROP', file: null, duplicates: 'merge' });
  const airdrop = useAirdropPipelines(file, token);
  const [planned, setPlanned] = useState<readonly PlannedBatch[]>([]);
  const sent = useRef(new Set<PlannedBatch>());
  const [isReviewing, setReviewing] = useState(false);
  const isCreated = useRef(false);
  useLeaveQuestion({
    question: 'What you have composed is not created yet. Leave without it?',
    isNeeded: () => !isCreated.current && (drafts !== initial || file.file !== null),
  });
  useHeadingFocus(isReviewing ? 'review' : 'editor', isReviewing ? 'main h2' : 'main h1');
  if (isReviewing) {
    return (
      <Review
        projectId={projectId}
        token={token}
        batches={planned}
        onBack={() => setReviewing(false)}
        onSend={(batch) => sent.current.add(batch)}
        onCreated={() => {
          isCreated.current = true;
        }}
      />
    );
  }
  const written = readDrafts(drafts, token);
  const pipelines = source === 'hand' ? written : airdrop.pipelines;
  const review = () => {
    if (!pipelines) return;
    setPlanned(planBatches(pipelines, [...sent.current]));
    setReviewing(true);
  };
  return (
    <div className="flex flex-col gap-6">
      <RadioGroup
        label="How to compose"
        value={source}
        onChange={setSource}
        options={[
          { value: 'hand', title: 'By hand', text: 'Write burns, airdrops and memos, pipeline by pipeline.' },
          { value: 'file', title: 'Airdrop from a file', text: 'Upload a CSV of addresses and amounts.' },
        ]}
      />
      {source === 'hand' ? (
        <PipelineEditor drafts={drafts} onChange={setDrafts} proofTypes={proofTypes} decimals={token.decimals} />
      ) : (
        <AirdropFileEditor
          draft={file}
          onChange={(change) => setFile((before) => ({ ...before, ...change }))}
          result={airdrop}
          proofTypes={proofTypes}
          decimals={token.decimals}
        />
      )}
      <div className="sticky bottom-0 -mx-4 -mb-6 flex border-t bg-paper p-4 *:flex-1 md:static md:m-0 md:border-0 md:p-0 md:*:flex-none">
        <Button tone="primary" disabled={!pipelines} onClick={review}>
          Review
        </Button>
      </div>
    </div>
  );
}

/** Reads every draft; null while one of them has an issue. */
function readDrafts(
  drafts: readonly PipelineDraft[],
  { decimals }: { readonly decimals: number },
): readonly Pipeline[] | null {
  const pipelines: Pipeline[] = [];
  for (const draft of drafts) {
    const read = readPipeline(draft, { decimals });
    if ('issue' in read) return null;
    pipelines.push(read);
  }
  return pipelines;
}
