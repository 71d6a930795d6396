import type { Batch, Pipeline } from '@flywheel/api';
import { sleep } from '@flywheel/solana-rpc';
import { requireEnd } from '../audit/batch-end.ts';
import type { FlywheelClient } from '../client.ts';
import { FlywheelError, isErrorCode, isFlywheelError, nameBatch } from '../errors.ts';
import { type FollowOptions, followBatch } from '../follow-batch.ts';
import { isFinal, stillOpen, watchBatch } from '../watch-batch.ts';
import type { Deferrals } from './deferrals.ts';
import { recipientsOf } from './item.ts';
import type { Journal } from './journal.ts';
import { dissolve, isExplained, judgeError, type Limited, NO_VERDICT, recordEnd } from './judge.ts';
import { groupByPosition, pipelinesOf } from './merge.ts';
import type { SignedProposal, StoreChanges, StoredBatch, StoredItem, Verdict } from './store.ts';

export interface PayDeps {
  readonly client: FlywheelClient;
  readonly journal: Journal;
  /** The wallet and what it verifies, or `'person'`: somebody else approves each batch. */
  readonly approval: WalletApproval | 'person';
  readonly timing: PayTiming;
  readonly signal: AbortSignal;
  readonly deferrals: Deferrals;
  /** Throws unless the store belongs to the project of the API key. */
  readonly requireProject: (signal: AbortSignal) => Promise<void>;
  /** Called when a batch waits for something, or for a person, with its key; null if it was dissolved to be divided. */
  readonly onHeldUp: (cause: HeldUp, key: string | null) => void;
  /** Called when the service says that a batch has ended: another one may begin while this one becomes final. */
  readonly onExecuted: (batch: StoredBatch) => void;
}

/** The wallet that signs, what it verifies before, and a listener to the steps of every batch. */
export type WalletApproval = Pick<FollowOptions, 'wallet' | 'verify' | 'onProgress'>;

export interface PayTiming {
  /** Time after which an executed batch is read again before its items count as paid. */
  readonly finalAfterMs: number;
  /** First and longest wait after an error that passes. */
  readonly retryMs: readonly [first: number, longest: number];
}

/** Why a batch waits. */
export type HeldUp =
  /** `code` is that of an error, or `AWAITS_COMPANY` while a person decides for the company. */
  | { readonly kind: 'waiting'; readonly code: string; readonly message: string; readonly batchId: string | null }
  /** `items` is the number of events, of which several may share a pipeline. */
  | { readonly kind: 'approvalNeeded'; readonly batchId: string; readonly items: number };

/** The end of a payment. */
export interface PayOutcome {
  /** `tooBig` if the batch was dissolved because a smaller one may pass a limit, or a check. */
  readonly kind: 'ended' | 'dissolved' | 'tooBig';
  /** Number of its items. */
  readonly items: number;
}

/** Number of answers after which an item alone is the cause. The client has repeated the request before each of them. */
const MAX_UNCHECKED = 3;

/**
 * Pays an open batch: creates or resumes it, has it approved and executed, and records its end in one write. The batch and
 * its items are stored before the first request, so a crash anywhere leads back here.
 * @throws what stops the collector.
 */
