import type { AuditAction, AuditEntry } from '@flywheel/api';
import { groupDigits } from '../../lib/amounts.ts';
import { shorten } from '../../lib/format.ts';

/** One value that was changed, as people read it; null for none. */
export interface ShownChange {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

export interface ShownEntry {
  /** What was done, in a few words. */
  readonly title: string;
  readonly changes: readonly ShownChange[];
}

/** An entry of the audit log in words: what was done, and what is different since. Times stay ISO 8601, for Prose. */
export function describeEntry({ action, before, after }: Pick<AuditEntry, 'action' | 'before' | 'after'>): ShownEntry {
  const [was, is] = [recordOf(before), recordOf(after)];
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  const changes = names
    .map((name) => ({ name: NAMES[name] ?? name, before: wordsOf(was[name]), after: wordsOf(is[name]) }))
    .filter((change) => change.before !== change.after);
  return { title: TITLES[action], changes };
}

const TITLES: { readonly [Action in AuditAction]: string } = {
  'project.registered': 'Registered the project',
  'key.created': 'Created a key',
  'key.rotated': 'Rotated a key',
  'key.revoked': 'Revoked a key',
  'limits.changed': 'Changed the daily limits',
  'proof-types.changed': 'Changed the proof types',
  'approval-mode.changed': 'Changed how the company approves',
  'batch.initialized': 'Composed a batch',
  'withdrawal.requested': 'Asked for a withdrawal',
  'rotation.requested': 'Asked for the multisig’s members to be replaced',
  'batch.executed': 'Approved a batch with the wallet',
  'batch.cancelled': 'Cancelled a batch',
  'batch.approved': 'Approved a batch for the company',
  'batch.rejected': 'Rejected a batch for the company',
  'project.paused': 'Paused the project',
  'project.resumed': 'Let the project go on',
  'company.paused': 'Paused every project',
  'company.resumed': 'Let every project go on',
  'job.retried': 'Had a job begin at once',
  'webhook.created': 'Created a webhook',
  'webhook.changed': 'Changed a webhook',
  'webhook.rotated': 'Replaced a webhook’s secret',
  'webhook.deleted': 'Deleted a webhook',
  'webhook.redelivered': 'Had an event delivered again',
  'webhook.tested': 'Sent a test event',
};

const NAMES: Readonly<Record<string, string>> = {
  burnLimit: 'Burned a day, at most',
  airdropLimit: 'Airdropped a day, at most',
  proofTypes: 'Proof types',
  approvalMode: 'Company approval',
  scopes: 'May',
  expiresAt: 'Expires',
  name: 'Name',
  keyId: 'Key',
  new: 'The new key',
  replacedBy: 'Replaced by',
  prefix: 'Begins with',
  isPaused: 'Paused',
  since: 'Paused since',
  reason: 'Reason',
  mint: 'Mint',
  mintAddress: 'Mint',
  multisig: 'Multisig',
  vaultAddress: 'Vault',
  overlapSeconds: 'Overlap, seconds',
  lamports: 'Lamports',
  url: 'Address',
  events: 'Told of',
  state: 'State',
  previousSecretUntil: 'The old secret signs until',
  eventId: 'Event',
};

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return { ...value };
  return { value };
}

const AMOUNT = /^\d+(\.\d+)?$/;
const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

function wordsOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map((item) => nameOf(item)).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'object') return partsOf(value);
  const text = String(value);
  if (ID.test(text)) return shorten(text);
  return AMOUNT.test(text) ? groupDigits(text) : text;
}

function partsOf(value: object): string {
  return Object.entries(value)
    .map(([name, part]) => [NAMES[name] ?? name, wordsOf(part)] as const)
    .filter(([, words]) => words !== null)
    .map(([name, words]) => `${name}: ${words}`)
    .join('; ');
}

/** A proof type goes by its name, and by whether payloads are held to a schema. */
function nameOf(item: unknown): string {
  if (typeof item !== 'object' || item === null || !('type' in item)) return wordsOf(item) ?? 'none';
  return 'payloadSchema' in item ? `${String(item.type)} (schema ${briefly(item.payloadSchema)})` : String(item.type);
}

/** A schema that was changed under the same name must be seen to have been. */
function briefly(schema: unknown): string {
  const text = JSON.stringify(schema);
  const MAX_CHARACTERS = 120;
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}… of ${text.length} characters`;
}
