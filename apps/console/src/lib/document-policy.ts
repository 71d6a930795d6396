import { AUDIT_NODE_PARAMETER } from '@flywheel/api';

/**
 * Names the policy with which the service answers an address (apps/service/src/http/site.ts): one for all screens, and one for
 * the audit of a vault by each node.
 */
function policyOf(address: string): string {
  const { pathname, searchParams } = new URL(address, location.origin);
  return pathname.startsWith('/audit/') ? `audit ${searchParams.get(AUDIT_NODE_PARAMETER) ?? ''}` : 'console';
}

/** A document keeps the policy of the address at which it was loaded. */
const policy = policyOf(location.href);

/** True if this document may call no operation of the service that reads a session. */
export const isAuditDocument = policy !== 'console';

/** True for an address whose policy differs from this document's: a document must be loaded for it. */
export function needsNewDocument(address: string): boolean {
  return policyOf(address) !== policy;
}