export async function payBatch(deps: PayDeps, opened: StoredBatch): Promise<PayOutcome> {
  const { journal, signal } = deps;
  const items = await journal.store.read({ batchKey: opened.key });
  // Another process that has taken over may have ended the batch: without its items, its key would name another request.
  await journal.requireEpoch();
  const pipelines = pipelinesOf(items);
  let batch = opened;
  let unchecked = 0;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await deps.requireProject(signal);
      const ended = await follow(deps, batch, { items, pipelines }, async (proposal) => {
        batch = await noteSigned(deps, batch, proposal);
      });
      return { kind: await conclude(deps, { batch, items, ended }), items: items.length };
    } catch (error) {
      signal.throwIfAborted();
      const judgement = judgeError(error, pipelines.length);
      switch (judgement.kind) {
        case 'stop':
          throw error;
        case 'named': {
          const { verdict, batchId } = judgement;
          noteMerged(deps, batch, items, judgement);
          if (batchId === null) {
            // An honest service answers a known key before it looks at the request.
            if (batch.signed !== null)
              throw contradicts('The service refuses a batch that the wallet has signed.', error);
            await writeEnd(deps, { batch, items, verdict }, (ending) => dissolve(ending, verdict));
            return { kind: 'dissolved', items: items.length };
          }
          // Known before the batch is cancelled: after a crash the cancelled batch alone would not say why.
          batch = { ...batch, batchId, verdict };
          const known = { batches: [batch] };
          await journal.exclusive((write) => write(known));
          break;
        }
        case 'limited': {
          const outcome = batch.signed === null ? afterLimit(deps, items, judgement, attempt) : 'waits';
          if (outcome !== 'waits') {
            const { recipients } = judgement;
            await writeEnd(deps, { batch, items, verdict: NO_VERDICT }, (ending) =>
              dissolve(ending, NO_VERDICT, outcome === 'tooBig' ? [] : recipients),
            );
            noteHeldUp(deps, null, error);
            return { kind: outcome, items: items.length };
          }
          await waitFor(deps, batch, error, { attempt, seconds: judgement.retryAfterSeconds });
          break;
        }
        case 'unchecked': {
          unchecked += 1;
          const isAlone = items.length === 1;
          if (batch.signed === null && (!isAlone || unchecked === MAX_UNCHECKED)) {
            // The place is no proof: the time is that of all payloads.
            const { reason } = judgement;
            const verdict = isAlone ? { ...NO_VERDICT, items: [{ position: 0, reason }] } : NO_VERDICT;
            await writeEnd(deps, { batch, items, verdict }, (ending) => dissolve(ending, verdict));
            if (!isAlone) noteHeldUp(deps, null, error);
            return { kind: isAlone ? 'dissolved' : 'tooBig', items: items.length };
          }
          await waitFor(deps, batch, error, { attempt, seconds: judgement.retryAfterSeconds });
          break;
        }
        case 'wait':
          await waitFor(deps, batch, error, { attempt, seconds: judgement.retryAfterSeconds });
          break;
        default:
          judgement satisfies never;
      }
    }
  }
}

/**
 * Decides about a batch that a limit has refused. Items of recipients who are above a limit leave the others alone. What one
 * limit refuses as a whole is divided, at once if the limit lasts. An item that is refused alone waits outside of batches.
 */
function afterLimit(
  { timing: { retryMs }, deferrals }: PayDeps,
  items: readonly StoredItem[],
  { recipients, dependsOnItems, retryAfterSeconds }: Limited,
  attempt: number,
): 'dissolved' | 'tooBig' | 'waits' {
  const [first, ...others] = items;
  const isNamed = (item: StoredItem) => recipientsOf(item).some((each) => recipients.includes(each));
  const named = items.filter(isNamed).length;
  if (named > 0 && named < items.length) return 'dissolved';
  const [, longestMs] = retryMs;
  const waitMs = retryAfterSeconds === null ? longestMs : retryAfterSeconds * 1_000;
  if (others.length > 0) return named > 0 || attempt > 1 || waitMs > longestMs ? 'tooBig' : 'waits';
  if (!first || !dependsOnItems) return 'waits';
  deferrals.defer(first, named > 0 ? recipients : [], waitMs);
  return 'dissolved';
}

/** Says that items which share a pipeline are paid one by one after an error that names it. */
function noteMerged(
  { onHeldUp }: PayDeps,
  { key }: StoredBatch,
  items: readonly StoredItem[],
  { verdict, batchId }: { readonly verdict: Verdict; readonly batchId: string | null },
): void {
  const groups = groupByPosition(items);
  for (const { position, reason } of verdict.items) {
    const size = groups.get(position)?.length ?? 0;
    if (size < 2) continue;
    const message = `${reason.message} Its ${size} events are paid one by one.`;
    onHeldUp({ kind: 'waiting', code: reason.code, message, batchId }, key);
  }
}

async function follow(
  deps: PayDeps,
  { key, batchId, verdict, signed }: StoredBatch,
  { items, pipelines }: { readonly items: readonly StoredItem[]; readonly pipelines: Pipeline[] },
  beforeSigning: (proposal: SignedProposal) => Promise<void>,
): Promise<Batch> {
  const { client, approval, signal } = deps;
  if (verdict !== null && batchId !== null) return cancelToEnd(deps, batchId);
  if (approval === 'person') return followPerson(deps, { items: items.length, pipelines, idempotencyKey: key });
  const sent = { input: { pipelines }, pipelines, idempotencyKey: key };
  const { batch } = await followBatch(client, sent, {
    ...approval,
    signal,
    signedIn: signed?.multisig,
    beforeSigning: ({ id, multisig, batchIndex }) => beforeSigning({ batchId: id, multisig, batchIndex }),
    onProgress: (progress) => {
      approval.onProgress?.(progress);
      if (progress.stage === 'blocked' || progress.stage === 'awaitsCompany') showWait(deps, progress.batch, key);
    },
  });
  return batch;
}

