import type { Batch, Problem } from '@flywheel/api';
import { isNodeFailure } from '@flywheel/solana-rpc';
import { NodeBehind } from '../chain/squads.ts';
import { type FlywheelError, type FlywheelErrorCode, isFlywheelError } from '../errors.ts';
import { recipientsOf } from './item.ts';
import { groupByPosition } from './merge.ts';
import type {
  ItemChange,
  ItemReason,
  SignedProposal,
  StoreChanges,
  StoredBatch,
  StoredItem,
  StoredRecipient,
  Verdict,
} from './store.ts';

/** What a failed call means for a batch. */
export type Judgement =
  /** The service has named items or recipients. A batch that was created is cancelled, one that was not is dissolved. */
  | { readonly kind: 'named'; readonly verdict: Verdict; readonly batchId: string | null }
  /** It passes, or a person resolves it: the same request is sent again. */
  | { readonly kind: 'wait'; readonly retryAfterSeconds: number | null }
  /** A limit has refused a batch, which was not created: a smaller one may pass earlier. */
  | Limited
  /** The payloads of a batch, which was not created, need too much time to be checked: one of them may be the cause. */
  | { readonly kind: 'unchecked'; readonly reason: ItemReason; readonly retryAfterSeconds: number | null }
  /** Not understood: the collector stops rather than guess. */
  | { readonly kind: 'stop' };

export interface Limited {
  readonly kind: 'limited';
  /** The recipients who are above a limit of their own; empty if the limit is of the whole batch. */
  readonly recipients: readonly string[];
  /** True if another item may pass where one alone is refused. */
  readonly dependsOnItems: boolean;
  readonly retryAfterSeconds: number | null;
}

/** Errors of init that blame the pipeline they name. Nothing was created. */
const BLAMES_ITEM: ReadonlySet<string> = new Set<FlywheelErrorCode>([
  'ERR_INVALID_REQUEST',
  'ERR_FLYWHEEL_INVALID_ACTION',
  'ERR_FLYWHEEL_INVALID_PROOF_TYPE',
  'ERR_KEY_SCOPES_UNAUTHORIZED',
  'ERR_FLYWHEEL_PIPELINE_TOO_BIG',
  'ERR_FLYWHEEL_ACTIONS_EMPTY',
]);

/** Errors that blame the recipient they name. */
const BLAMES_RECIPIENT: ReadonlySet<string> = new Set<FlywheelErrorCode>([
  'ERR_RECIPIENT_HELD_BACK',
  'ERR_BATCH_WOULD_FAIL',
  'ERR_POLICY_REFUSED',
]);

/** Limits of what the items of a batch move, and whom they pay. */
const LIMITS_OF_ITEMS: ReadonlySet<string> = new Set<FlywheelErrorCode>([
  'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED',
  'ERR_POLICY_CAP_REACHED',
]);

/** Limits that a smaller batch may pass. */
const LIMITS: ReadonlySet<string> = new Set([
  ...LIMITS_OF_ITEMS,
  ...(['ERR_TOO_MANY_OPEN_BATCHES', 'ERR_CAP_REACHED'] satisfies FlywheelErrorCode[]),
]);

/** Errors that pass, or that a person resolves, while the batch stays as it is. 429 and 5xx are others. */
const TEMPORARY: ReadonlySet<string> = new Set<FlywheelErrorCode>([
  ...['ERR_UNREACHABLE', 'ERR_TIMED_OUT', 'ERR_VAULT_UNDERFUNDED', 'ERR_ROTATION_OPEN'],
  // The next attempt reads how the batch has ended.
  'ERR_BATCH_NOT_EXECUTABLE',
  // The next attempt signs the present approval: the service has given up an execution with an earlier one.
  'ERR_SIGNED_TX_INVALID',
  'ERR_BATCH_STILL_EXECUTABLE',
  'ERR_PROJECT_NOT_ADMITTED',
] as FlywheelErrorCode[]);

