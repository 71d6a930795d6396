import type { Action, Pipeline } from '@flywheel/api';
import { pipelineSize, type SizeToken } from './pipeline-size.ts';

/** Items whose actions go into one pipeline together. */
export interface PackOptions<Item> {
  readonly type: string;
  readonly actionsOf: (item: Item) => readonly Action[];
  /** What a pipeline of these items proves; the same items always come together in the same way. */
  readonly payloadOf: (items: readonly Item[]) => string | object;
  readonly token?: SizeToken;
}

/**
 * Items to as few pipelines as hold their actions, in order; an item is never divided.
 * @throws RangeError when one item alone is too big for a transaction.
 *
 * @example
 * packActions(rows, { type: 'SEASON_1', actionsOf: (row) => [airdrop(row.wallet, row.amount)], payloadOf: (rows) => ({ rows }) });
 */
export function packActions<Item>(
  items: readonly Item[],
  { type, actionsOf, payloadOf, token }: PackOptions<Item>,
): Pipeline[] {
  const groups: { readonly items: Item[]; readonly actions: Action[] }[] = [];
  const shareOf = (actions: readonly Action[]) => pipelineSize({ type, actions: [...actions] }, token).share;
  for (const [position, item] of items.entries()) {
    const actions = actionsOf(item);
    const last = groups.at(-1);
    if (last && shareOf([...last.actions, ...actions]) <= 1) {
      last.items.push(item);
      last.actions.push(...actions);
      continue;
    }
    if (shareOf(actions) > 1) {
      throw new RangeError(`Item ${position} has ${actions.length} actions, which do not fit one transaction.`);
    }
    groups.push({ items: [item], actions: [...actions] });
  }
  return groups.map((group) => {
    const payload = payloadOf(group.items);
    return { type, payload: typeof payload === 'string' ? payload : JSON.stringify(payload), actions: group.actions };
  });
}
