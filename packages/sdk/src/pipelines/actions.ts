import type { Action, Pipeline } from '@flywheel/api';
import { decimalOf } from '../amounts.ts';

/** Whole tokens: a number, or decimal text of at most 15 significant digits, which is what a JSON number carries exactly. */
export type TokenAmount = number | string;

/** Destroys tokens of the vault. @throws RangeError when the amount is not positive or not exact. */
export function burn(amount: TokenAmount): Extract<Action, { action: 'BURN' }> {
  return { action: 'BURN', amount: exactNumber(amount) };
}

/**
 * Sends tokens of the vault to a wallet, creating its token account where there is none.
 * @throws RangeError when the amount is not positive or not exact.
 */
export function airdrop(toAddress: string, amount: TokenAmount): Extract<Action, { action: 'AIRDROP' }> {
  return { action: 'AIRDROP', toAddress, amount: exactNumber(amount) };
}

/** Writes a text on chain, signed by the vault. */
export function memo(message: string): Extract<Action, { action: 'MEMO' }> {
  return { action: 'MEMO', message };
}

/**
 * A pipeline: what happened, and what is done for it. The proof is of the payload’s exact text, so keep what you send:
 * an object is written by JSON.stringify.
 *
 * @example
 * pipeline('WATCH_AD', { adId: 'ad-7731', userId: 'u-48211' }, burn(0.25), airdrop(wallet, '1.5'));
 */
export function pipeline(type: string, payload: string | object, ...actions: readonly Action[]): Pipeline {
  return { type, payload: typeof payload === 'string' ? payload : JSON.stringify(payload), actions: [...actions] };
}

/** Up to here a double’s shortest form is the text’s own value (IEEE 754, DBL_DIG). */
const MAX_SIGNIFICANT_DIGITS = 15;

function exactNumber(amount: TokenAmount): number {
  const value = Number(amount);
  if (!(value > 0 && Number.isFinite(value))) throw new RangeError(`${amount} tokens: an amount is greater than zero.`);
  const text = typeof amount === 'string' ? amount : decimalOf(amount);
  if (!/^\d+(\.\d+)?$/.test(text)) throw new RangeError(`“${text}” is no plain decimal number of tokens.`);
  const digits = text.replace('.', '').replace(/^0+|0+$/g, '').length;
  if (digits <= MAX_SIGNIFICANT_DIGITS) return value;
  throw new RangeError(`${text} has ${digits} significant digits; an amount has at most ${MAX_SIGNIFICANT_DIGITS}.`);
}