/**
 * Before each signature, stores which proposal is signed for the batch, and asks the store that this collector is still the
 * one that pays. Init has answered by then: a batch that it created earlier is found by a later collector, and one that it
 * creates later is not signed.
 * @returns the batch with its proposal.
 * @throws FlywheelError `ERR_CHAIN_MISMATCH` if the wallet has signed another proposal for the batch: both could be executed.
 */
async function noteSigned({ journal }: PayDeps, batch: StoredBatch, proposal: SignedProposal): Promise<StoredBatch> {
  const { signed } = batch;
  const { multisig, batchIndex } = proposal;
  if (signed === null) {
    const noted = { ...batch, signed: proposal };
    await journal.exclusive((write) => write({ batches: [noted] }));
    return noted;
  }
  if (signed.multisig !== multisig || signed.batchIndex !== batchIndex) {
    throw contradicts(
      `The wallet has signed the batch with index ${signed.batchIndex} of the multisig ${signed.multisig} for these events, and the service now asks for index ${batchIndex} of ${multisig}.`,
    );
  }
  await journal.requireEpoch();
  return batch;
}

function contradicts(reason: string, cause?: unknown): FlywheelError {
  const message = `${reason} They could be paid twice, so nothing more is signed.`;
  return new FlywheelError({ code: 'ERR_CHAIN_MISMATCH', message, ...(cause !== undefined && { cause }) });
}

/** Creates or resumes a batch and waits until somebody has approved and executed it, or until a check names its items. */
async function followPerson(
  { client, journal, signal, onHeldUp }: PayDeps,
  {
    items,
    pipelines,
    idempotencyKey,
  }: { readonly items: number; readonly pipelines: Pipeline[]; readonly idempotencyKey: string },
): Promise<Batch> {
  const init = await client.initBatch({ pipelines }, { idempotencyKey, signal });
  const { id: batchId } = init.batch;
  const show = (batch: Batch) => showWait({ onHeldUp }, batch, idempotencyKey);
  try {
    const isSetUp = ({ status }: Batch) => status !== 'AVAILABLE_TO_QUEUE';
    const setUp = await watchBatch(client, batchId, { signal, until: isSetUp, onChange: show });
    if (isFinal(setUp)) return setUp;
    // Another process that has taken over may pay these events in other batches, as before a signature.
    await journal.requireEpoch();
    onHeldUp({ kind: 'approvalNeeded', batchId, items }, idempotencyKey);
    const isOver = (batch: Batch) => isFinal(batch) || checkErrorOf(batch) !== null;
    const over = await watchBatch(client, batchId, { signal, until: isOver, onChange: show });
    const error = checkErrorOf(over);
    if (error !== null && !isFinal(over)) throw error;
    return over;
  } catch (error) {
    throw nameBatch(error, { batchId, idempotencyKey });
  }
}

/** Says what an open batch waits for, beside a person's approval. */
function showWait(
  { onHeldUp }: Pick<PayDeps, 'onHeldUp'>,
  { id, executionError, awaitsCompany }: Batch,
  key: string,
): void {
  const message = `Batch ${id} is approved. A person of the company decides now.`;
  const cause = executionError ?? (awaitsCompany ? { code: 'AWAITS_COMPANY', message } : null);
  if (cause !== null) onHeldUp({ kind: 'waiting', code: cause.code, message: cause.message, batchId: id }, key);
}

/** The error of a check that has named items or recipients; null for others, which may pass. */
function checkErrorOf({ executionError }: Batch): FlywheelError | null {
  const { code = '', message = '', problems = [] } = executionError ?? {};
  if (!isErrorCode(code) || code !== 'ERR_BATCH_WOULD_FAIL' || problems.length === 0) return null;
  return new FlywheelError({ code, message, problems });
}

