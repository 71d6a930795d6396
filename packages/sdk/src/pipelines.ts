import type { Action, Pipeline } from '@flywheel/api';
import { decimalOf, findDigitsIssue, isReservedMemo, MAX_DECIMALS, toBaseUnits, toDecimal } from '@flywheel/protocol';
import { pipelineSize, type SizeToken } from './pipeline-size.ts';

/** Whole tokens: a number, or decimal text of at most 15 significant digits, which a JSON number carries exactly. */
export type TokenAmount = number | string;

/** Creates an action that burns tokens of the vault. @throws RangeError if the amount is not positive or not exact. */
export function burn(amount: TokenAmount): Extract<Action, { action: 'BURN' }> {
  return { action: 'BURN', amount: exactNumber(amount) };
}

/**
 * Creates an action that sends tokens of the vault to a wallet. Its token account is created if it is missing.
 * @throws RangeError if the amount is not positive or not exact.
 */
export function airdrop(toAddress: string, amount: TokenAmount): Extract<Action, { action: 'AIRDROP' }> {
  return { action: 'AIRDROP', toAddress, amount: exactNumber(amount) };
}

/**
 * Creates an action that writes a text on chain, signed by the vault.
 * @throws RangeError if the text begins with `flywheel:`, which is reserved for proof memos.
 */
export function memo(message: string): Extract<Action, { action: 'MEMO' }> {
  if (isReservedMemo(message)) throw new RangeError('A memo may not begin with "flywheel:", as proof memos do.');
  return { action: 'MEMO', message };
}

/**
 * Creates a pipeline: what happened, and the actions for it. The proof is of the payload's exact text, so keep what you
 * send. An object is written with `JSON.stringify`.
 *
 * @example
 * pipeline('WATCH_AD', { adId: 'ad-7731', userId: 'u-48211' }, burn(0.25), airdrop(wallet, '1.5'));
 */
export function pipeline(type: string, payload: string | object, ...actions: readonly Action[]): Pipeline {
  return { type, payload: textOf(payload), actions: [...actions] };
}

/** How `packActions` turns items into pipelines. */
export interface PackOptions<Item> {
  /** Type of every pipeline. */
  readonly type: string;
  /** Actions of one item; they stay in one pipeline. */
  readonly actionsOf: (item: Item) => readonly Action[];
  /** Payload of a pipeline with these items. Equal items are always packed in the same way. */
  readonly payloadOf: (items: readonly Item[]) => string | object;
  readonly token?: SizeToken;
}

/**
 * Packs items into as few pipelines as hold their actions, in order. An item is never divided.
 * @throws RangeError if one item alone is too big for a transaction.
 *
 * @example
 * const actionsOf = (row) => [airdrop(row.wallet, row.amount)];
 * packActions(rows, { type: 'SEASON_1', actionsOf, payloadOf: (rows) => ({ rows }) });
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
  return groups.map(({ items, actions }) => ({ type, payload: textOf(payloadOf(items)), actions }));
}

/** Whole tokens, plain decimal text. */
export interface TokenTotals {
  readonly burned: string;
  readonly airdropped: string;
  readonly total: string;
}

/** Any action of a batch; withdrawals and rotations are not counted. */
interface CountedAction {
  readonly action: string;
  readonly amount?: unknown;
}

/**
 * Adds up what pipelines burn and airdrop; exact.
 * @throws RangeError for a number that is not an amount of any token.
 *
 * @example
 * totalTokens([pipeline('SALE', { order: 1 }, burn(0.1), airdrop(customer, 0.2))]).total; // '0.3'
 */
export function totalTokens(pipelines: readonly { readonly actions: readonly CountedAction[] }[]): TokenTotals {
  const actions = pipelines.flatMap((each) => each.actions);
  const sum = (name: Action['action']) =>
    actions
      .flatMap(({ action, amount }) => (action === name && typeof amount === 'number' ? [amount] : []))
      .reduce((total, amount) => total + toFinestUnits(amount), 0n);
  const [burned, airdropped] = [sum('BURN'), sum('AIRDROP')];
  const write = (units: bigint) => toDecimal(units, MAX_DECIMALS);
  return { burned: write(burned), airdropped: write(airdropped), total: write(burned + airdropped) };
}

function toFinestUnits(amount: number): bigint {
  const units = toBaseUnits(decimalOf(amount), MAX_DECIMALS);
  if (units === null) throw new RangeError(`${amount} is not an amount of any token.`);
  return units;
}

function textOf(payload: string | object): string {
  return typeof payload === 'string' ? payload : JSON.stringify(payload);
}

function exactNumber(amount: TokenAmount): number {
  const value = Number(amount);
  const text = typeof amount === 'string' ? amount : decimalOf(amount);
  // The text is read with its own number of decimals, because only its grammar matters here. A negative number gets the
  // sentence about zero.
  if (toBaseUnits(text.replace('-', ''), text.length) === null)
    throw new RangeError(`“${text}” is not a plain decimal number of tokens.`);
  if (!(value > 0 && Number.isFinite(value))) {
    throw new RangeError(`${amount} tokens: an amount must be greater than zero.`);
  }
  const issue = findDigitsIssue(text);
  if (issue !== null) throw new RangeError(`${text} ${issue}`);
  return value;
}
