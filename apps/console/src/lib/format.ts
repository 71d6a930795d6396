import { shorten } from '@flywheel/protocol';

/** Longer than any well-known symbol, and short enough for a column. */
const MAX_SYMBOL_CHARACTERS = 12;

/** Display name of a token: its symbol, or its shortened mint. */
export function tokenName({ symbol, mint }: NamedToken): string {
  return plainSymbol(symbol) ?? shorten(mint);
}

/** Unit of a token’s amounts: its symbol, or `tokens`. */
export function tokenUnit({ symbol }: Pick<NamedToken, 'symbol'>): string {
  return plainSymbol(symbol) ?? 'tokens';
}

interface NamedToken {
  readonly symbol?: string | undefined;
  readonly mint: string;
}

/** Keeps letters, digits and plain signs of a symbol. Its creator chose it freely, and it must not imitate the page. */
function plainSymbol(symbol: string | undefined): string | null {
  const plain = [...(symbol ?? '')].filter((character) => /[\p{L}\p{N}$._-]/u.test(character));
  return plain.length === 0 ? null : plain.slice(0, MAX_SYMBOL_CHARACTERS).join('');
}

const SIGNATURE = /^[1-9A-HJ-NP-Za-km-z]{64,88}$/;
const ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** Tells a signature (64 bytes in base58) from an address (32) by its length; null for any other text. */
export function base58Kind(text: string): 'signature' | 'address' | null {
  if (SIGNATURE.test(text)) return 'signature';
  return ADDRESS.test(text) ? 'address' : null;
}
