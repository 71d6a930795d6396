/** Audits that this browser keeps, so that one that was cancelled goes on, in IndexedDB. One for each vault and node. */

import {
  type AuditQuery,
  type AuditRecord,
  type AuditReport,
  type AuditState,
  parseAuditState,
  stringifyAuditState,
} from '@flywheel/sdk';
import type { ListedFindings } from '@flywheel/sdk/audit-findings';
import { openDatabase, resultOf } from '../../lib/indexed-db.ts';

export interface AuditKey {
  readonly vault: string;
  /** Origin of the node that is read. */
  readonly node: string;
}

export interface SavedAudit extends AuditKey {
  readonly query: AuditQuery;
  /** The state from which the audit continues; null before its first slot. */
  readonly state: AuditState | null;
  /** null until the audit has ended. */
  readonly report: AuditReport | null;
  /** Number of parts in which its findings are stored. */
  readonly parts: number;
  /** ISO 8601. */
  readonly savedAt: string;
  /** Different after each save, so that two tabs notice each other. */
  readonly stamp: string;
}

/** The findings of an audit. */
export interface EndedAudit {
  readonly report: AuditReport;
  readonly listed: ListedFindings;
}

/** Reads the audit of a vault by a node; null if there is none that this release knows. */
export async function readAudit({ vault, node }: AuditKey): Promise<SavedAudit | null> {
  const found = await resultOf((await openStore(AUDITS)).get([vault, node]));
  return found === undefined ? null : fromStored(found);
}

/**
 * Saves where an audit stands, and the findings since it was saved before, as one step.
 * @param previous what it was saved as before; null replaces any other audit of this vault by this node.
 * @returns the audit as it is saved now.
 * @throws Error if another tab has saved the audit since.
 */
export async function saveAudit(
  audit: Omit<SavedAudit, 'parts' | 'stamp'>,
  findings: readonly AuditRecord[],
  previous: SavedAudit | null,
): Promise<SavedAudit> {
  const { vault, node, state } = audit;
  const before = previous?.parts ?? 0;
  const saved: SavedAudit = {
    ...audit,
    parts: findings.length === 0 ? before : before + 1,
    stamp: crypto.getRandomValues(new Uint32Array(4)).join('-'),
  };
  // The state changes as the audit goes on: it is written down before anything is awaited.
  const stored = { ...saved, state: state && stringifyAuditState(state) };
  const transaction = (await openAudits()).transaction([AUDITS, FINDINGS], 'readwrite');
  const [audits, parts] = [transaction.objectStore(AUDITS), transaction.objectStore(FINDINGS)];
  const ended = endOf(transaction);
  if (previous === null) {
    parts.delete(partsOf(audit));
  } else {
    const found = await resultOf(audits.get([vault, node]));
    if (found?.stamp !== previous.stamp) {
      transaction.abort();
      await ended.catch(() => undefined);
      throw new Error('Another tab has begun an audit of this vault. Reload the page to see it.');
    }
  }
  audits.put(stored, [vault, node]);
  if (findings.length > 0) parts.put(findings, [vault, node, before]);
  await ended;
  return saved;
}

/** Reads every finding of an audit, newest first. */
export async function* readFindings({ vault, node, parts }: SavedAudit): AsyncGenerator<AuditRecord> {
  for (let part = 0; part < parts; part++) {
    yield* (await resultOf((await openStore(FINDINGS)).get([vault, node, part]))) ?? [];
  }
}

/** Deletes an audit with its findings. */
export async function deleteAudit(audit: SavedAudit): Promise<void> {
  const transaction = (await openAudits()).transaction([AUDITS, FINDINGS], 'readwrite');
  const ended = endOf(transaction);
  transaction.objectStore(AUDITS).delete([audit.vault, audit.node]);
  transaction.objectStore(FINDINGS).delete(partsOf(audit));
  await ended;
}

/** Keys of all parts of an audit's findings. */
function partsOf({ vault, node }: AuditKey): IDBKeyRange {
  return IDBKeyRange.bound([vault, node], [vault, node, []]);
}

const DATABASE = 'flywheel-audits';
const AUDITS = 'audits';
const FINDINGS = 'findings';

let opened: Promise<IDBDatabase> | undefined;

async function openStore(name: string): Promise<IDBObjectStore> {
  return (await openAudits()).transaction(name).objectStore(name);
}

function openAudits(): Promise<IDBDatabase> {
  opened ??= openDatabase(DATABASE, [AUDITS, FINDINGS]).catch((cause: unknown) => {
    opened = undefined;
    const message = 'This browser stores nothing for this page. Allow site data, or use flywheel audit in a terminal.';
    throw new Error(message, { cause });
  });
  return opened;
}

function endOf(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error('The audit was not saved.'));
  });
}

/** Reads what `saveAudit` wrote; null if that was another release, whose state this one does not know. */
function fromStored(stored: Omit<SavedAudit, 'state'> & { readonly state: string | null }): SavedAudit | null {
  try {
    return { ...stored, state: stored.state === null ? null : parseAuditState(stored.state) };
  } catch {
    return null;
  }
}
