import { groupDigits, plainSymbol, shorten } from '@flywheel/protocol';

/** Display name of a token: its symbol, or its shortened mint. */
export function tokenName({ symbol, mint }: NamedToken): string {
  return plainSymbol(symbol) ?? shorten(mint);
}

/** Unit of a token’s amounts: its symbol, or `tokens`. */
export function tokenUnit({ symbol }: Pick<NamedToken, 'symbol'>): string {
  return plainSymbol(symbol) ?? 'tokens';
}

/** Unit beside an amount, which is decimal text: `1 token`, `2 tokens`. Symbols have no plural. */
export function unitBeside(amount: string, unit: string): string {
  return amount === '1' && unit === 'tokens' ? 'token' : unit;
}

/** An amount, which is decimal text, as text with its unit: `1 token`, `1,234.5 tokens`. */
export function amountWithUnit(amount: string, unit: string): string {
  return `${groupDigits(amount)} ${unitBeside(amount, unit)}`;
}

/** How the company approves the batches of a project. */
export const APPROVAL_MODE_NAMES = { automatic: 'Automatic', manual: 'Manual' } as const;

/** The amounts that the company approves by itself, as they are named where they are changed and in the history. */
export const TERMS_NAMES = {
  burnLimit: 'Burned per day without approval by a person',
  airdropLimit: 'Airdropped per day without approval by a person',
} as const;

interface NamedToken {
  readonly symbol?: string | undefined;
  readonly mint: string;
}

const BASE58 = /^[1-9A-HJ-NP-Za-km-z]{32,88}$/;
const MAX_ADDRESS_CHARACTERS = 44;
const MIN_SIGNATURE_CHARACTERS = 64;

/**
 * Tells a signature (64 bytes in base58) from an address (32) by its length; null for any other text. It decodes nothing: that
 * would bring 16 kB to the first page.
 */
export function base58Kind(text: string): 'signature' | 'address' | null {
  if (!BASE58.test(text)) return null;
  if (text.length >= MIN_SIGNATURE_CHARACTERS) return 'signature';
  return text.length <= MAX_ADDRESS_CHARACTERS ? 'address' : null;
}
