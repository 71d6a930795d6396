import { shorten } from './shorten.ts';

/** Longer than any well-known symbol, short enough for a column. */
const MAX_SYMBOL_CHARACTERS = 12;

/**
 * What to call a token: its symbol as far as it is letters, digits and plain signs, else its mint. The symbol is
 * whatever its creator wrote, so it must not be able to look like a part of the page.
 */
export function tokenName({ symbol, mint }: { readonly symbol?: string | undefined; readonly mint: string }): string {
  const plain = [...(symbol ?? '')].filter((character) => /[\p{L}\p{N}$._-]/u.test(character));
  return plain.length === 0 ? shorten(mint) : plain.slice(0, MAX_SYMBOL_CHARACTERS).join('');
}
