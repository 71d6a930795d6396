import { type Action, findPayloadIssue, Pipeline } from '@flywheel/api';
import { describeIssue, formatPath } from '@flywheel/protocol';
import { FlywheelError, type FlywheelErrorCode, isFlywheelError } from '../errors.ts';
import { pipelineSize } from '../pipeline-size.ts';
import { pipeline } from '../pipelines.ts';
import type { ItemReason, ItemState, NewItem, StoredItem } from './store.ts';

/** An event to pay for: one pipeline under an id of yours. */
export interface CollectedItem {
  /** Names the event: an item is paid once for each id, ever. 1 to 200 characters without control characters. */
  readonly id: string;
  /** Proof type, e.g. `WATCH_AD`. */
  readonly type: string;
  /** The proof covers its exact text; an object is written with `JSON.stringify`. */
  readonly payload: string | object;
  readonly actions: readonly Action[];
}

/** What has become of an item. */
export interface ItemStatus {
  readonly id: string;
  readonly state: ItemState;
  readonly type: string;
  /** The exact text that the proof covers, unless it was paid together with others. */
  readonly payload: string;
  readonly actions: readonly Action[];
  /** True while the item is in an open batch; it cannot be dropped then. */
  readonly isInBatch: boolean;
  /** The batch that paid it; null before. */
  readonly batchId: string | null;
  /** Index of its pipeline in that batch; null before. */
  readonly position: number | null;
  /** The text that its proof covers, if it was paid together with others (decision 81); null otherwise. */
  readonly mergedPayload: string | null;
  /** Number of batches that ended without paying it. */
  readonly attempts: number;
  /** Why it is quarantined; null otherwise. */
  readonly reason: ItemReason | null;
}

const ID = /^[^\p{C}]{1,200}$/u;

/**
 * Parses an item as init does, so that what no service would accept is not accepted here either.
 * @throws FlywheelError `ERR_INVALID_REQUEST` or `ERR_FLYWHEEL_PIPELINE_TOO_BIG`
 */
export function parseItem(given: CollectedItem, acceptedAtMs: number): NewItem {
  // A program without types can give anything.
  if (typeof given !== 'object' || given === null) throw invalid('An item must be an object.');
  const { id, type, payload, actions } = given;
  if (typeof id !== 'string' || !ID.test(id)) {
    const shown = typeof id === 'string' ? JSON.stringify(id) : `A value of type ${typeof id}`;
    throw invalid(`${shown} is not a valid id: use 1 to 200 characters without control characters.`);
  }
  const parsed = Pipeline.safeParse({ ...written(id, type, payload), actions }, { reportInput: true });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const place = formatPath(issue?.path ?? [], '');
    const message = issue ? `${describeIssue(issue)}.` : 'is not valid.';
    throw invalid(`Item ${id}: ${place || 'the item'} ${message}`, place === '' ? [] : [{ place, message }]);
  }
  const { data: item } = parsed;
  // The service reads a payload alone, and would not see it in a merged one.
  const problem = findPayloadIssue(item.payload);
  if (problem !== null) throw invalid(`Item ${id}: payload ${problem}`, [{ place: 'payload', message: problem }]);
  const { share, bytes, instructions } = pipelineSize(item);
  if (share > 1) {
    const message = `Item ${id} needs ${bytes} bytes and ${instructions} instructions, which do not fit one transaction.`;
    throw new FlywheelError({ code: 'ERR_FLYWHEEL_PIPELINE_TOO_BIG', message });
  }
  return { id, content: JSON.stringify(item), acceptedAtMs };
}

/** Writes a payload as text, which a bigint or a cycle in it prevents. */
function written(id: string, type: string, payload: CollectedItem['payload']): Pipeline {
  try {
    return pipeline(type, payload);
  } catch (cause) {
    const message = `cannot be written as JSON: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw invalid(`Item ${id}: payload ${message}`, [{ place: 'payload', message }]);
  }
}

/** Makes an item of what a source holds. @throws FlywheelError `ERR_INVALID_REQUEST` with the message of what `toItem` throws. */
export function readItem<Element>(element: Element, toItem: (element: Element) => CollectedItem): CollectedItem {
  try {
    return toItem(element);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new FlywheelError({ code: 'ERR_INVALID_REQUEST', message, cause });
  }
}

/** True for an error that names the item: it is refused again, however often it is collected. */
export function isRefusedItem(error: unknown): error is FlywheelError {
  return isFlywheelError(error) && REFUSALS.has(error.code);
}

const REFUSALS: ReadonlySet<FlywheelErrorCode> = new Set([
  'ERR_INVALID_REQUEST',
  'ERR_FLYWHEEL_PIPELINE_TOO_BIG',
  'ERR_ITEM_CHANGED',
]);

/** Reads an item's pipeline. Only this module writes a content. */
export function pipelineOf({ content }: Pick<NewItem, 'content'>): Pipeline {
  return JSON.parse(content);
}

/** Lists the recipients of an item's airdrops, each once. */
export function recipientsOf(item: Pick<NewItem, 'content'>): string[] {
  const { actions } = pipelineOf(item);
  return [...new Set(actions.flatMap((action) => (action.action === 'AIRDROP' ? [action.toAddress] : [])))];
}

/** @param mergedPayload of the pipeline that paid the item together with others. */
export function statusOf(item: StoredItem, mergedPayload: string | null = null): ItemStatus {
  const { id, state, batchKey, batchId, position, attempts, reason } = item;
  return {
    ...{ id, state, ...pipelineOf(item) },
    isInBatch: batchKey !== null,
    batchId,
    position: state === 'paid' ? position : null,
    mergedPayload,
    ...{ attempts, reason },
  };
}

function invalid(
  message: string,
  places: readonly { readonly place: string; readonly message: string }[] = [],
): FlywheelError {
  const code = 'ERR_INVALID_REQUEST';
  return new FlywheelError({ code, message, problems: places.map((each) => ({ code, ...each })) });
}
