import { setTimeout as pause } from 'node:timers/promises';
import { CONSOLE_OPERATIONS } from '@flywheel/api';
import { pluralize } from '@flywheel/protocol';
import type { AirdropRow } from '@flywheel/protocol/airdrop-csv';
import { type BatchProgress, type FlywheelClient, type FollowOptions, followRun } from '@flywheel/sdk';
import type { KeyPairSigner } from '@solana/kit';
import type { ConsoleClient } from '../../console-client.ts';
import type { ProgressBar } from '../../progress.ts';
import type { AirdropIdentity, AirdropPlan, PlannedPipeline } from './plan.ts';
import { PENDING, type RowOutcome, writeReceipt } from './receipt.ts';

export interface SendDeps {
  readonly client: FlywheelClient;
  readonly console: ConsoleClient;
  readonly projectId: string;
  readonly wallet: KeyPairSigner;
  readonly verify: FollowOptions['verify'];
  readonly signal: AbortSignal;
}

export interface AirdropRequest {
  readonly rows: readonly AirdropRow[];
  readonly plan: AirdropPlan;
  readonly receiptFile: string;
  /** True to send the unpaid rows of a batch that failed in an earlier run again. */
  readonly sendRest: boolean;
}

export interface AirdropReport {
  /** The outcome of each row, in order. */
  readonly outcomes: readonly RowOutcome[];
  readonly batchIds: readonly string[];
  /** null if every row was executed. */
  readonly failure: PartFailure | null;
}

export interface AirdropDisplay {
  readonly bar: ProgressBar;
  /** Listens to the events of every batch. */
  readonly onEvent: (event: BatchProgress) => void;
}

/**
 * Sends batch after batch, and rewrites the receipt after each. A batch that fails ends the airdrop: the next one would
 * probably fail too, and use up daily limits and funds.
 */
export async function sendAirdrop(
  deps: SendDeps,
  { rows, plan, receiptFile, sendRest }: AirdropRequest,
  { bar, onEvent }: AirdropDisplay,
): Promise<AirdropReport> {
  const outcomes: RowOutcome[] = rows.map(() => PENDING);
  const { identity, parts } = plan;
  for (const [part, pipelines] of parts.entries()) {
    const onProgress = (progress: PartProgress) =>
      bar.show(fractionOf(parts, part, progress), describeProgress(parts, part, progress));
    const result = await sendPart(deps, { identity, pipelines, sendRest }, { onProgress, onEvent, note: bar.note });
    for (const [row, outcome] of result.outcomes) outcomes[row] = outcome;
    writeReceipt(receiptFile, rows, outcomes);
    if (result.failure) return report(outcomes, result.failure);
  }
  bar.show(1, pluralize(rows.length, 'row'));
  return report(outcomes, null);
}

function report(outcomes: readonly RowOutcome[], failure: PartFailure | null): AirdropReport {
  const batchIds = [...new Set(outcomes.map(({ batchId }) => batchId).filter((batchId) => batchId !== ''))];
  return { outcomes, batchIds, failure };
}

export interface PartRequest {
  readonly identity: AirdropIdentity;
  readonly pipelines: readonly PlannedPipeline[];
  readonly sendRest: boolean;
}

export interface PartListeners {
  readonly onProgress: (progress: PartProgress) => void;
  readonly onEvent: (event: BatchProgress) => void;
  readonly note: (text: string) => void;
}

interface PartFailure {
  readonly batchId: string;
  readonly message: string;
}

interface PartResult {
  /** By index of the row. */
  readonly outcomes: ReadonlyMap<number, RowOutcome>;
  /** null if every row was executed. */
  readonly failure: PartFailure | null;
}

interface PartProgress {
  readonly stage: 'compile' | 'set up' | 'approve' | 'execute';
  readonly batchId: string | null;
  /** Includes those that earlier batches of the same part have executed. */
  readonly executedPipelines: number;
  /** Why the execution does not continue at the moment; null if it does. */
  readonly issue: string | null;
}

/** Long enough for a person to approve for the company; a later run resumes what takes longer. */
const TIMEOUT_MS = 3_600_000;

/** Sends one part of an airdrop, or resumes it: a run of its own, of one batch and those that send what it left. */
export async function sendPart(
  { client, console, projectId, wallet, verify, signal }: SendDeps,
  { identity, pipelines, sendRest }: PartRequest,
  { onProgress, onEvent, note }: PartListeners,
): Promise<PartResult> {
  const ended: string[] = [];
  let executedBefore = 0;
  let batchId: string | null = null;
  const show = ({ stage, executedPipelines = 0, issue = null }: Pick<PartProgress, 'stage'> & Partial<PartProgress>) =>
    onProgress({ stage, batchId, executedPipelines: executedBefore + executedPipelines, issue });
  const execution = followExecutions({ console, projectId, signal }, (executedPipelines) =>
    show({ stage: 'execute', executedPipelines }),
  );
  const listen = (event: BatchProgress) => {
    onEvent(event);
    switch (event.stage) {
      case 'begun':
        batchId = null;
        return show({ stage: 'compile' });
      case 'compiled':
        batchId = event.init.batch.id;
        return show({ stage: 'set up' });
      case 'setUp':
      case 'verified':
        return show({ stage: 'approve' });
      case 'approved':
        show({ stage: 'execute' });
        return execution.follow(event.batch.id);
      case 'blocked':
        return show({
          stage: event.batch.status === 'AVAILABLE_TO_QUEUE' ? 'set up' : 'execute',
          issue: event.executionError.message,
        });
      case 'awaitsCompany':
        return show({ stage: 'execute', issue: 'A person of the company decides now.' });
      case 'cancelVote':
        if (event.signature !== null) return;
        return note(`Note: The wallet’s cancel vote on batch ${event.batch.id} was not cast: ${String(event.error)}`);
      case 'ended':
        execution.stop();
        executedBefore += event.batch.executeResult?.totalSuccessful ?? 0;
        ended.push(event.batch.id);
        return;
      default:
        return event satisfies never;
    }
  };
  try {
    const work = pipelines.map(({ pipeline }) => pipeline);
    const options = { run: identity.run, sendRest, wallet, verify, signal, timeoutMs: TIMEOUT_MS, onProgress: listen };
    await followRun(client, { input: { pipelines: work }, pipelines: work }, options);
  } finally {
    await execution.close();
  }
  return readOutcomes({ console, projectId }, ended, pipelines);
}