/** Judges an error of a batch with `size` pipelines. */
export function judgeError(error: unknown, size: number): Judgement {
  if (!isFlywheelError(error)) return { kind: 'stop' };
  const { code, message, status, batchId, problems, retryAfterSeconds, cap } = error;
  const isBlame = BLAMES_RECIPIENT.has(code) || (BLAMES_ITEM.has(code) && batchId === null);
  if (isBlame) return blame(problems, { batchId, size });
  if (LIMITS.has(code) && batchId === null) {
    const recipients = problems.flatMap(({ recipient }) => recipient ?? []);
    const dependsOnItems = LIMITS_OF_ITEMS.has(code) || cap?.kind === 'burn' || cap?.kind === 'airdrop';
    return { kind: 'limited', recipients, dependsOnItems, retryAfterSeconds };
  }
  // A service that is only busy with other checks names no pipeline.
  const isUnchecked =
    code === 'ERR_SCHEMA_CHECK_UNAVAILABLE' && problems.some(({ place }) => positionOf(place) !== null);
  if (isUnchecked && batchId === null) return { kind: 'unchecked', reason: { code, message }, retryAfterSeconds };
  const isBusy = status === 429 || (status !== null && status >= 500);
  const isTemporary = TEMPORARY.has(code) || isBusy || isOfNode(error) || isOfProxy(error);
  return isTemporary || LIMITS.has(code) ? { kind: 'wait', retryAfterSeconds } : { kind: 'stop' };
}

/** True for an error of the Solana node alone: it catches up, works again, or a person names another one. */
function isOfNode({ cause }: FlywheelError): boolean {
  return cause instanceof NodeBehind || isNodeFailure(cause);
}

/** True for a page of a proxy's own, such as 404 while it is set up again: every answer of the service has an id. */
function isOfProxy({ code, status, requestId }: FlywheelError): boolean {
  return code === 'ERR_UNEXPECTED_REPLY' && status !== null && status >= 400 && requestId === null;
}

function blame(
  problems: readonly Problem[],
  { batchId, size }: { readonly batchId: string | null; readonly size: number },
): Judgement {
  const items = new Map<number, ItemReason>();
  const [failed, held] = [new Set<string>(), new Set<string>()];
  for (const { code, message, place, recipient } of problems) {
    if (recipient !== undefined) (code === 'ERR_RECIPIENT_HELD_BACK' ? held : failed).add(recipient);
    const position = positionOf(place);
    // A recipient may be payable later: only one who fails again and again is parked.
    const isRecipients = recipient !== undefined && BLAMES_RECIPIENT.has(code);
    if (position !== null && position < size && !isRecipients) items.set(position, { code, message });
  }
  const verdict = {
    items: [...items].map(([position, reason]) => ({ position, reason })),
    ...{ failed: [...failed], held: [...held] },
  };
  // An error of every item of several is no fact about one. A paused mint, for one, meets a batch of one item too.
  const isOfChain = [...items.values()].some(({ code }) => code === 'ERR_BATCH_WOULD_FAIL');
  const blamesAll = items.size === size && (size > 1 || isOfChain);
  const blamesNone = items.size + failed.size + held.size === 0;
  return blamesAll || blamesNone ? { kind: 'stop' } : { kind: 'named', verdict, batchId };
}

/** Reads the pipeline of a place such as `pipelines[3].actions[0].toAddress`; null for others. */
function positionOf(place: string | undefined): number | null {
  const [, index] = /^pipelines\[(\d+)\]/.exec(place ?? '') ?? [];
  return index === undefined ? null : Number(index);
}

/** A batch that ends, with its items in the order of their positions, and the records of their recipients. */
export interface EndingBatch {
  readonly batch: StoredBatch;
  readonly items: readonly StoredItem[];
  readonly recipients: readonly StoredRecipient[];
}

/**
 * Returns the step that dissolves a batch which was not created: items that are named are quarantined, the others wait for
 * another batch.
 * @param limited recipients who are above a limit: their items wait for batches of their own.
 */
export function dissolve(ending: EndingBatch, verdict: Verdict, limited: readonly string[] = []): StoreChanges {
  return endWith(ending, { paid: 0, batchId: null, verdict, limited });
}

/**
 * Returns the step that records how a batch has ended: the first pipelines are paid, because Squads executes them in order
 * and stops at a failure. The others wait for another batch; those of recipients who failed wait for one of their own. If a
 * person has ended the batch, they are quarantined: it is a person who decides to send them again.
 */
