import type { Action } from '@flywheel/api';
import { decimalOf, describeIssue, isJsonObject, messageOf, toBaseUnits } from '@flywheel/protocol';
import { FlywheelError } from '@flywheel/sdk';
import type { CollectedItem } from '@flywheel/sdk/collector';
import { decodeUtf8 } from '../../lines.ts';

const FIELDS = ['id', 'type', 'payload', 'actions'];

/**
 * Parses the JSON text of an event, in UTF-8, as far as the collector expects its shape: it checks the content.
 * @throws FlywheelError `ERR_INVALID_REQUEST`, with the place as `problems`.
 */
export function parseEvent(bytes: Uint8Array): CollectedItem {
  const value = parseJson(bytes);
  if (!isJsonObject(value))
    throw invalid('', 'It is not an object: {"id": …, "type": …, "payload": …, "actions": […]}.');
  const unknown = Object.keys(value).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) throw invalid(unknown, `${unknown} is not a field of an event: ${FIELDS.join(', ')}.`);
  const { id, type, payload, actions } = value;
  if (typeof id !== 'string') throw invalid('id', 'id is missing, or not text.');
  if (typeof type !== 'string') throw invalid('type', 'type is missing, or not text.');
  if (typeof payload !== 'string' && !isJsonObject(payload)) {
    throw invalid('payload', 'payload is missing, or neither an object nor text.');
  }
  requireExact(id, payload);
  if (!Array.isArray(actions) || !actions.every(isJsonObject)) {
    throw invalid('actions', 'actions is missing, or not a list of actions.');
  }
  requireNumbers(id, actions);
  // The collector parses each action with the schema of the service.
  return { id, type, payload, actions: actions as unknown as readonly Action[] };
}

/**
 * Requires that no number of a payload was rounded to an integer, or to infinity, when its JSON text was parsed: the proof would
 * hold another number, or null.
 */
function requireExact(id: string, payload: unknown): void {
  const left: (readonly [string, unknown])[] = [['payload', payload]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [place, value] = next;
    if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      throw invalid(
        place,
        `Item ${id}: ${place} is beyond ±${Number.MAX_SAFE_INTEGER}, and may be rounded: write it as text.`,
      );
    }
    if (typeof value !== 'object' || value === null) continue;
    left.push(...Object.entries(value).map(([name, each]) => [`${place}.${name}`, each] as const));
  }
}

/** Requires numbers as amounts, with the words of the service: text in their place is the common mistake. */
function requireNumbers(id: string, actions: readonly Readonly<Record<string, unknown>>[]): void {
  for (const [index, { action, amount }] of actions.entries()) {
    if ((action !== 'BURN' && action !== 'AIRDROP') || typeof amount === 'number') continue;
    const place = `actions[${index}].amount`;
    const problem = describeIssue({ code: 'invalid_type', message: '', expected: 'number', input: amount });
    throw invalid(place, `Item ${id}: ${place} ${problem}.`);
  }
}

/**
 * The base units that leave the vault for an event: what it burns and airdrops. Null for an amount that the token
 * cannot have.
 */
export function movedBaseUnits({ actions }: Pick<CollectedItem, 'actions'>, decimals: number): bigint | null {
  let sum = 0n;
  for (const action of actions) {
    if (action.action === 'MEMO') continue;
    const { amount } = action;
    const baseUnits = typeof amount === 'number' && amount > 0 ? toBaseUnits(decimalOf(amount), decimals) : null;
    if (baseUnits === null) return null;
    sum += baseUnits;
  }
  return sum;
}

function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch (cause) {
    throw invalid('', 'It is not UTF-8.', cause);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid('', `It is not JSON: ${messageOf(cause)}.`, cause);
  }
}

export function invalid(place: string, message: string, cause?: unknown): FlywheelError {
  const problems = place === '' ? [] : [{ place, code: 'ERR_INVALID_REQUEST', message }];
  return new FlywheelError({ code: 'ERR_INVALID_REQUEST', message, problems, cause });
}
