import { setTimeout as pause } from 'node:timers/promises';
import { CONSOLE_OPERATIONS, type Pipeline } from '@flywheel/api';
import type { AirdropRow } from '@flywheel/protocol/airdrop-csv';
import { type BatchProgress, type FlywheelClient, groupsLeft, runBatch, type VerifyOptions } from '@flywheel/sdk';
import type { KeyPairSigner } from '@solana/kit';
import type { ConsoleClient } from '../../console-client.ts';
import { count } from '../../format.ts';
import type { BatchNames } from '../../output.ts';
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
  readonly sendRest: boolean;
}

export interface AirdropReport {
  /** The outcome of each row, in order. */
  readonly outcomes: readonly RowOutcome[];
  readonly batchIds: readonly string[];
  /** True if every batch had ended before. */
  readonly hadEnded: boolean;
  /** null if every row was executed. */
  readonly failure: PartFailure | null;
}

export interface AirdropDisplay {
  readonly bar: ProgressBar;
  /** Called when the key of a batch is known, and again when its id is. */
  readonly onNames: (names: BatchNames) => void;
}

/**
 * Sends batch after batch, and rewrites the receipt after each. A batch that fails ends the airdrop: the next one would
 * probably fail too, and use up daily limits and funds.
 */
export async function sendAirdrop(
  deps: SendDeps,
  { rows, plan, receiptFile, sendRest }: AirdropRequest,
  { bar, onNames }: AirdropDisplay,
): Promise<AirdropReport> {
  const outcomes: RowOutcome[] = rows.map(() => PENDING);
  const { identity, parts } = plan;
  let hadEnded = true;
  for (const [part, pipelines] of parts.entries()) {
    const listeners = {
      onProgress: (progress: PartProgress) =>
        bar.show(fractionOf(parts, part, progress), describeProgress(parts, part, progress)),
      onNames,
      onWarning: (text: string) => bar.note(`Note: ${text}`),
    };
    const result = await sendPart(deps, { identity, pipelines, sendRest }, listeners);
    for (const [row, outcome] of result.outcomes) outcomes[row] = outcome;
    hadEnded &&= result.hadEnded;
    await writeReceipt(receiptFile, rows, outcomes);
    if (result.failure) return report(outcomes, { hadEnded, failure: result.failure });
  }
  bar.show(1, count(rows.length, 'row'));
  return report(outcomes, { hadEnded, failure: null });
}

function report(outcomes: readonly RowOutcome[], end: Pick<AirdropReport, 'hadEnded' | 'failure'>): AirdropReport {
  const batchIds = [...new Set(outcomes.map(({ batchId }) => batchId).filter((batchId) => batchId !== ''))];
  return { outcomes, batchIds, ...end };
}

export interface PartRequest {
  readonly identity: AirdropIdentity;
  readonly pipelines: readonly PlannedPipeline[];
  readonly sendRest: boolean;
}

export interface PartListeners {
  readonly onProgress: (progress: PartProgress) => void;
  readonly onNames: (names: BatchNames) => void;
  /** Called before the wallet signs. */
  readonly onWarning: (text: string) => void;
}

interface PartFailure {
  readonly batchId: string;
  readonly message: string;
}

