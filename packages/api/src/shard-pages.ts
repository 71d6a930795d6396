import {
  type AnswerOfShard,
  type AnswersOfShards,
  askEveryShard,
  askShards,
  headersFor,
  type InShard,
  readShard,
  type ShardFailure,
  type ShardHeaders,
} from './shards.ts';

/** An entry of a log that each shard lists newest first. */
interface LogEntry {
  /** A number that grows within a shard. */
  readonly id: string;
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string;
}

interface LogAnswer<Entry> {
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly body: { readonly entries: readonly Entry[]; readonly nextCursor?: string | undefined };
}

/** Requests a page of one shard: the first one if there is no cursor. */
type AskPage<Entry> = (headers: ShardHeaders, cursor: string | undefined) => Promise<LogAnswer<Entry>>;

/** A page of the merged log to read. */
export interface PageRequest {
  /** `nextCursor` of the page before; the first page by default. */
  readonly cursor?: string | undefined;
  /** Maximum number of entries. */
  readonly limit: number;
  /** The shards to read; by default all of them. */
  readonly shards?: readonly number[];
}

/** A page of the merged log. */
export interface PageOfShards<Entry> {
  /** Newest first. */
  readonly entries: readonly InShard<Entry>[];
  readonly nextCursor?: string;
  /** The shards whose entries are missing in this page. */
  readonly missing: readonly ShardFailure[];
  /** Number of shards of the service. */
  readonly count: number;
}

/**
 * Reads a page of the logs of all shards as one log, newest first. It reads as many pages of each shard as it needs, so that no
 * entry is before a newer one of another shard. Entries that were added after the first page are left out of the later ones.
 * A service without shards answers its own pages and cursors.
 * @throws the first error if no shard answers.
 * @throws Error for a cursor of one shard if there are several: `isCursorOfShards` tells.
 */
export async function readPageOfShards<Entry extends LogEntry>(
  ask: AskPage<Entry>,
  { cursor, limit, shards }: PageRequest,
): Promise<PageOfShards<Entry>> {
  const position = parsePosition(cursor);
  const { answers, failures } = await askFirst(ask, { cursor, position, shards });
  const count = Math.max(position?.cursors.length ?? 1, ...answers.map(({ answer }) => readShard(answer).count));
  if (count === 1) {
    const entries = answers.flatMap(({ shard, answer }) => restOf(shard, answer, null));
    const nextCursor = answers[0]?.answer.body.nextCursor;
    return { entries, ...(nextCursor !== undefined && { nextCursor }), missing: [], count };
  }
  if (cursor !== undefined && position === null) {
    throw new Error(`The cursor ${cursor} is not of the log of all shards.`);
  }
  const missing = [...failures];
  const logs = answers.map((answered) => openLog(answered, position));
  const entries: InShard<Entry>[] = [];
  while (entries.length < limit) {
    await Promise.all(
      logs.map(async (log) => {
        try {
          await fill(ask, log, position);
        } catch (error) {
          missing.push({ shard: log.shard, error });
          log.next = undefined;
        }
      }),
    );
    const [newest, ...others] = logs.flatMap(({ rest }) => rest.slice(0, 1));
    if (newest === undefined) break;
    const first = others.reduce((a, b) => (compareEntries(a, b) <= 0 ? a : b), newest);
    entries.push(first);
    logs.find(({ shard }) => shard === first.shard)?.rest.shift();
  }
  const last = entries.at(-1) ?? position?.last;
  const isEnd = logs.every(({ rest, next }) => rest.length === 0 && next === undefined);
  return {
    entries,
    ...(last !== undefined && !isEnd && { nextCursor: writePosition(last, cursorsOf(logs, position, count)) }),
    missing: missing.toSorted((a, b) => a.shard - b.shard),
    count,
  };
}

/** The place in the merged log after which a page begins. */
interface Position {
  readonly last: InShard<LogEntry>;
  /** Cursor of each shard with which its next entry is found; empty for its first page. */
  readonly cursors: readonly string[];
}