async function readOutcomes(
  { console, projectId }: Pick<SendDeps, 'console' | 'projectId'>,
  batchIds: readonly string[],
  pipelines: readonly PlannedPipeline[],
): Promise<PartResult> {
  // The payload names the rows, so that no two pipelines of a part have the same.
  const rowsOf = new Map(pipelines.map(({ pipeline, rows }) => [pipeline.payload, rows]));
  const outcomes = new Map<number, RowOutcome>();
  let failure: PartFailure | null = null;
  for (const batchId of batchIds) {
    const detail = await console.call(CONSOLE_OPERATIONS.getProjectBatch, { params: { projectId, batchId } });
    for (const { payload, state, signature = '' } of detail.pipelines) {
      const status = state === 'executed' || state === 'failed' ? state : PENDING.status;
      for (const row of rowsOf.get(payload) ?? []) outcomes.set(row, { status, signature, batchId });
    }
    if (detail.batch.status !== 'FAILED') continue;
    const { executeResult, initResult } = detail.batch;
    const message = detail.failure?.message ?? executeResult?.failedTxMsg ?? initResult?.failedTxMsg;
    failure = { batchId, message: message ?? 'No reason given.' };
  }
  const isPaid = pipelines.every(({ rows }) => rows.every((row) => outcomes.get(row)?.status === 'executed'));
  return { outcomes, failure: isPaid ? null : failure };
}

/** Reports how many pipelines the current batch has executed, while it is executed. */
function followExecutions(
  { console, projectId, signal }: Pick<SendDeps, 'console' | 'projectId' | 'signal'>,
  onChange: (executedPipelines: number) => void,
) {
  let current = new AbortController();
  let polled: Promise<void> = Promise.resolve();
  return {
    follow: (batchId: string) => {
      current = new AbortController();
      const readExecuted = async () => {
        const request = { params: { projectId, batchId } };
        return (await console.call(CONSOLE_OPERATIONS.getBatchProgress, request)).executedPipelines;
      };
      polled = poll(readExecuted, onChange, { signal: AbortSignal.any([signal, current.signal]) });
    },
    stop: () => current.abort(),
    close: async () => {
      current.abort();
      await polled;
    },
  };
}

/** One request a second looks live to a person, and is far below the console’s rate limit. */
const POLL_INTERVAL_MS = 1_000;

/** Reports the number of executed pipelines whenever it grows, until aborted; a read that fails is skipped. */
async function poll(
  readExecuted: () => Promise<number>,
  onChange: (executedPipelines: number) => void,
  { signal }: { readonly signal: AbortSignal },
): Promise<void> {
  let reported = 0;
  while (!signal.aborted) {
    await pause(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const executed = await readExecuted().catch(() => reported);
    if (executed > reported && !signal.aborted) onChange(executed);
    reported = executed;
  }
}

type Parts = readonly (readonly PlannedPipeline[])[];

/** Share of a batch that is done when a stage begins: the setup takes about as long as the execution. */
const STAGE_SHARES: { readonly [Stage in PartProgress['stage']]: number } = {
  compile: 0,
  'set up': 0.1,
  approve: 0.45,
  execute: 0.5,
};

function fractionOf(parts: Parts, part: number, { stage, executedPipelines }: PartProgress): number {
  const sizes = parts.map((pipelines) => pipelines.length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const before = sizes.slice(0, part).reduce((sum, size) => sum + size, 0);
  const size = sizes[part] ?? 0;
  const executedShare = (1 - STAGE_SHARES.execute) * (executedPipelines / Math.max(size, 1));
  return (before + size * (STAGE_SHARES[stage] + executedShare)) / total;
}

function describeProgress(parts: Parts, part: number, progress: PartProgress): string {
  const { stage, batchId, executedPipelines, issue } = progress;
  const size = parts[part]?.length ?? 0;
  const position = parts.length === 1 ? '' : `Batch ${part + 1} of ${parts.length}: `;
  const work =
    stage === 'execute' && executedPipelines > 0
      ? `execute, ${executedPipelines} of ${pluralize(size, 'pipeline')}`
      : `${stage}, ${pluralize(size, 'pipeline')}`;
  return `${position}${work}${batchId === null ? '' : ` (${batchId})`}${issue === null ? '' : `: ${issue}`}`;
}