interface PartResult {
  /** By index of the row. */
  readonly outcomes: ReadonlyMap<number, RowOutcome>;
  readonly hadEnded: boolean;
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

/**
 * Sends one part of an airdrop, or resumes it. A failed batch is final and what it executed stays executed: the rest
 * becomes further batches of the part, under keys that depend on the part alone, so that a repeated run finds them.
 */
export async function sendPart(
  deps: SendDeps,
  { identity, pipelines, sendRest }: PartRequest,
  listeners: PartListeners,
): Promise<PartResult> {
  const { client, console, projectId, signal } = deps;
  const outcomes = new Map<number, RowOutcome>();
  const rowsOf = new Map(pipelines.map(({ pipeline, rows }) => [pipeline, rows]));
  let groups: (readonly Pipeline[])[] = [pipelines.map(({ pipeline }) => pipeline)];
  let hadEnded = true;
  let failure: PartFailure | null = null;
  for (let rest = 0; ; rest += 1) {
    const [group = [], ...later] = groups;
    const idempotencyKey = await keyOfPart(pipelines, identity, rest);
    if (failure && !sendRest && !(await client.isKeyUsed(idempotencyKey, { signal }))) {
      return { outcomes, hadEnded, failure };
    }
    const before = pipelines.length - groups.flat().length;
    const sent = await sendBatch(deps, group, idempotencyKey, {
      ...listeners,
      onProgress: (progress) =>
        listeners.onProgress({ ...progress, executedPipelines: before + progress.executedPipelines }),
    });
    hadEnded &&= sent.hadEnded;
    const { batchId } = sent;
    const detail = await console.call(CONSOLE_OPERATIONS.getProjectBatch, { params: { projectId, batchId } });
    for (const [i, pipeline] of group.entries()) {
      const { state, signature = '' } = detail.pipelines[i] ?? {};
      const status = state === 'executed' ? 'executed' : state === 'failed' ? 'failed' : PENDING.status;
      for (const row of rowsOf.get(pipeline) ?? []) outcomes.set(row, { status, signature, batchId });
    }
    groups = [...groupsLeft(detail.batch, group), ...later];
    if (groups.length === 0) return { outcomes, hadEnded, failure: null };
    if (detail.batch.status !== 'FAILED') continue;
    const { executeResult, initResult } = detail.batch;
    const message = detail.failure?.message ?? executeResult?.failedTxMsg ?? initResult?.failedTxMsg;
    failure = { batchId, message: message ?? 'No reason given.' };
    // A batch that fails in this run would most likely fail again.
    if (!sent.hadEnded) return { outcomes, hadEnded, failure };
  }
}

/** Long enough for a person to approve for the company; a later run resumes what takes longer. */
const TIMEOUT_MS = 3_600_000;

async function sendBatch(
  { client, console, projectId, wallet, verify, signal }: SendDeps,
  pipelines: readonly Pipeline[],
  idempotencyKey: string,
  { onProgress, onNames, onWarning }: PartListeners,
): Promise<{ readonly batchId: string; readonly hadEnded: boolean }> {
  const ended = new AbortController();
  const polling = { signal: AbortSignal.any([signal, ended.signal]) };
  let batchId: string | null = null;
  let hadEnded = false;
  let polled: Promise<void> = Promise.resolve();
  const show = (progress: Pick<PartProgress, 'stage'> & Partial<PartProgress>) =>
    onProgress({ batchId, executedPipelines: 0, issue: null, ...progress });
  const followExecution = (executingId: string) => {
    const readExecuted = async () => {
      const request = { params: { projectId, batchId: executingId } };
      return (await console.call(CONSOLE_OPERATIONS.getBatchProgress, request)).executedPipelines;
    };
    polled = poll(readExecuted, (executedPipelines) => show({ stage: 'execute', executedPipelines }), polling);
  };
  const listen = (event: BatchProgress) => {
    switch (event.stage) {
      case 'begun':
        onNames({ idempotencyKey, batchId });
        return show({ stage: 'compile' });
      case 'compiled':
        batchId = event.init.batch.id;
        onNames({ idempotencyKey, batchId });
        for (const { message } of event.init.warnings ?? []) onWarning(message);
        return show({ stage: 'set up' });
      case 'setUp':
      case 'verified':
        return show({ stage: 'approve' });
      case 'approved':
        show({ stage: 'execute' });
        return followExecution(event.batch.id);
      case 'blocked':
        return show({ stage: 'execute', issue: event.executionError.message });
      case 'cancelVote':
        if (event.signature !== null) return;
        return onWarning(`The wallet’s cancel vote on batch ${event.batch.id} was not cast: ${String(event.error)}`);
      case 'ended':
        hadEnded = event.hadEnded;
        return;
      default:
        return event satisfies never;
    }
  };
  try {
    const options = { wallet, verify, idempotencyKey, signal, timeoutMs: TIMEOUT_MS, onProgress: listen };
    const { id } = await runBatch(client, pipelines, options);
    return { batchId: id, hadEnded };
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
