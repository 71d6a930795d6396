/** Name of the query parameter by which `/audit/{vault}` says which node its page may read. */
export const AUDIT_NODE_PARAMETER = 'rpc';

/**
 * Reads the origin of a Solana node from a text that anyone may have written, for a Content-Security-Policy: exactly as
 * browsers write an origin, `https://rpc.example` or `https://rpc.example:8899`. Plain `http` is for nodes on the reader's
 * own machine. Null for anything else, among it paths, users, wildcards, spaces, and hosts that are IPv6 addresses, which a
 * policy cannot name.
 */
export function parseNodeOrigin(text: string): string | null {
  if (text.length > MAX_ORIGIN_CHARACTERS || !NODE_ORIGIN.test(text) || !URL.canParse(text)) return null;
  return new URL(text).origin === text ? text : null;
}

/** 253 characters of a host name (RFC 1035), a scheme and a port. */
const MAX_ORIGIN_CHARACTERS = 267;
const LABEL = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?';
const NODE_ORIGIN = new RegExp(
  `^(?:https://${LABEL}(?:\\.${LABEL})*|http://(?:localhost|127\\.0\\.0\\.1))(?::[0-9]{1,5})?$`,
);
