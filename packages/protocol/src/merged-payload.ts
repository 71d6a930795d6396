import { type Proof, proofHash } from './proof-memo.ts';

/** Events that one merged payload lists at most; its text then stays below the 64 KiB that a payload may have. */
export const MAX_MERGED_EVENTS = 900;

/**
 * Writes the payload of a pipeline that pays for several events of one type at once. It lists the proof hash of each
 * event, in ascending order: `{"flywheel":"merged:v1","events":["<hash>","<hash>"]}`, without white space. Equal events
 * give equal text.
 * @param type of the pipeline and of every event.
 * @throws RangeError if there are fewer than 2 events or more than `MAX_MERGED_EVENTS`, or if two are equal.
 *
 * @example
 * writeMergedPayload('WATCH_AD', ['{"adId":"123"}', '{"adId":"124"}']);
 */
export function writeMergedPayload(type: string, payloads: readonly string[]): string {
  const hashes = payloads.map((payload) => proofHash({ type, payload })).sort();
  if (!isList(hashes)) {
    throw new RangeError(
      `${payloads.length} events, ${new Set(hashes).size} different ones: a merged payload lists 2 to ${MAX_MERGED_EVENTS} different events.`,
    );
  }
  return `${START}${hashes.map((hash) => `"${hash}"`).join(',')}${END}`;
}

/**
 * Reads the proof hashes of the events that a payload merges; null if it is not a merged payload, byte for byte as
 * `writeMergedPayload` writes it.
 */
export function parseMergedPayload(payload: string): readonly string[] | null {
  if (!MERGED_PAYLOAD.test(payload)) return null;
  const hashes = payload.slice(START.length + 1, -END.length - 1).split('","');
  return isList(hashes) ? hashes : null;
}

/**
 * True if a payload is a merged one that lists the event. The memo of such a payload proves the event only under the event's
 * own type.
 */
export function isMergedIn(event: Proof, payload: string): boolean {
  return parseMergedPayload(payload)?.includes(proofHash(event)) ?? false;
}

function isList(hashes: readonly string[]): boolean {
  const isAscending = hashes.every((hash, i) => i === 0 || (hashes[i - 1] ?? '') < hash);
  return isAscending && hashes.length >= 2 && hashes.length <= MAX_MERGED_EVENTS;
}

const START = '{"flywheel":"merged:v1","events":[';
const END = ']}';

const MERGED_PAYLOAD = /^\{"flywheel":"merged:v1","events":\["[0-9a-f]{64}"(?:,"[0-9a-f]{64}")+\]\}$/;
