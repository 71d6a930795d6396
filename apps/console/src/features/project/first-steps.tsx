import { BATCH_OPERATIONS, type ProjectOverview, type ProjectSettings } from '@flywheel/api';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { call } from '../../lib/api/call.ts';
import { useEnvironment } from '../../lib/api/environment.ts';
import { keysQuery } from '../../lib/api/keys.ts';
import { settingsQuery } from '../../lib/api/projects.ts';
import { webhooksQuery } from '../../lib/api/webhooks.ts';
import { firstPipeline } from '../../lib/first-pipeline.ts';
import { useLocalBank } from '../../lib/localnet.ts';
import { currentSample, depositSample, initSample, nameSample, proofSample, webhookSample } from '../../lib/samples.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { ErrorNotice, Loading, SkeletonLines } from '../../ui/feedback.tsx';
import { LoadMore, Panel } from '../../ui/layout.tsx';
import { Ring } from '../../ui/ring.tsx';
import { Timeline, type TimelineStep } from '../../ui/timeline.tsx';
import { LocalDeposit } from '../vault/deposit-panel.tsx';
import { KnownVault } from '../vault/known-vault.tsx';
import { FIRST_STEPS, type FirstStep, findDoneSteps } from './first-steps-state.ts';

/** A step that is done elsewhere shows soon, without a burden for the service. */
const POLL_INTERVAL_MS = 10_000;

interface FirstStepsProps {
  readonly project: ProjectOverview;
  /** True before the first batch. */
  readonly isUnused: boolean;
  /** False while the company has paused the project, or has not admitted it. */
  readonly canCreate: boolean;
}

/** Checklist of a new project. It completes itself, and disappears when it is complete or hidden. */
export function FirstSteps({ project, isUnused, canCreate }: FirstStepsProps) {
  const { id: projectId } = project;
  const [isHidden, setHidden] = useState(() => localStorage.getItem(hiddenKey(projectId)) !== null);
  const poll = { refetchInterval: POLL_INTERVAL_MS, enabled: !isHidden };
  const keys = useQuery({ ...keysQuery(projectId), ...poll });
  const webhooks = useQuery({ ...webhooksQuery(projectId), ...poll });
  if (isHidden) return null;
  // Only a project without batches has the checklist for sure; the place of any other stays empty until that is known.
  if (isUnused && (keys.isPending || webhooks.isPending))
    return (
      <Loading>
        <SkeletonLines count={1} className="h-140" />
      </Loading>
    );
  if (keys.data === undefined || webhooks.data === undefined) return null;
  const done = findDoneSteps({ project, keys: keys.data.keys, webhooks: webhooks.data.webhooks.length });
  if (done.size === FIRST_STEPS.length) return null;
  const next = FIRST_STEPS.find((step) => !done.has(step));
  const hide = () => {
    localStorage.setItem(hiddenKey(projectId), 'yes');
    setHidden(true);
  };
  return (
    <Panel
      title="First steps"
      aside={
        <span className="flex items-center gap-3 text-sm text-quiet">
          <Ring size={18} progress={done.size / FIRST_STEPS.length} className="text-accent" />
          <span className="tabular">
            {done.size} of {FIRST_STEPS.length} done
          </span>
          <Button size="small" tone="quiet" onClick={hide}>
            Hide
          </Button>
        </span>
      }
    >
      <Timeline
        steps={FIRST_STEPS.map((step) => shownStep(step, { project, done, canCreate, isNext: step === next }))}
      />
    </Panel>
  );
}

function hiddenKey(projectId: string): string {
  return `flywheel.first-steps-hidden.${projectId}`;
}

interface StepContext extends Pick<FirstStepsProps, 'project' | 'canCreate'> {
  readonly done: ReadonlySet<FirstStep>;
  readonly isNext: boolean;
}

const TEXTS = {
  key: { name: 'API key stored', open: 'Done at the first request with the key.', done: 'The key has been used.' },
  vault: {
    name: 'Vault funded',
    open: 'Deposit tokens to spend, and SOL for recipients’ new token accounts.',
    done: '',
  },
  batch: {
    name: 'First batch',
    open: 'It groups burns, airdrops and memos. Nothing moves before your approval.',
    done: '',
  },
  proof: {
    name: 'First proof on chain',
    open: 'Your wallet and the company approve the batch. Every executed pipeline leaves a proof.',
    done: 'Anyone can check it.',
  },
  webhook: { name: 'Webhook', open: 'Your server is notified when a batch ends, instead of polling.', done: '' },
} as const satisfies Record<FirstStep, { readonly name: string; readonly open: string; readonly done: string }>;

function shownStep(step: FirstStep, context: StepContext): TimelineStep {
  const { done, isNext } = context;
  const { name, open, done: whenDone } = TEXTS[step];
  if (done.has(step)) {
    const check = step === 'proof' && (
      <ButtonLink to="/proof" size="small" className="mt-1">
        Check a proof
      </ButtonLink>
    );
    return { name, state: 'done', text: whenDone, action: check };
  }
  return { name, state: isNext ? 'waiting' : 'coming', text: open, action: stepAction(step, context) };
}

