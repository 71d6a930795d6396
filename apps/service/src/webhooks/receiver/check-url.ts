import { isIP } from 'node:net';
import { isAllowedAddress, type ReceiverRules } from './allowed-address.ts';

/** Length that every browser and server accepts. */
export const MAX_URL_CHARACTERS = 2_048;

/**
 * Returns the issue with a receiver’s URL, as a sentence that continues its path; null if it is valid. A name may still
 * resolve to a forbidden address; that is checked when the connection is made.
 */
export function findUrlFault(text: string, rules: ReceiverRules): string | null {
  if (text.length > MAX_URL_CHARACTERS) return `has ${text.length} characters; it may have ${MAX_URL_CHARACTERS}.`;
  if (!URL.canParse(text)) return 'is no URL, e.g. https://example.com/flywheel.';
  const { protocol, username, password, hostname, hash } = new URL(text);
  const protocols = rules.allowPrivate ? ['https:', 'http:'] : ['https:'];
  if (!protocols.includes(protocol)) {
    return `begins with ${protocol}//; it must begin with ${protocols.map((each) => `${each}//`).join(' or ')}.`;
  }
  if (username !== '' || password !== '') return 'holds a user or password; deliveries are signed instead.';
  if (hash !== '') return 'holds a fragment, which is never sent.';
  const address = literalOf(hostname);
  if (address !== null && !isAllowedAddress(address, rules)) {
    return `names ${address}, which is no public address.`;
  }
  return null;
}

/** The address that a URL names without the help of DNS; null for a name. */
export function literalOf(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}
