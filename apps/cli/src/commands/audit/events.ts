import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseMergedPayload, proofHash, WITHDRAWAL_TYPE } from '@flywheel/protocol';
import type { AuditRecord } from '@flywheel/sdk';
import { CliError } from '../../errors.ts';

/** Events that should have been proven, by the hash of their proof. */
export interface Events {
  readonly count: number;
  /** Merged payloads by the hash of their proof, each with the hashes of its events. */
  readonly merged: ReadonlyMap<string, { readonly type: string; readonly hashes: readonly string[] }>;
  /** Type of the events, and their lines in the file that no proof has met yet. */
  readonly byHash: ReadonlyMap<string, { readonly type: string; readonly lines: number[] }>;
}

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
 * @throws CliError `ERR_FILE` with the number of a line that is not an event.
 */
export async function readEvents(path: string): Promise<Events> {
  const byHash = new Map<string, { readonly type: string; readonly lines: number[] }>();
  const merged = new Map<string, { readonly type: string; readonly hashes: readonly string[] }>();
  let [line, count] = [0, 0];
  try {
    for await (const text of createInterface({ input: createReadStream(path) })) {
      line += 1;
      if (text.trim() === '') continue;
      const { type, payload } = parseEvent(path, line, text);
      const hash = proofHash({ type, payload });
      const hashes = parseMergedPayload(payload);
      if (hashes) {
        merged.set(hash, { type, hashes });
        continue;
      }
      const known = byHash.get(hash);
      if (known) known.lines.push(line);
      else byHash.set(hash, { type, lines: [line] });
      count += 1;
    }
  } catch (cause) {
    if (cause instanceof CliError) throw cause;
    throw new CliError('ERR_FILE', `Cannot read ${path}. Expected events, one {"type": …, "payload": …} a line.`, {
      cause,
    });
  }
  return { count, byHash, merged };
}

/** Compares events with proofs, one to one: an event that was paid twice leaves a proof over. */
export async function matchEvents(
  { count, byHash, merged }: Events,
  records: AsyncIterable<AuditRecord>,
): Promise<EventMatches> {
  const unmatched: EventMatches['unmatched'][number][] = [];
  let [proven, unmatchedCount] = [0, 0];
  for await (const record of records) {
    if (record.kind !== 'pipeline' || record.type === null || record.hash === null) continue;
    const { signature, type } = record;
    const list = merged.get(record.hash);
    for (const hash of list?.type === type ? list.hashes : [record.hash]) {
      const event = byHash.get(hash);
      if (event?.type === type && event.lines.shift() !== undefined) {
        proven += 1;
      } else if (type !== WITHDRAWAL_TYPE) {
        unmatchedCount += 1;
        if (unmatched.length < MAX_LISTED) unmatched.push({ signature, type, hash });
      }
    }
  }
  const unproven = [...byHash].flatMap(([hash, { type, lines }]) => lines.map((line) => ({ line, type, hash })));
  const listed = unproven.toSorted((a, b) => a.line - b.line).slice(0, MAX_LISTED);
  return { events: count, proven, unproven: listed, unprovenCount: unproven.length, unmatched, unmatchedCount };
}

function parseEvent(path: string, line: number, text: string): { readonly type: string; readonly payload: string } {
  const event = parseObject(text);
  const [type, payload] = [event?.type, event?.payload];
  if (typeof type === 'string' && type !== '') {
    if (typeof payload === 'string') return { type, payload };
    if (typeof payload === 'object' && payload !== null) return { type, payload: JSON.stringify(payload) };
  }
  throw new CliError('ERR_FILE', `${path}:${line} is not an event. Expected {"type": "…", "payload": "…"}.`);
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
