import { createHash } from 'node:crypto';

/** A strong entity tag (RFC 9110, 8.8.3): a hash of these bytes. */
export function entityTag(bytes: Buffer | string): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
}

/**
 * Checks whether an If-None-Match header names a tag, which `*` does. It compares weakly (RFC 9110, 8.8.3.2 and 13.1.2),
 * because proxies that compress responses weaken their tags.
 */
export function matchesTag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(',').some((entry) => ['*', etag].includes(entry.trim().replace(/^W\//, '')));
}
