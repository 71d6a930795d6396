import { type Batch, InitBatchRequest, MAX_PIPELINES_PER_BATCH, type Pipeline } from '@flywheel/api';
import { chunksOf, tryParseJson } from '@flywheel/protocol';
import { requireEnd } from './audit/batch-end.ts';
import type { FlywheelClient, InitBatchInput } from './client.ts';
import { FlywheelError, signingRefused } from './errors.ts';
import { type FollowOptions, followBatch } from './follow-batch.ts';
import { runKeyOf } from './idempotency-keys.ts';
import { isFinal } from './watch-batch.ts';

export interface RunBatchOptions extends FollowOptions {
  /** Number of the run; 1 by default. A run starts only after the previous run has executed every pipeline. */
  readonly run?: number;
  /**
   * True to send the pipelines that a failed batch of this run did not execute, as further batches of it. Unless `verify` is
   * `'trust-service'`, the chain must show that the failed one has not executed them and cannot any more. A batch that
   * fails in this call is not continued: it would probably fail again.
   */
  readonly sendRest?: boolean;
  /** UUID of your own for the init request, instead of the key of the run. `run` and `sendRest` then have no effect. */
  readonly idempotencyKey?: string;
}

/**
 * Runs a batch from start to end: init, wait for the setup on chain, verify it there, sign the approval, execute, and
 * watch it until it has ended. The same call again resumes the same batch, in whatever state it is: the idempotency key is
 * derived from the pipelines and `run`, so that equal pipelines are paid once per run.
 * @returns the batch, `EXECUTED` or `FAILED`; with several batches in the run the last one, or the failed one whose
 * pipelines are not all executed. A batch that failed on chain is a result, not an error.
 * @throws FlywheelError of any call, with `idempotencyKey` and `batchId` as far as they are known; `ERR_TIMED_OUT` if the
 * batch has not ended in time; `ERR_RUN_TOO_EARLY` if the previous run has pipelines left; before the rest of a failed batch is
 * sent, `ERR_CHAIN_MISMATCH` if the chain contradicts the service, and `ERR_BATCH_STILL_EXECUTABLE` if it could still execute it.
 *
 * @example
 * const batch = await runBatch(client, [pipeline('WATCH_AD', { adId: '1' }, burn(0.25))], {
 *   wallet,
 *   verify: { rpcUrl: 'https://api.mainnet-beta.solana.com' },
 *   onProgress: ({ stage }) => console.log(stage),
 * });
 */
export async function runBatch(
  client: FlywheelClient,
  work: readonly Pipeline[] | InitBatchInput,
  { run = 1, sendRest = false, idempotencyKey, ...options }: RunBatchOptions,
): Promise<Batch> {
  requireVerification(options);
  const { onProgress, signal } = options;
  const call = { signal };
  const input = isPipelines(work) ? { pipelines: [...work] } : work;
  const pipelines = await parsePipelines(client, input, call);
  if (idempotencyKey !== undefined) {
    onProgress?.({ stage: 'begun', idempotencyKey, position: null });
    return (await followBatch(client, { input, pipelines, idempotencyKey }, options)).batch;
  }
  await requireStart(client, [pipelines], run, call);
  return followRun(client, { input, pipelines }, { run, sendRest, ...options });
}

/**
 * Runs more pipelines than a batch takes, as batches of at most 1,000, one after another, each as `runBatch` does. It ends
 * after the first batch that is not executed: what comes after it was not sent. The same call again resumes. A run starts
 * only after all batches of the previous run.
 * @yields each batch when it has ended.
 * @throws RangeError before anything is sent if two of the batches would be equal: they would be paid once, as one run.
 * FlywheelError as `runBatch`.
 *
 * @example
 * for await (const { id, status } of runBatches(client, pipelines, { wallet, verify: { rpcUrl } })) console.log(id, status);
 */
export async function* runBatches(
  client: FlywheelClient,
  pipelines: readonly Pipeline[],
  options: Omit<RunBatchOptions, 'idempotencyKey'>,
): AsyncGenerator<Batch, void, undefined> {
  const parts = chunksOf(pipelines, MAX_PIPELINES_PER_BATCH);
  const keys = new Set(await Promise.all(parts.map((part) => runKeyOf(part))));
  if (keys.size < parts.length) {
    throw new RangeError('Two batches of 1,000 pipelines are equal. Give each pipeline a payload of its own.');
  }
  const { run = 1, signal } = options;
  await requireStart(client, parts, run, { signal });
  for (const part of parts) {
    const batch = await followRun(client, { input: { pipelines: [...part] }, pipelines: part }, options);
    yield batch;
    if (batch.status !== 'EXECUTED') return;
  }
}

/**
 * Requires that a run has begun, which is then resumed whatever became of the one before, or that it may begin.
 * @param parts the pipelines of each of its batches.
 * @throws FlywheelError `ERR_RUN_TOO_EARLY`
 */
async function requireStart(
  client: FlywheelClient,
  parts: readonly (readonly Pipeline[])[],
  run: number,
  call: { readonly signal?: AbortSignal },
): Promise<void> {
  const [first] = parts;
  if (run === 1 || !first || (await client.isKeyUsed(await runKeyOf(first, { run }), call))) return;
  for (const part of parts) await requirePreviousRun(client, part, run, call);
}

/** A run: its init request, and the pipelines in it. */
export interface RunToFollow {
  readonly input: InitBatchInput;
  /** Those of `input`. */
  readonly pipelines: readonly Pipeline[];
}

/**
 * Creates or resumes a run and follows its batches to their end, as `runBatch` does, but does not ask whether the previous
 * run has executed everything: `requirePreviousRun` does.
 */