interface FirstRequest extends Pick<PageRequest, 'cursor' | 'shards'> {
  readonly position: Position | null;
}

/** Requests the page of each shard in which its next entry is. */
async function askFirst<Entry>(
  ask: AskPage<Entry>,
  { cursor, position, shards = position?.cursors.map((_, index) => index + 1) }: FirstRequest,
): Promise<AnswersOfShards<LogAnswer<Entry>>> {
  if (shards === undefined) return askEveryShard((headers) => ask(headers, cursor));
  const found = await askShards(shards, (headers, shard) =>
    ask(headers, position === null ? cursor : cursorOf(position, shard)),
  );
  const [failure] = found.failures;
  if (found.answers.length === 0 && failure !== undefined) throw failure.error;
  return found;
}

/** How far the log of a shard was read. */
interface Log<Entry> {
  readonly shard: number;
  /** Cursor of the page that `rest` is of. */
  cursor: string | undefined;
  /** The entries of the page that are not in the merged log yet. */
  rest: InShard<Entry>[];
  /** Cursor of the page after it; undefined at the end. */
  next: string | undefined;
}

function openLog<Entry extends LogEntry>(
  { shard, answer }: AnswerOfShard<LogAnswer<Entry>>,
  position: Position | null,
): Log<Entry> {
  const { nextCursor } = answer.body;
  const cursor = position === null ? undefined : cursorOf(position, shard);
  return { shard, cursor, rest: restOf(shard, answer, position), next: nextCursor };
}

/** Reads on until the next entry of a shard is known, or its log ends. */
async function fill<Entry extends LogEntry>(
  ask: AskPage<Entry>,
  log: Log<Entry>,
  position: Position | null,
): Promise<void> {
  while (log.rest.length === 0 && log.next !== undefined) {
    const answer = await ask(headersFor(log.shard), log.next);
    log.cursor = log.next;
    log.rest = restOf(log.shard, answer, position);
    log.next = answer.body.nextCursor;
  }
}

/** Returns the entries of a page that are after a position. */
function restOf<Entry extends LogEntry>(
  shard: number,
  { body }: LogAnswer<Entry>,
  position: Position | null,
): InShard<Entry>[] {
  const entries = body.entries.map((entry) => ({ ...entry, shard }));
  return position === null ? entries : entries.filter((entry) => compareEntries(position.last, entry) < 0);
}

/** Orders two entries of the merged log, newest first. */
function compareEntries(a: InShard<LogEntry>, b: InShard<LogEntry>): number {
  return b.at.localeCompare(a.at) || a.shard - b.shard || Number(BigInt(b.id) - BigInt(a.id));
}

function cursorsOf(logs: readonly Log<LogEntry>[], position: Position | null, count: number): string[] {
  return Array.from({ length: count }, (_, index) => {
    const log = logs.find(({ shard }) => shard === index + 1);
    if (log === undefined) return position?.cursors[index] ?? '';
    return (log.rest.length === 0 ? (log.next ?? log.cursor) : log.cursor) ?? '';
  });
}

function cursorOf({ cursors }: Position, shard: number): string | undefined {
  return cursors[shard - 1] || undefined;
}

/** Separates the parts of a cursor; no cursor of the service has it. */
const SEPARATOR = ',';

function writePosition({ at, shard, id }: InShard<LogEntry>, cursors: readonly string[]): string {
  return [at, shard, id, ...cursors].join(SEPARATOR);
}

/** Returns true if a cursor is of the merged log of several shards. */
export function isCursorOfShards(cursor: string): boolean {
  return parsePosition(cursor) !== null;
}

/** Parses a cursor; null for one of a service without shards. */
function parsePosition(cursor = ''): Position | null {
  const [at = '', shard = '', id = '', ...cursors] = cursor.split(SEPARATOR);
  const isOne = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(at) && /^\d{1,3}$/.test(shard) && /^\d+$/.test(id);
  return isOne && cursors.length > 1 ? { last: { at, shard: Number(shard), id }, cursors } : null;
}