/** Seconds that the service may hold its answer to a cancel. */
const CANCEL_WAIT_SECONDS = 10;

async function cancelToEnd({ client, signal }: PayDeps, batchId: string): Promise<Batch> {
  try {
    await client.cancelBatch(batchId, { waitSeconds: CANCEL_WAIT_SECONDS, signal });
  } catch (error) {
    // Somebody has executed it meanwhile, which is an end as well.
    if (!isFlywheelError(error, 'ERR_BATCH_NOT_CANCELLABLE')) throw error;
  }
  return watchBatch(client, batchId, { signal });
}

interface Ended {
  readonly batch: StoredBatch;
  readonly items: readonly StoredItem[];
  readonly ended: Batch;
}

/**
 * Records the end of a batch. An executed one is read again first, because a fork may undo what is not final yet. Items of
 * a failed one that was signed are paid again only if the chain shows that they were not paid and cannot be.
 */
async function conclude(deps: PayDeps, { batch, items, ended }: Ended): Promise<'ended'> {
  const { client, timing, signal } = deps;
  let final = ended;
  if (ended.status === 'EXECUTED') {
    deps.onExecuted(batch);
    if (timing.finalAfterMs > 0) {
      await sleep(timing.finalAfterMs, signal);
      final = await client.getBatch(ended.id, { signal });
    }
  }
  if (!isFinal(final)) throw stillOpen(final, timing.finalAfterMs);
  const { executeResult } = final;
  if (final.status === 'FAILED') await requireFailed(deps, batch, final);
  const failed = executeResult?.failedRecipient ? [executeResult.failedRecipient.recipient] : [];
  const named = { ...(batch.verdict ?? NO_VERDICT), held: [...failed, ...(executeResult?.heldRecipients ?? [])] };
  await writeEnd(deps, { batch, items, verdict: named }, (ending) => recordEnd(ending, final));
  if (isExplained(final, batch.verdict)) return 'ended';
  const paid = executeResult?.totalSuccessful ?? 0;
  const why = executeResult?.failedTxMsg ?? final.initResult?.failedTxMsg ?? 'The service gives no reason.';
  throw new Error(
    `Batch ${final.id} ended ${final.status} after ${paid} of ${pipelinesOf(items).length} pipelines: ${why} The others are pending again; start the collector again when that is resolved.`,
  );
}

/** With `'trust-service'`, and where a person signs, the collector has no node to ask. */
async function requireFailed(deps: PayDeps, batch: StoredBatch, { id, executeResult }: Batch): Promise<void> {
  const { approval, signal, onExecuted } = deps;
  if (batch.signed === null || approval === 'person' || approval.verify === 'trust-service') return;
  onExecuted(batch);
  const claimed = { batchId: id, executed: executeResult?.totalSuccessful ?? 0, isSigned: true };
  await requireEnd(approval.verify.rpcUrl, batch.signed, claimed, signal);
}

/** Writes the end of a batch, made from the present records of its recipients. */
export async function writeEnd(
  { journal }: Pick<PayDeps, 'journal'>,
  {
    batch,
    items,
    verdict,
  }: { readonly batch: StoredBatch; readonly items: readonly StoredItem[]; readonly verdict: Verdict },
  changesOf: (ending: Parameters<typeof dissolve>[0]) => StoreChanges,
): Promise<void> {
  const addresses = new Set([...items.flatMap(recipientsOf), ...verdict.failed, ...verdict.held]);
  await journal.exclusive(async (write) => {
    const recipients = await journal.store.readRecipients([...addresses]);
    await write(changesOf({ batch, items, recipients }));
  });
}

function noteHeldUp({ onHeldUp }: PayDeps, key: string | null, error: unknown): void {
  if (!isFlywheelError(error)) return;
  const { code, message, batchId } = error;
  onHeldUp({ kind: 'waiting', code, message, batchId }, key);
}

async function waitFor(
  deps: PayDeps,
  { key }: StoredBatch,
  error: unknown,
  { attempt, seconds }: { readonly attempt: number; readonly seconds: number | null },
): Promise<void> {
  const { timing, signal } = deps;
  noteHeldUp(deps, key, error);
  const [first, longest] = timing.retryMs;
  const backoffMs = Math.min(first * 2 ** (attempt - 1), longest);
  await sleep(seconds === null ? backoffMs : Math.min(seconds * 1_000, longest), signal);
}
