import type { Writable } from 'node:stream';
import type { AuditEntry, InShard } from '@flywheel/api';
import { describeNextPage, layOutTable } from './format.ts';

/** Entries of a page. */
export const AUDIT_PAGE = '50';

interface AuditLog {
  readonly entries: readonly (AuditEntry & Partial<InShard<AuditEntry>>)[];
  readonly nextCursor?: string | undefined;
  /** True if the log is of several shards. */
  readonly isSharded?: boolean;
}

/** Lays out a page of the audit log, a line per entry. */
export function describeAuditLog({ entries, nextCursor, isSharded = false }: AuditLog, stream: Writable): string {
  if (entries.length === 0) return 'No entries.';
  const rows = entries.map(({ shard, ...entry }) => cellsOf(entry, isSharded ? `shard ${shard}` : ''));
  const { heading, lines } = layOutTable(['TIME', 'ACTION', 'ACTOR', 'ABOUT', 'CHANGE'], rows, stream);
  return [heading, ...lines, ...describeNextPage(nextCursor)].join('\n');
}

/** @param place what an entry about no project and no job is about. */
function cellsOf(entry: AuditEntry, place: string): string[] {
  const { at, action, actor, batchId, subject, projectId, before, after, reason } = entry;
  const change = [before, after].flatMap((value) => (value === undefined ? [] : [JSON.stringify(value)])).join(' → ');
  const about = batchId ?? subject ?? projectId ?? place;
  return [at, action, actor, about, [change, ...(reason === undefined ? [] : [JSON.stringify(reason)])].join(' ')];
}
