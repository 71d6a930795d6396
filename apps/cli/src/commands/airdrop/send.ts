import { setTimeout as pause } from 'node:timers/promises';
import { CONSOLE_OPERATIONS } from '@flywheel/api';
import type { AirdropRow } from '@flywheel/protocol/airdrop-csv';
import { type FlywheelClient, type InitBatchInput, isFinal, runBatch, type VerifyOptions } from '@flywheel/sdk';
import type { KeyPairSigner } from '@solana/kit';
import type { ConsoleClient } from '../../console-client.ts';
import { count } from '../../format.ts';
import type { ProgressBar } from '../../progress.ts';
import { type AirdropIdentity, type AirdropPlan, keyOfPart, type PlannedPipeline } from './plan.ts';
import { PENDING, type RowOutcome, writeReceipt } from './receipt.ts';

export interface SendDeps {
  readonly client: FlywheelClient;
  readonly console: ConsoleClient;
  readonly projectId: string;
  readonly wallet: KeyPairSigner;
  readonly verify: VerifyOptions;
  readonly signal: AbortSignal;
}

export interface AirdropRequest {
  readonly rows: readonly AirdropRow[];
  readonly plan: AirdropPlan;
  readonly receiptFile: string;
  /** True to send the unpaid rows of a batch that failed in an earlier run again. */
  readonly retryFailed: boolean;
}

export interface AirdropReport {
  /** The outcome of each row, in order. */
  readonly outcomes: readonly RowOutcome[];
  readonly batchIds: readonly string[];
  /** null if every row was executed. */
  readonly failure: PartFailure | null;
}

/**
 * Sends batch after batch, and rewrites the receipt after each. A batch that fails ends the airdrop: the next one would
 * probably fail too, and use up daily limits and funds.
 */
export async function sendAirdrop(
  deps: SendDeps,
  { rows, plan, receiptFile, retryFailed }: AirdropRequest,
  bar: ProgressBar,
): Promise<AirdropReport> {
  const outcomes: RowOutcome[] = rows.map(() => PENDING);
  const { identity, parts } = plan;
  for (const [part, pipelines] of parts.entries()) {
    const onProgress = (progress: PartProgress) =>
      bar.show(fractionOf(parts, part, progress), describeProgress(parts, part, progress));
    const result = await sendPart(deps, { identity, part, pipelines, retryFailed }, onProgress);
    for (const [row, outcome] of result.outcomes) outcomes[row] = outcome;
    await writeReceipt(receiptFile, rows, outcomes);
    if (result.failure) return report(outcomes, result.failure);
  }
  bar.show(1, count(rows.length, 'row'));
  return report(outcomes, null);
}

function report(outcomes: readonly RowOutcome[], failure: PartFailure | null): AirdropReport {
  const batchIds = [...new Set(outcomes.map(({ batchId }) => batchId).filter((batchId) => batchId !== ''))];
  return { outcomes, batchIds, failure };
}

export interface PartRequest {
  readonly identity: AirdropIdentity;
  /** Index of the batch in the plan. */
  readonly part: number;
  readonly pipelines: readonly PlannedPipeline[];
  readonly retryFailed: boolean;
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
  /** Includes those that failed batches of the same part have executed. */
  readonly executedPipelines: number;
  /** Why the execution does not continue at the moment; null if it does. */
  readonly issue: string | null;
}

/**
 * Sends one batch of an airdrop, or resumes it. A failed batch is final and what it executed stays executed: the rest
 * becomes a new batch under the key of the next attempt, so that a repeated run finds the same batches.
 */
export async function sendPart(
  deps: SendDeps,
  { identity, part, pipelines, retryFailed }: PartRequest,
  onProgress: (progress: PartProgress) => void,
): Promise<PartResult> {
  const { console, projectId } = deps;
  const outcomes = new Map<number, RowOutcome>();
  let left = pipelines;
  for (let attempt = 0; ; attempt += 1) {
    const idempotencyKey = await keyOfPart(identity, part, attempt);
    const before = pipelines.length - left.length;
    const { batchId, hadEnded } = await sendBatch(deps, left, idempotencyKey, (progress) =>
      onProgress({ ...progress, executedPipelines: before + progress.executedPipelines }),
    );
    const detail = await console.call(CONSOLE_OPERATIONS.getProjectBatch, { params: { projectId, batchId } });
    const { pipelines: records, batch, failure } = detail;
    for (const [i, { rows }] of left.entries()) {
      const { state, signature = '' } = records[i] ?? {};
      const status = state === 'executed' ? 'executed' : state === 'failed' ? 'failed' : PENDING.status;
      for (const row of rows) outcomes.set(row, { status, signature, batchId });
    }
    if (batch.status === 'EXECUTED') return { outcomes, failure: null };
    left = left.filter((_, i) => records[i]?.state !== 'executed');
    if (left.length === 0) return { outcomes, failure: null };
    const message = failure?.message ?? batch.executeResult?.failedTxMsg ?? batch.initResult?.failedTxMsg;
    // A batch that fails in this run would most likely fail again.
    if (!retryFailed || !hadEnded) return { outcomes, failure: { batchId, message: message ?? 'No reason given.' } };
  }
}

/** Long enough for a person to approve for the company; a later run resumes what takes longer. */
const TIMEOUT_MS = 3_600_000;

async function sendBatch(
  { client, console, projectId, wallet, verify, signal }: SendDeps,
  pipelines: readonly PlannedPipeline[],
  idempotencyKey: string,
  onProgress: (progress: PartProgress) => void,
): Promise<{ readonly batchId: string; readonly hadEnded: boolean }> {
  const input: InitBatchInput = { pipelines: pipelines.map(({ pipeline }) => pipeline) };
  onProgress({ stage: 'compile', batchId: null, executedPipelines: 0, issue: null });
  const { batch } = await client.initBatch(input, { idempotencyKey, signal });
  const batchId = batch.id;
  if (isFinal(await client.getBatch(batchId, { signal }))) return { batchId, hadEnded: true };
  const show = (progress: Pick<PartProgress, 'stage'> & Partial<PartProgress>) =>
    onProgress({ batchId, executedPipelines: 0, issue: null, ...progress });
  const ended = new AbortController();
  const polling = { signal: AbortSignal.any([signal, ended.signal]) };
  let polled: Promise<void> = Promise.resolve();
  try {
    show({ stage: 'set up' });
    await runBatch(client, input, {
      ...{ wallet, verify, idempotencyKey, signal, timeoutMs: TIMEOUT_MS },
      onProgress: (event) => {
        if (event.stage === 'setUp') show({ stage: 'approve' });
        if (event.stage === 'blocked') show({ stage: 'execute', issue: event.executionError.message });
        if (event.stage !== 'approved') return;
        show({ stage: 'execute' });
        const readExecuted = async () => {
          const request = { params: { projectId, batchId } };
          return (await console.call(CONSOLE_OPERATIONS.getBatchProgress, request)).executedPipelines;
        };
        polled = poll(readExecuted, (executedPipelines) => show({ stage: 'execute', executedPipelines }), polling);
      },
    });
    return { batchId, hadEnded: false };
  } finally {
    ended.abort();
    await polled;
  }
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
      ? `execute, ${executedPipelines} of ${count(size, 'pipeline')}`
      : `${stage}, ${count(size, 'pipeline')}`;
  return `${position}${work}${batchId === null ? '' : ` (${batchId})`}${issue === null ? '' : `: ${issue}`}`;
}