export function recordEnd(ending: EndingBatch, ended: Batch): StoreChanges {
  const { items, batch } = ending;
  const { id, status, executeResult } = ended;
  const paid = status === 'EXECUTED' ? items.length : (executeResult?.totalSuccessful ?? 0);
  const { failedRecipient, heldRecipients = [] } = executeResult ?? {};
  // Somebody may have executed it before it was cancelled: its payments show that the check's reasons are gone.
  const known = status === 'EXECUTED' ? NO_VERDICT : (batch.verdict ?? NO_VERDICT);
  const failed = [...new Set([...known.failed, ...(failedRecipient ? [failedRecipient.recipient] : [])])];
  return endWith(ending, {
    paid,
    batchId: id,
    verdict: { ...known, failed, held: [...known.held, ...heldRecipients] },
    decision: batch.verdict === null ? decisionOf(ended) : null,
  });
}

/** Returns the step that records how many pipelines of a signed batch the chain has executed, and that it executes no more. */
export function recordExecuted(ending: EndingBatch, { batchId }: SignedProposal, executed: number): StoreChanges {
  return endWith(ending, { paid: executed, batchId, verdict: NO_VERDICT });
}

/** Code of items whose batch the project has cancelled. */
export const BATCH_CANCELLED = 'BATCH_CANCELLED';
/** Code of items whose batch a person of the company has rejected. */
export const BATCH_REJECTED = 'BATCH_REJECTED';

/** The decision of a person that has ended a batch, as the reason of its items; null for another end. */
function decisionOf({ id, status, endCause, executeResult, initResult }: Batch): ItemReason | null {
  if (status !== 'FAILED' || (endCause !== 'cancelled' && endCause !== 'rejected')) return null;
  const said = executeResult?.failedTxMsg ?? initResult?.failedTxMsg ?? `It was ${endCause}.`;
  return { code: endCause === 'cancelled' ? BATCH_CANCELLED : BATCH_REJECTED, message: `Batch ${id}: ${said}` };
}

/**
 * True if the end of a batch says why: it was executed, a recipient made it fail, a person has ended it, or the collector has
 * cancelled it.
 */
export function isExplained(ended: Batch, verdict: Verdict | null): boolean {
  const { status, executeResult } = ended;
  const isBlamed = verdict !== null || executeResult?.failedRecipient !== undefined;
  return status === 'EXECUTED' || isBlamed || decisionOf(ended) !== null;
}

/** Names no item and no recipient. */
export const NO_VERDICT: Verdict = { items: [], failed: [], held: [] };

interface End {
  readonly paid: number;
  readonly batchId: string | null;
  readonly verdict: Verdict;
  readonly limited?: readonly string[];
  /** Why a person has ended the batch; null if none has. */
  readonly decision?: ItemReason | null;
}

function endWith(
  { batch, items, recipients }: EndingBatch,
  { paid, batchId, verdict, limited = [], decision = null }: End,
): StoreChanges {
  const reasons = new Map(verdict.items.map(({ position, reason }) => [position, reason]));
  const failures = new Map(recipients.map(({ address, failures: count }) => [address, count]));
  const before = new Map(failures);
  const isPaid = ({ position }: StoredItem) => position !== null && position < paid;
  const groups = groupByPosition(items);
  // A payment proves that the recipient can be paid.
  for (const item of items.filter(isPaid)) for (const each of recipientsOf(item)) failures.set(each, 0);
  for (const each of verdict.failed) failures.set(each, (before.get(each) ?? 0) + 1);
  for (const each of verdict.held) failures.set(each, Math.max(failures.get(each) ?? 0, 1));

  const changes = items.map((item): ItemChange => {
    if (isPaid(item)) return { item, to: { state: 'paid', batchKey: null, batchId, isReportDue: true } };
    const left = { batchKey: null, position: null, attempts: item.attempts + 1 };
    const position = item.position ?? 0;
    // Of items that share a pipeline any may be the cause: each is tried alone.
    const blame = groups.get(position)?.length === 1 ? reasons.get(position) : undefined;
    const reason = blame ?? decision;
    if (reason !== null) return { item, to: { ...left, state: 'quarantined', reason, isReportDue: true } };
    const goesApart = (each: string) => (failures.get(each) ?? 0) > 0 || limited.includes(each);
    const isApart = batch.lane === 'apart' || recipientsOf(item).some(goesApart);
    return { item, to: { ...left, lane: isApart ? 'apart' : 'together' } };
  });
  const changed = [...failures].filter(([address, count]) => count !== (before.get(address) ?? 0));
  return {
    items: changes,
    endedBatches: [batch.key],
    recipients: changed.map(([address, count]) => ({ address, failures: count })),
  };
}