function stepAction(step: FirstStep, { project, canCreate, isNext }: StepContext): ReactNode {
  const { id: projectId } = project;
  switch (step) {
    case 'key':
      return (
        <StepAction isNext={isNext} label="From your server, with the key" code={`KEY=fwk_…\n${currentSample()}`}>
          <ButtonLink to="/p/$projectId/keys" params={{ projectId }} size="small">
            View keys
          </ButtonLink>
        </StepAction>
      );
    case 'vault':
      return <Deposit {...{ project, isNext }} />;
    case 'batch':
      return canCreate && <FirstBatch project={project} isNext={isNext} />;
    case 'proof':
      return <FirstProof project={project} isNext={isNext} />;
    case 'webhook':
      return (
        <StepAction isNext={isNext} label="From a terminal, with the project’s wallet" code={webhookSample(projectId)}>
          <ButtonLink to="/p/$projectId/settings" params={{ projectId }} size="small">
            Add a webhook
          </ButtonLink>
        </StepAction>
      );
    default:
      return step satisfies never;
  }
}

interface StepActionProps {
  readonly isNext: boolean;
  readonly label: string;
  readonly code: string;
  /** Buttons that do the same. */
  readonly children: ReactNode;
}

/** The command of a step, open for the next one, and buttons that do the same. */
function StepAction({ isNext, label, code, children }: StepActionProps) {
  const command = () => <CodeBlock label={label} code={code} />;
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {isNext ? command() : <LoadMore label="Show the command">{command}</LoadMore>}
      <div className="flex flex-wrap items-start gap-2">{children}</div>
    </div>
  );
}

interface StepProps {
  readonly project: ProjectOverview;
  readonly isNext: boolean;
}

function Deposit({ project, isNext }: StepProps) {
  const { id: projectId, vaultAddress: vault } = project;
  const { mint, decimals } = project.token;
  const environment = useEnvironment();
  const hasBank = useLocalBank() !== null;
  if (!environment) return null;
  const { rpcUrl } = environment;
  return (
    <KnownVault project={project} skeleton={<SkeletonLines count={1} className="h-32" />}>
      <StepAction
        isNext={isNext}
        label={hasBank ? 'On this local cluster' : 'From a wallet that holds the tokens'}
        code={depositSample({ vault, mint, rpcUrl, hasBank })}
      >
        <LocalDeposit {...{ vault, mint, decimals }} />
        <ButtonLink to="/p/$projectId/vault" params={{ projectId }} size="small">
          Deposit with a wallet
        </ButtonLink>
      </StepAction>
    </KnownVault>
  );
}

function FirstBatch({ project, isNext }: StepProps) {
  const { id: projectId } = project;
  const isLocal = useEnvironment()?.isLocal ?? false;
  const settings = useQuery(settingsQuery(projectId)).data;
  return (
    <StepAction isNext={isNext} label={nameSample(settings)} code={`KEY=fwk_…\n${initSample(settings)}`}>
      {isLocal && settings && <LocalBatch projectId={projectId} settings={settings} />}
      <ButtonLink to="/p/$projectId/new" params={{ projectId }} size="small">
        Compose a batch
      </ButtonLink>
    </StepAction>
  );
}

/** Creates the batch of the sample on a local cluster, whose tokens have no value, and opens its approval. */
function LocalBatch({ projectId, settings }: { readonly projectId: string; readonly settings: ProjectSettings }) {
  const navigate = useNavigate();
  const [key] = useState(() => crypto.randomUUID());
  const create = useMutation({
    mutationFn: () =>
      call(BATCH_OPERATIONS.initProjectBatch, {
        params: { projectId },
        headers: { 'x-idempotency-key': key },
        body: { pipelines: [firstPipeline(settings)] },
      }),
    onSuccess: ({ batch }) =>
      navigate({ to: '/p/$projectId/approve/$batchId', params: { projectId, batchId: batch.id } }),
  });
  return (
    <>
      <Button size="small" isBusy={create.isPending} onClick={() => create.mutate()}>
        Local cluster: create this batch
      </Button>
      {create.error && <ErrorNotice error={create.error} />}
    </>
  );
}

/** Leads to the batch that waits for the wallet, or says how anyone will check the proof. */
function FirstProof({ project, isNext }: StepProps) {
  const { id: projectId, attention, vaultAddress: vault } = project;
  const settings = useQuery(settingsQuery(projectId)).data;
  const batchId = attention.find(({ kind }) => kind === 'APPROVE')?.batchId;
  return (
    <StepAction isNext={isNext} label="Then anyone can check it" code={proofSample(vault, settings)}>
      {batchId !== undefined && (
        <ButtonLink to="/p/$projectId/approve/$batchId" params={{ projectId, batchId }} size="small">
          Review and approve
        </ButtonLink>
      )}
    </StepAction>
  );
}
