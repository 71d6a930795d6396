import { parseMergedPayload, proofHash, WITHDRAWAL_TYPE } from '@flywheel/protocol';
import type { AuditRecord } from './report.ts';

/** Events that should have been proven, by the hash of their proof. */
export interface AuditEvents {
  readonly count: number;
  /** Merged payloads by the hash of their proof, each with the hashes of its events. */
  readonly merged: ReadonlyMap<string, { readonly type: string; readonly hashes: readonly string[] }>;
  /** Type of the events, and their lines in the file. */
  readonly byHash: ReadonlyMap<string, { readonly type: string; readonly lines: readonly number[] }>;
}

/** Result of `matchEvents`: events with a proof in the period, events without one, and proofs of no event. */
export interface EventMatches {
  readonly events: number;
  readonly proven: number;
  /** Events without a proof in the period, by line; at most 1,000 of them. */
  readonly unproven: readonly { readonly line: number; readonly type: string; readonly hash: string }[];
  readonly unprovenCount: number;
  /**
   * Proofs of no event, or of one that another proof has met; at most 1,000 of them. Withdrawals are not among them. The hash
   * is that of the event, also if it was merged with others.
   */
  readonly unmatched: readonly { readonly signature: string; readonly type: string; readonly hash: string }[];
  readonly unmatchedCount: number;
}

const MAX_LISTED = 1_000;

/**
 * Reads events, one `{"type": …, "payload": …}` a line. A payload that is an object is proven as `JSON.stringify` writes it;
 * other members are ignored, so that the events of `collect` fit. A line with a merged payload is no event: it says which
 * events its proof is for. The hash of each event stays in memory.
 * @returns the events, or the number of the first line that is not an event.
 */
export async function readAuditEvents(
  lines: AsyncIterable<string>,
): Promise<{ readonly events: AuditEvents } | { readonly invalidLine: number }> {
  const byHash = new Map<string, { readonly type: string; readonly lines: number[] }>();
  const merged = new Map<string, { readonly type: string; readonly hashes: readonly string[] }>();
  let [line, count] = [0, 0];
  for await (const text of lines) {
    line += 1;
    if (text.trim() === '') continue;
    const event = parseEvent(text);
    if (event === null) return { invalidLine: line };
    const hash = proofHash(event);
    const hashes = parseMergedPayload(event.payload);
    if (hashes) {
      merged.set(hash, { type: event.type, hashes });
      continue;
    }
    const known = byHash.get(hash);
    if (known) known.lines.push(line);
    else byHash.set(hash, { type: event.type, lines: [line] });
    count += 1;
  }
  return { events: { count, byHash, merged } };
}

/** Compares events with proofs, one to one: an event that was paid twice leaves a proof over. */
export async function matchEvents(
  { count, byHash, merged }: AuditEvents,
  records: AsyncIterable<AuditRecord>,
): Promise<EventMatches> {
  const unmatched: EventMatches['unmatched'][number][] = [];
  /** Proofs that have met an event, by its hash. */
  const met = new Map<string, number>();
  let unmatchedCount = 0;
  for await (const record of records) {
    if (record.kind !== 'pipeline' || record.type === null || record.hash === null) continue;
    const { signature, type } = record;
    const list = merged.get(record.hash);
    for (const hash of list?.type === type ? list.hashes : [record.hash]) {
      const event = byHash.get(hash);
      const before = met.get(hash) ?? 0;
      if (event?.type === type && before < event.lines.length) {
        met.set(hash, before + 1);
      } else if (type !== WITHDRAWAL_TYPE) {
        unmatchedCount += 1;
        if (unmatched.length < MAX_LISTED) unmatched.push({ signature, type, hash });
      }
    }
  }
  const unproven = [...byHash].flatMap(([hash, { type, lines }]) =>
    lines.slice(met.get(hash) ?? 0).map((line) => ({ line, type, hash })),
  );
  const listed = unproven.toSorted((a, b) => a.line - b.line).slice(0, MAX_LISTED);
  const unprovenCount = unproven.length;
  return { events: count, proven: count - unprovenCount, unproven: listed, unprovenCount, unmatched, unmatchedCount };
}

/** null if the text is not an event. */
function parseEvent(text: string): { readonly type: string; readonly payload: string } | null {
  const event = parseObject(text);
  const [type, payload] = [event?.type, event?.payload];
  if (typeof type !== 'string' || type === '') return null;
  if (typeof payload === 'string') return { type, payload };
  return typeof payload === 'object' && payload !== null ? { type, payload: JSON.stringify(payload) } : null;
}

function parseObject(text: string): { readonly [name: string]: unknown } | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    // The caller names the line.
    return null;
  }
}
