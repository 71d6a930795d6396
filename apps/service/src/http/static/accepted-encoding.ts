import type { ContentEncoding } from './read-site.ts';

/** The smallest first. */
const PREFERRED: readonly ContentEncoding[] = ['br', 'gzip'];

/** The encoding to answer in, of those there are, by an Accept-Encoding header (RFC 9110, 12.5.3). */
export function acceptedEncoding(
  header: string | undefined,
  available: Readonly<Partial<Record<ContentEncoding, unknown>>>,
): ContentEncoding {
  const accepted = new Set((header ?? '').split(',').filter(isWanted).map(nameOf));
  return PREFERRED.find((encoding) => available[encoding] !== undefined && accepted.has(encoding)) ?? 'identity';
}

/** `br;q=0` says: anything but that. */
function isWanted(entry: string): boolean {
  return !/;\s*q=0(\.0*)?\s*$/i.test(entry);
}

function nameOf(entry: string): string {
  return (entry.split(';', 1)[0] ?? '').trim().toLowerCase();
}