export async function followRun(
  client: FlywheelClient,
  { input, pipelines }: RunToFollow,
  { run = 1, sendRest = false, ...options }: Omit<RunBatchOptions, 'idempotencyKey'>,
): Promise<Batch> {
  requireVerification(options);
  const { onProgress, signal } = options;
  let failed: Batch | null = null;
  let last: Batch | null = null;
  for (let [rest, groups]: [number, (readonly Pipeline[])[]] = [0, [pipelines]]; ; rest += 1) {
    const [group = [], ...later] = groups;
    const key = await runKeyOf(pipelines, { run, rest });
    if (rest > 0 && !sendRest && failed && !(await client.isKeyUsed(key, { signal }))) return failed;
    if (last?.status === 'FAILED') await requireFailed(options, last);
    onProgress?.({ stage: 'begun', idempotencyKey: key, position: { run, rest } });
    // JSON text is sent byte for byte, so that the service sees every digit.
    const body = rest === 0 ? input : { pipelines: [...group] };
    const sent = { input: body, pipelines: group, idempotencyKey: key };
    const { batch, hadEnded } = await followBatch(client, sent, options);
    groups = [...groupsLeft(batch, group), ...later];
    if (batch.status === 'FAILED') failed = batch;
    last = batch;
    if (groups.length === 0) return batch;
    if (batch.status === 'FAILED' && !hadEnded) return batch;
  }
}

/** A service that lies about a failed batch must not have its pipelines paid again. */
async function requireFailed({ verify, signal }: FollowOptions, { id, executeResult, ...batch }: Batch): Promise<void> {
  if (verify === 'trust-service') return;
  const claimed = { batchId: id, executed: executeResult?.totalSuccessful ?? 0, isSigned: false };
  await requireEnd(verify.rpcUrl, batch, claimed, signal);
}

/**
 * Returns the pipelines that a failed batch did not execute, in groups that are sent as batches of their own: those that
 * pay recipients who were held back when it ended come last and apart, because these may stop a batch again.
 */
export function groupsLeft<P extends Pick<Pipeline, 'actions'>>(
  { status, executeResult }: Pick<Batch, 'status' | 'executeResult'>,
  pipelines: readonly P[],
): (readonly P[])[] {
  if (status !== 'FAILED') return [];
  // Squads executes in order and stops at a failure (decision 12).
  const left = pipelines.slice(executeResult?.totalSuccessful ?? 0);
  const held = executeResult?.heldRecipients ?? [];
  const pays = ({ actions }: P) =>
    actions.some((action) => action.action === 'AIRDROP' && held.includes(action.toAddress));
  return [left.filter((each) => !pays(each)), left.filter(pays)].filter((group) => group.length > 0);
}

/** For callers without types: to leave `verify` out by mistake must not switch the verification off. */
function requireVerification({ verify }: { readonly verify?: FollowOptions['verify'] }): void {
  if (verify) return;
  throw signingRefused(
    'verify is missing. Pass { rpcUrl } of a Solana node of your choice; "trust-service" signs without verification.',
  );
}

function isPipelines(work: readonly Pipeline[] | InitBatchInput): work is readonly Pipeline[] {
  return Array.isArray(work);
}

/**
 * Parses the request as the service does. What this client cannot parse is sent to the service for its error.
 * @throws FlywheelError of the service.
 */
async function parsePipelines(
  client: FlywheelClient,
  input: InitBatchInput,
  call: { readonly signal?: AbortSignal },
): Promise<readonly Pipeline[]> {
  // The service says what is wrong with a text that is not JSON.
  const parsed = InitBatchRequest.safeParse(typeof input === 'string' ? tryParseJson(input) : input);
  if (parsed.success) return parsed.data.pipelines;
  // A preview has init's own errors for an invalid request, and creates nothing.
  await client.previewBatch(input, call);
  throw new FlywheelError({
    code: 'ERR_UNEXPECTED_REPLY',
    message: 'The service accepts a request that this client cannot parse: it is newer than this client.',
    cause: parsed.error,
  });
}

/**
 * Requires that the run before `run` has executed every pipeline.
 * @param pipelines those of the run before.
 * @throws FlywheelError `ERR_RUN_TOO_EARLY`
 */
export async function requirePreviousRun(
  client: FlywheelClient,
  pipelines: readonly Pipeline[],
  run: number,
  call: { readonly signal?: AbortSignal } = {},
): Promise<void> {
  const previous = run - 1;
  const tooEarly = (reason: string, names: { readonly idempotencyKey: string; readonly batchId?: string }) => {
    const message = `Run ${run} starts only after run ${previous} has executed every pipeline: ${reason}`;
    return new FlywheelError({ code: 'ERR_RUN_TOO_EARLY', message, ...names });
  };
  for (let [rest, groups]: [number, (readonly Pipeline[])[]] = [0, [pipelines]]; ; rest += 1) {
    const [group = [], ...later] = groups;
    const idempotencyKey = await runKeyOf(pipelines, { run: previous, rest });
    if (!(await client.isKeyUsed(idempotencyKey, call))) {
      const reason =
        rest === 0
          ? 'it was never started.'
          : `${groups.flat().length} of its ${pipelines.length} pipelines are not executed.`;
      throw tooEarly(reason, { idempotencyKey });
    }
    const init = await client.initBatch({ pipelines: [...group] }, { ...call, idempotencyKey });
    const batch = await client.getBatch(init.batch.id, call);
    if (!isFinal(batch)) {
      throw tooEarly(`its batch ${batch.id} is ${batch.status}.`, { idempotencyKey, batchId: batch.id });
    }
    groups = [...groupsLeft(batch, group), ...later];
    if (groups.length === 0) return;
  }
}
