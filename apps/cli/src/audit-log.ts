import type { Writable } from 'node:stream';
import type { AuditEntry } from '@flywheel/api';
import { layOutTable } from './format.ts';

/** Entries of a page. */
export const AUDIT_PAGE = '50';

interface AuditLog {
  readonly entries: readonly AuditEntry[];
  readonly nextCursor?: string | undefined;
}

/** Lays out a page of the audit log, a line per entry. */
export function describeAuditLog({ entries, nextCursor }: AuditLog, stream: Writable): string {
  if (entries.length === 0) return 'No entries.';
  const { heading, lines } = layOutTable(['TIME', 'ACTION', 'ACTOR', 'ABOUT', 'CHANGE'], entries.map(cellsOf), stream);
  const more = nextCursor === undefined ? [] : [`Next page: --cursor ${nextCursor}`];
  return [heading, ...lines, ...more].join('\n');
}

function cellsOf({ at, action, actor, batchId, subject, projectId, before, after, reason }: AuditEntry): string[] {
  const change = [before, after].flatMap((value) => (value === undefined ? [] : [JSON.stringify(value)])).join(' → ');
  const about = batchId ?? subject ?? projectId ?? '';
  return [at, action, actor, about, [change, ...(reason === undefined ? [] : [JSON.stringify(reason)])].join(' ')];
}
