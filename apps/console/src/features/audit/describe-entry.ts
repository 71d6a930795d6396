import { type AuditAction, type AuditEntry, isUuid } from '@flywheel/api';
import { groupDigits, isPlainDecimal, shorten } from '@flywheel/protocol';
import { APPROVAL_MODE_NAMES, amountWithUnit, TERMS_NAMES } from '../../lib/format.ts';

/** A changed value as text; null for none. */
export interface ShownChange {
  readonly name: string;
  readonly before: string | null;
  readonly after: string | null;
}

export interface ShownEntry {
  readonly title: string;
  readonly changes: readonly ShownChange[];
}

/** Describes an entry of the audit log: a title and the values that changed. Times stay ISO 8601, for `MessageText`. */
export function describeEntry({ action, before, after }: Pick<AuditEntry, 'action' | 'before' | 'after'>): ShownEntry {
  const [old, current] = [toRecord(before), toRecord(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(current)])];
  const labels = { ...LABELS, ...LABELS_OF[action] };
  const changes = names
    .map((name) => ({
      name: labels[name] ?? name,
      before: formatField(name, old[name]),
      after: formatField(name, current[name]),
    }))
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
  'approval-mode.changed': 'Changed the company approval',
  'terms.changed': 'Changed what the company approves by itself',
  'policy.changed': 'Changed the rules of the project',
  'batch.initialized': 'Created a batch',
  'withdrawal.requested': 'Requested a withdrawal',
  'rotation.requested': 'Requested a change of the multisig’s members',
  'operator.recovered': 'The recovery key took over from a lost operator',
  'batch.executed': 'Approved a batch with the wallet',
  'batch.cancelled': 'Cancelled a batch',
  'batch.approved': 'Approved a batch for the company',
  'batch.rejected': 'Rejected a batch for the company',
  'project.admitted': 'Admitted the project',
  'project.admission-withdrawn': 'Withdrew the admission of the project',
  'project.paused': 'Paused the project',
  'project.resumed': 'Resumed the project',
  'company.paused': 'Paused every project',
  'company.resumed': 'Resumed every project',
  'job.retried': 'Retried a job',
  'webhook.created': 'Created a webhook',
  'webhook.changed': 'Changed a webhook',
  'webhook.rotated': 'Replaced a webhook’s secret',
  'webhook.deleted': 'Deleted a webhook',
  'webhook.redelivered': 'Redelivered an event',
  'webhook.tested': 'Sent a test event',
};

const LABELS: Readonly<Record<string, string>> = {
  burnLimit: 'Daily burn limit',
  airdropLimit: 'Daily airdrop limit',
  version: 'Version',
  changes: 'Changes',
  proofTypes: 'Proof types',
  approvalMode: 'Company approval',
  scopes: 'Scopes',
  expiresAt: 'Expires',
  name: 'Name',
  keyId: 'Key',
  new: 'New key',
  replacedBy: 'Replaced by',
  prefix: 'Prefix',
  isPaused: 'Paused',
  since: 'Paused since',
  reason: 'Reason',
  mint: 'Mint',
  mintAddress: 'Mint',
  multisig: 'Multisig',
  vaultAddress: 'Vault',
  overlapSeconds: 'Overlap in seconds',
  lamports: 'Lamports',
  url: 'URL',
  events: 'Events',
  state: 'Status',
  previousSecretUntil: 'Old secret valid until',
  eventId: 'Event',
  to: 'To',
  asset: 'Asset',
  amount: 'Amount',
};

/** In these entries the amounts are what the company approves in a day by itself, not the limits of the project. */
const LABELS_OF: { readonly [Action in AuditAction]?: Readonly<Record<string, string>> } = {
  'terms.changed': TERMS_NAMES,
  'project.admitted': TERMS_NAMES,
};

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return { ...value };
  return { value };
}

/** Fields that are amounts of the project’s token. */
const TOKEN_FIELDS: ReadonlySet<string> = new Set(['burnLimit', 'airdropLimit']);

/** Formats a field of an entry; what has its own words or its own unit is known by its name. */
function formatField(name: string, value: unknown): string | null {
  if (name === 'proofTypes' && Array.isArray(value) && value.length === 0) return 'Any';
  if (typeof value !== 'string') return formatValue(value);
  if (TOKEN_FIELDS.has(name)) return amountWithUnit(value, 'tokens');
  return (name === 'approvalMode' ? MODES.get(value) : undefined) ?? formatValue(value);
}

const MODES: ReadonlyMap<string, string> = new Map(Object.entries(APPROVAL_MODE_NAMES));

function formatValue(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map((item) => formatItem(item)).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'object') return formatObject(value);
  const text = String(value);
  if (isUuid(text)) return shorten(text);
  return isPlainDecimal(text) ? groupDigits(text) : text;
}

function formatObject(value: object): string {
  return Object.entries(value)
    .map(([name, part]) => [LABELS[name] ?? name, formatValue(part)] as const)
    .filter(([, text]) => text !== null)
    .map(([name, text]) => `${name}: ${text}`)
    .join('; ');
}

/** Formats a proof type by its name and its schema; other items as values. */
function formatItem(item: unknown): string {
  if (typeof item !== 'object' || item === null || !('type' in item)) return formatValue(item) ?? 'none';
  return 'payloadSchema' in item
    ? `${String(item.type)} (schema ${formatSchema(item.payloadSchema)})`
    : String(item.type);
}

/** Shows enough of a schema that a change under the same name is visible. */
function formatSchema(schema: unknown): string {
  const text = JSON.stringify(schema);
  const MAX_CHARACTERS = 120;
  return text.length <= MAX_CHARACTERS ? text : `${text.slice(0, MAX_CHARACTERS)}… of ${text.length} characters`;
}
