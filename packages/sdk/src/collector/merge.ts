import type { Pipeline } from '@flywheel/api';
import {
  decimalOf,
  MAX_MERGED_EVENTS,
  MAX_SIGNIFICANT_DIGITS,
  parseMergedPayload,
  proofHash,
  significantDigits,
  toBaseUnits,
  toDecimal,
  writeMergedPayload,
} from '@flywheel/protocol';
import { airdrop } from '../pipelines.ts';
import { type ItemStatus, pipelineOf, statusOf } from './item.ts';
import type { CollectorStore, StoredItem } from './store.ts';

/**
 * Returns the pipelines of a batch. Items of one position share a pipeline: one airdrop of their sum, with a merged payload.
 * @param items those of a batch, in the order of their positions.
 */
export function pipelinesOf(items: readonly StoredItem[]): Pipeline[] {
  return [...groupByPosition(items).values()].map((group) => {
    const [first, ...others] = group.map(pipelineOf);
    if (!first) throw new Error('A position of a batch has no item.');
    return others.length === 0 ? first : merge([first, ...others]);
  });
}

/** Groups items by their position, in the order of the positions. */
export function groupByPosition(items: readonly StoredItem[]): Map<number, StoredItem[]> {
  return groupBy(items, ({ id, position }) => {
    if (position === null) throw new Error(`Item ${id} is in a batch and has no position there.`);
    return position;
  });
}

/** Groups like `Map.groupBy`, which Node 20 does not have. */
function groupBy<Key>(items: readonly StoredItem[], keyOf: (item: StoredItem) => Key): Map<Key, StoredItem[]> {
  const groups = new Map<Key, StoredItem[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

function merge(pipelines: readonly [Pipeline, ...Pipeline[]]): Pipeline {
  const [{ type, actions }] = pipelines;
  const [first] = actions;
  if (first?.action !== 'AIRDROP') throw new Error('Only airdrops are merged.');
  const payload = writeMergedPayload(
    type,
    pipelines.map((each) => each.payload),
  );
  const amounts = pipelines.flatMap((each) => each.actions.flatMap(amountOf));
  return { type, payload, actions: [airdrop(first.toAddress, amounts.reduce(addDecimals))] };
}

interface Group {
  readonly position: number;
  readonly hashes: Set<string>;
  amount: string;
}

/**
 * Assigns items to the pipelines of a new batch. An item that is one airdrop shares its pipeline with others of the same type
 * and recipient, unless it was in a batch before: what was refused or has failed together is tried alone.
 * @returns the position of each item, in the order of the argument.
 */
export function assignPositions(items: readonly StoredItem[], mergesAirdrops: boolean): number[] {
  const groups = new Map<string, Group>();
  let next = 0;
  return items.map((item) => {
    const { type, payload, actions } = pipelineOf(item);
    const [action, ...others] = actions;
    const isAlone = action?.action !== 'AIRDROP' || others.length > 0 || item.attempts > 0;
    if (!mergesAirdrops || isAlone || parseMergedPayload(payload) !== null) {
      next += 1;
      return next - 1;
    }
    const key = `${type} ${action.toAddress}`;
    const group = groups.get(key);
    const hash = proofHash({ type, payload });
    const amount = decimalOf(action.amount);
    const sum = group ? addDecimals(group.amount, amount) : amount;
    const fits =
      group !== undefined &&
      !group.hashes.has(hash) &&
      group.hashes.size < MAX_MERGED_EVENTS &&
      significantDigits(sum) <= MAX_SIGNIFICANT_DIGITS;
    if (fits) {
      group.hashes.add(hash);
      group.amount = sum;
      return group.position;
    }
    groups.set(key, { position: next, hashes: new Set([hash]), amount });
    next += 1;
    return next - 1;
  });
}

/** Reads what has become of items, with the merged payload of each that was paid together with others. */
export async function readStatuses(
  store: Pick<CollectorStore, 'read'>,
  items: readonly StoredItem[],
): Promise<ItemStatus[]> {
  const places = items.flatMap(({ state, batchId, position }) =>
    state === 'paid' && batchId !== null && position !== null ? [{ batchId, position }] : [],
  );
  const paid = places.length === 0 ? [] : await store.read({ paidBy: places });
  const payloads = new Map<string, string>();
  for (const [place, group] of groupBy(paid, ({ batchId, position }) => `${batchId} ${position}`)) {
    const [pipeline] = group.length > 1 ? pipelinesOf(group) : [];
    if (pipeline) payloads.set(place, pipeline.payload);
  }
  return items.map((item) => statusOf(item, payloads.get(`${item.batchId} ${item.position}`) ?? null));
}

function amountOf(action: Pipeline['actions'][number]): string[] {
  return action.action === 'AIRDROP' ? [decimalOf(action.amount)] : [];
}

function addDecimals(a: string, b: string): string {
  const scale = Math.max(...[a, b].map((text) => text.split('.')[1]?.length ?? 0));
  const [x, y] = [a, b].map((text) => toBaseUnits(text, scale) ?? 0n);
  return toDecimal((x ?? 0n) + (y ?? 0n), scale);
}
