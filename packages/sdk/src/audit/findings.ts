import { pluralize } from '@flywheel/protocol';
import type { EventMatches } from './events.ts';
import type { AuditBound } from './period.ts';
import type { AuditRecord, AuditReport } from './report.ts';
import type { AuditState } from './state.ts';

export * from './events.ts';

/** The findings that a person reads one by one; each list has at most 1,000. */
export interface ListedFindings {
  readonly withdrawals: readonly AuditRecord[];
  readonly rotations: readonly AuditRecord[];
  readonly unexplained: readonly AuditRecord[];
  readonly foreign: readonly AuditRecord[];
}

const MAX_LISTED = 1_000;

/** Takes from all findings of an audit those that a person reads one by one. */
export async function listFindings(records: AsyncIterable<AuditRecord>): Promise<ListedFindings> {
  const listed: { readonly [Name in keyof ListedFindings]: AuditRecord[] } = {
    withdrawals: [],
    rotations: [],
    unexplained: [],
    foreign: [],
  };
  const lists: { readonly [Kind in AuditRecord['kind']]?: AuditRecord[] } = {
    withdrawn: listed.withdrawals,
    rotation: listed.rotations,
    unexplained: listed.unexplained,
    foreign: listed.foreign,
  };
  for await (const record of records) {
    const list = lists[record.kind];
    if (list && list.length < MAX_LISTED) list.push(record);
  }
  return listed;
}

/**
 * The verdict of an audit. `unexplained`: something went out without a proof, which is certain whatever else is missing.
 * `incomplete`: the history has gaps. `unproven`: an event has no proof. `explained`: none of these.
 */
export type AuditVerdict = 'unexplained' | 'incomplete' | 'unproven' | 'explained';

/** @param events null if the audit was not compared with events. */
export function auditVerdict(report: AuditReport, events: EventMatches | null): AuditVerdict {
  if (!report.isExplained) return 'unexplained';
  if (!report.isComplete) return 'incomplete';
  return events !== null && events.unprovenCount > 0 ? 'unproven' : 'explained';
}

/** The two answers of an audit, each a sentence: is anything missing, and does every outflow found have a proof. */
export function auditAnswers({ isComplete, isExplained, gapCount, counts }: AuditReport) {
  const unexplained = pluralize(counts.unexplained, 'outflow');
  return [
    {
      isGood: isComplete,
      text: isComplete
        ? 'The balances of all accounts found are continuous: no gap.'
        : `The history is incomplete: ${pluralize(gapCount, 'gap')}.`,
    },
    {
      isGood: isExplained,
      text: isExplained ? 'No outflow without a proof was found.' : `${unexplained} without a proof.`,
    },
  ] as const;
}

/** Says in which slots an incomplete history has gaps, and what to do. */
export function describeMissing({ gaps, gapCount }: Pick<AuditReport, 'gaps' | 'gapCount'>): string {
  const slots = gaps.slice(0, 3).map(({ fromSlot, toSlot }) => `${fromSlot} to ${toSlot}`);
  const others = gapCount > slots.length ? ' and others' : '';
  return `The history is incomplete in the slots ${slots.join(', ')}${others}. Ask a node that keeps more.`;
}

/**
 * How far back an audit has read, 0 to 1, by slots. The beginning of a vault's history is not known before it is reached:
 * unless the period begins at a slot, an audit counts as one of the whole chain.
 */
export function auditProgress({ slot, period }: Pick<AuditState, 'slot' | 'period'>): number {
  const first = typeof period.from === 'number' ? period.from : 0;
  const whole = period.headSlot - first;
  return slot === null || whole <= 0 ? 0 : Math.min(1, Math.max(0, (period.headSlot - slot) / whole));
}

/** The result of an audit as one JSON document; amounts are decimal text of base units. @param node as it may be shown. */
export function auditDocument(
  report: AuditReport,
  found: { readonly listed: ListedFindings; readonly events: EventMatches | null; readonly node: string },
): unknown {
  const document = { ...report, ...found.listed, events: found.events, rpcUrl: found.node };
  return JSON.parse(JSON.stringify(document, (_key, value) => (typeof value === 'bigint' ? value.toString() : value)));
}

/** Names of the columns of `findingCells`. */
export const FINDING_COLUMNS: readonly string[] = [
  'kind',
  'slot',
  'time',
  'signature',
  'type',
  'hash',
  'mint',
  'amount_base_units',
  'to',
  'detail',
];

/** A finding as cells of a spreadsheet, amounts in base units. */
export function findingCells(record: AuditRecord): string[] {
  const { kind, slot, executedAt, signature } = record;
  const place = [kind, String(slot), executedAt ?? '', signature];
  switch (record.kind) {
    case 'pipeline':
      return [...place, asText(record.type ?? ''), record.hash ?? '', '', '', '', `batch ${record.batch}`];
    case 'rotation':
      return [...place, '', '', '', '', '', describeChange(record)];
    case 'foreign':
      return [...place, '', '', '', '', '', `Squads instruction ${record.discriminator}`];
    default: {
      const { type, mint, amountBaseUnits, to } = record;
      return [...place, asText(type ?? ''), '', mint ?? 'SOL', amountBaseUnits.toString(), to ?? '', ''];
    }
  }
}

/** Says what a change of the multisig was. */
export function describeChange({ changes }: { readonly changes: string | null }): string {
  return changes ?? 'proposed before the period';
}

/**
 * Reads a bound of a period as a person writes it: a slot, a day in UTC like `2026-01-31`, or a time with its zone. A day
 * begins the period at its first second, or ends it at its last. Null for any other text.
 */
export function parseAuditBound(text: string, end: 'from' | 'to'): AuditBound | null {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}${end === 'from' ? 'T00:00:00Z' : 'T23:59:59Z'}` : text;
  const isWhole = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(time);
  return isWhole && Number.isFinite(Date.parse(time)) && isDay(time.slice(0, 'YYYY-MM-DD'.length)) ? time : null;
}

/** True for a day of the calendar; `Date` takes 30 February for 2 March. */
function isDay(day: string): boolean {
  return new Date(day).toISOString().startsWith(day);
}

/** Keeps a spreadsheet from taking a proof type for a formula: whoever owns the multisig may have written anything. */
function asText(cell: string): string {
  return /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}
