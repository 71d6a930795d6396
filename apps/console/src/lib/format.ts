/** Longer than any well-known symbol, short enough for a column. */
const MAX_SYMBOL_CHARACTERS = 12;

/** What to call a token: its symbol, else its mint. */
export function tokenName({ symbol, mint }: NamedToken): string {
  return plainSymbol(symbol) ?? shorten(mint);
}

/** What amounts of a token are counted in: its symbol, else `tokens`. */
export function tokenUnit({ symbol }: Pick<NamedToken, 'symbol'>): string {
  return plainSymbol(symbol) ?? 'tokens';
}

interface NamedToken {
  readonly symbol?: string | undefined;
  readonly mint: string;
}

/** A symbol is whatever its creator wrote: letters, digits and plain signs alone cannot look like a part of the page. */
function plainSymbol(symbol: string | undefined): string | null {
  const plain = [...(symbol ?? '')].filter((character) => /[\p{L}\p{N}$._-]/u.test(character));
  return plain.length === 0 ? null : plain.slice(0, MAX_SYMBOL_CHARACTERS).join('');
}

/** `1 batch`, `2 batches`: a number with its noun. */
export function pluralize(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}

/** `7Fq2…9dKe`; short texts stay whole. */
export function shorten(text: string): string {
  return text.length <= 12 ? text : `${text.slice(0, 4)}…${text.slice(-4)}`;
}
