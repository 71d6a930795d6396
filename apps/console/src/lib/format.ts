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

/** Formats a number with its noun: `1 batch`, `2 batches`. */
export function pluralize(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}

/** Shortens an address or id to `7Fq2…9dKe`; texts of up to 12 characters stay whole. */
export function shorten(text: string): string {
  return text.length <= 12 ? text : `${text.slice(0, 4)}…${text.slice(-4)}`;
}
