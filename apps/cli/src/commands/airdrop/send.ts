import { setTimeout as pause } from 'node:timers/promises';
import { type FlywheelClient, type InitBatchInput, isFinal, type LookOptions, runBatch } from '@flywheel/sdk';
import type { KeyPairSigner } from '@solana/kit';
import type { ConsoleClient } from '../../console-client.ts';
import { type AirdropIdentity, keyOfPart, type PlannedPipeline } from './plan.ts';
import type { RowOutcome } from './receipt.ts';

export interface SendDeps {
  readonly client: FlywheelClient;
  readonly console: Pick<ConsoleClient, 'readBatch' | 'readBatchProgress'>;
  readonly projectId: string;
  readonly wallet: KeyPairSigner;
  readonly look: LookOptions;
  readonly signal: AbortSignal;
}

export interface PartRequest {
  readonly identity: AirdropIdentity;
  readonly part: number;
  readonly pipelines: readonly PlannedPipeline[];
  /** Whether what a batch that failed before this run left unsent is sent anew. */
  readonly retryFailed: boolean;
}

/** How far one part has got. */
export interface PartProgress {
  readonly stage: 'compile' | 'set up' | 'approve' | 'execute';
  readonly batchId: string | null;
  /** Of the part’s own, those of failed batches before it included. */
  readonly executedPipelines: number;
  /** What holds it up, if anything does. */
  readonly blocker: string | null;
}

export interface PartResult {
  /** By the rows’ positions. */
  readonly outcomes: ReadonlyMap<number, RowOutcome>;
  /** null when every row was executed. */
  readonly failure: { readonly batchId: string; readonly message: string } | null;
}

/** Long enough for a person of the company to approve it; whoever gives up before goes on with the next run. */
const TIMEOUT_MS = 3_600_000;

/**
 * Sends one batch of an airdrop, or takes it up where it is. A batch that failed is final, and what it executed stands:
 * the rest is a new batch under the key of the next attempt, so that repeating all of this finds the same batches.
 */
export async function sendPart(
  deps: SendDeps,
  { identity, part, pipelines, retryFailed }: PartRequest,
  onProgress: (progress: PartProgress) => void,
): Promise<PartResult> {
  const outcomes = new Map<number, RowOutcome>();
  let left = pipelines;
  for (let attempt = 0; ; attempt += 1) {
    const idempotencyKey = await keyOfPart(identity, part, attempt);
    const before = pipelines.length - left.length;
    const tell = (progress: PartProgress) =>
      onProgress({ ...progress, executedPipelines: before + progress.executedPipelines });
    const { batchId, hadEnded } = await sendBatch(deps, left, idempotencyKey, tell);
    const { pipelines: records, batch, failure } = await deps.console.readBatch(deps.projectId, batchId);
    for (const [i, { rows }] of left.entries()) {
      const { state, signature = '' } = records[i] ?? {};
      const status = state === 'executed' ? 'executed' : state === 'failed' ? 'failed' : 'waiting';
      for (const row of rows) outcomes.set(row, { status, signature, batchId });
    }
    if (batch.status === 'EXECUTED') return { outcomes, failure: null };
    left = left.filter((_, i) => records[i]?.state !== 'executed');
    if (left.length === 0) return { outcomes, failure: null };
    const message = failure?.message ?? batch.executeResult?.failedTxMsg ?? batch.initResult?.failedTxMsg;
    // What fails now would most likely fail again.
    if (!retryFailed || !hadEnded) return { outcomes, failure: { batchId, message: message ?? 'The batch failed.' } };
  }
}

const NOTHING_YET: PartProgress = { stage: 'compile', batchId: null, executedPipelines: 0, blocker: null };

async function sendBatch(
  { client, console, projectId, wallet, look, signal }: SendDeps,
  pipelines: readonly PlannedPipeline[],
  idempotencyKey: string,
  onProgress: (progress: PartProgress) => void,
): Promise<{ readonly batchId: string; readonly hadEnded: boolean }> {
  const input: InitBatchInput = { pipelines: pipelines.map(({ pipeline }) => pipeline) };
  onProgress(NOTHING_YET);
  const { batch } = await client.initBatch(input, { idempotencyKey, signal });
  const known = { ...NOTHING_YET, batchId: batch.id };
  if (isFinal(await client.getBatch(batch.id, { signal }))) return { batchId: batch.id, hadEnded: true };
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  let watching: Promise<void> = Promise.resolve();
  try {
    onProgress({ ...known, stage: 'set up' });
    await runBatch(client, input, {
      ...{ wallet, look, idempotencyKey, signal, timeoutMs: TIMEOUT_MS },
      onProgress: (event) => {
        if (event.stage === 'setUp') onProgress({ ...known, stage: 'approve' });
        if (event.stage === 'hindered') {
          onProgress({ ...known, stage: 'execute', blocker: event.executionError.message });
        }
        if (event.stage !== 'approved') return;
        onProgress({ ...known, stage: 'execute' });
        const readExecuted = async () => (await console.readBatchProgress(projectId, batch.id)).executedPipelines;
        watching = watch(readExecuted, until, (executedPipelines) =>
          onProgress({ ...known, stage: 'execute', executedPipelines }),
        );
      },
    });
    return { batchId: batch.id, hadEnded: false };
  } finally {
    over.abort();
    await watching;
  }
}

/** A look a second is what a person takes for live, and far below the console’s rate. */
const WATCH_MS = 1_000;

/** Tells how many are executed, for as long as it is of interest: what cannot be read just now is left out. */
async function watch(
  readExecuted: () => Promise<number>,
  signal: AbortSignal,
  onExecuted: (executedPipelines: number) => void,
): Promise<void> {
  let told = 0;
  while (!signal.aborted) {
    await pause(WATCH_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const executed = await readExecuted().catch(() => told);
    if (executed > told && !signal.aborted) onExecuted(executed);
    told = executed;
  }
}
