import { groupDigits } from './amounts.ts';

/** Formats a count with its noun: `1 batch`, `2 batches`, `1,000 pipelines`. */
export function pluralize(count: number, singular: string, plural = `${singular}s`): string {
  return `${groupDigits(String(count))} ${count === 1 ? singular : plural}`;
}

/** Returns the message of an error, or the text of something else that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Shortens an address, signature or id to `7Fq2…9dKe`; texts of up to 12 characters stay whole. */
export function shorten(text: string): string {
  return text.length <= 12 ? text : `${text.slice(0, 4)}…${text.slice(-4)}`;
}

/** Cuts a text to a number of characters; `…` is the last one of a text that was longer. */
export function truncate(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : `${text.slice(0, Math.max(maxCharacters - 1, 0))}…`;
}

/**
 * Replaces the characters of a foreign text that could hide a part of a line, begin another one, turn its direction, or move a
 * terminal's cursor. Characters that are newer than this Unicode stay: some are emoji that readers know.
 */
export function visibleText(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}

/** Longer than any well-known symbol, and short enough for a column. */
const MAX_SYMBOL_CHARACTERS = 12;

/**
 * Keeps letters, digits and plain signs of a token’s symbol, at most 12. Its creator chose it freely, and it must not imitate
 * what a page says. Null if nothing is left.
 */
export function plainSymbol(symbol: string | undefined): string | null {
  const plain = [...(symbol ?? '')].filter((character) => /[\p{L}\p{N}$._-]/u.test(character));
  return plain.length === 0 ? null : plain.slice(0, MAX_SYMBOL_CHARACTERS).join('');
}

/** Says what the holder of a mint’s freeze authority can do to a project, in two sentences. */
export function describeFreezeRisk(freezeAuthority: string): string {
  return `The token’s freeze authority, ${freezeAuthority}, can freeze the vault. Then an approved batch cannot go on, and the SOL that is locked for it stays locked until the project’s wallet casts a cancel vote.`;
}
