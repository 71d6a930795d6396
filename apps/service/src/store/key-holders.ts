import type { RateLimitName } from '@flywheel/api';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { BatchWithoutPipelines } from '../model/batch.ts';
import { answerWithin, type Clock } from '../model/clock.ts';
import type { FoundKeyHolder, GivenKey, KeyRequest } from '../model/key-holder.ts';
import type { RateLimit, RateLimits } from '../model/rate-limit.ts';
import { BATCH_COLUMNS, type BatchRow, toBatch } from './batches/batch-rows.ts';
import type { Db } from './db.ts';
import { prepare, type Slots } from './prepare.ts';
import { findApiKey } from './projects/api-keys.ts';
import { findProject, selectWhole, toProject } from './projects/projects.ts';
import { countRequests, endOf, stateOf, type WindowCount, type WindowTimes } from './rate-limits.ts';

/** Bounds what one statement reads. */
const MAX_AT_ONCE = 100;
/** A statement takes milliseconds. One that waits for a connection, or whose connection has died, may take minutes. */
const PATIENCE_MS = 2_000;

/**
 * Creates the finder of key holders for the requests of one process. The first request of a key is served at once; those that
 * come before its answer wait for it, two seconds at most, and are then served by one statement. So a key whose requests come all
 * at once takes one connection of the pool, and writes its count once for many. Nothing is remembered: each request is answered
 * by a statement that began after it came.
 */
export function createKeyHolderFinder({
  db,
  clock,
  limits,
}: Pick<RateLimits, 'limits'> & { readonly db: Db; readonly clock: Clock }) {
  const waitingOf = new Map<string, Waiting[]>();

  const answer = async (given: GivenKey, { name }: KeyRequest, served: readonly Waiting[]) => {
    const batchIds = served.map(({ request }) => request.batchId);
    try {
      const found = await findKeyHolders(db, given, { name, limit: limits[name], now: clock.now(), batchIds });
      for (const [i, { resolve }] of served.entries()) resolve(found[i] ?? null);
    } catch (error) {
      for (const { reject } of served) reject(error);
    }
  };

  const serve = async (group: string, given: GivenKey, first: Waiting) => {
    const others: Waiting[] = [];
    waitingOf.set(group, others);
    for (let served = [first]; served.length > 0; served = others.splice(0, MAX_AT_ONCE)) {
      await answerWithin(clock, PATIENCE_MS, answer(given, first.request, served));
    }
    // At once: whoever joined the others from now on would wait for nothing.
    waitingOf.delete(group);
  };

  return (given: GivenKey, request: KeyRequest): Promise<FoundKeyHolder | null> => {
    const { promise, resolve, reject } = Promise.withResolvers<FoundKeyHolder | null>();
    const group = `${request.name} ${given.prefix} ${Buffer.from(given.hash).toString('base64')}`;
    const waiting = waitingOf.get(group);
    if (waiting) {
      waiting.push({ request, resolve, reject });
    } else {
      void serve(group, given, { request, resolve, reject });
    }
    return promise;
  };
}

/** A request that waits for its key holder. */
interface Waiting {
  readonly request: KeyRequest;
  readonly resolve: (found: FoundKeyHolder | null) => void;
  readonly reject: (error: unknown) => void;
}

/** Simultaneous requests of one key. */
export interface KeyRequests extends Pick<KeyRequest, 'name'> {
  readonly limit: RateLimit;
  readonly now: Date;
  /** The UUID of the batch that each request reads; null for none. */
  readonly batchIds: readonly (string | null)[];
}

/**
 * Finds a key by its prefix, with its project and the batches that are read, and counts the requests of the key if it has this
 * hash, is not revoked and has not expired: one statement, because every request of an API key begins with it.
 * @returns the holder for each request, in their order; null for each if the key is unknown.
 */
export async function findKeyHolders(
  db: Db,
  { prefix, hash }: GivenKey,
  { name, limit, now, batchIds }: KeyRequests,
): Promise<readonly (FoundKeyHolder | null)[]> {
  const nowMs = now.getTime();
  const requests = batchIds.length;
  const values = { prefix, hash, name, now, nowMs, endMs: endOf(limit, nowMs), requests };
  const read = [...new Set(batchIds)].filter((id) => id !== null);
  const rows =
    read.length === 0 ? await findHolder(db, values) : await findHolderAndBatches(db, { ...values, batchIds: read });
  const row = rows.find(isHolder);
  if (!row) return Array<FoundKeyHolder | null>(requests).fill(await findWithoutProject(db, prefix, now));
  const holder = {
    checkedAt: now,
    key: {
      id: row.key_id,
      projectId: row.id,
      hash: row.hash,
      scopes: new Set(row.key_scopes),
      expiresAt: row.expires_at,
      revokedAt: row.revoked_at,
      lastUsedAt: row.last_used_at,
    },
    project: toProject(row),
    isMoving: row.is_moving,
  };
  const batches = new Map<string | undefined, BatchWithoutPipelines>(
    rows.filter(hasBatch).map((each) => [each.batch_id, toBatch(withoutPrefix(each))]),
  );
  return batchIds.map((id, i) => ({
    ...holder,
    // The statement returns the count after the last request.
    limit: row.points === null ? null : stateOf({ ...row, points: row.points - requests + 1 + i }, limit, nowMs),
    batch: batches.get(id?.toLowerCase()) ?? null,
  }));
}

interface HolderValues extends WindowTimes {
  readonly prefix: string;
  readonly hash: Uint8Array;
  readonly name: RateLimitName;
  readonly now: Date;
  readonly requests: number;
}

const findHolder = prepare<HolderValues, HolderRow & { readonly batch_id?: never }>(
  (db, slot) => sql`${withHolder(db, slot)} select * from holder left join counted on true`,
);

/**
 * The holder is one row and each batch another, so that the project is read once. The batches asked for are materialized, so
 * that they are never searched by their project, which may have very many.
 */
const findHolderAndBatches = prepare<
  HolderValues & { readonly batchIds: readonly string[] },
  (HolderRow & NoBatch) | (PrefixedBatch & NoHolder)
>(
  (db, slot) => sql`
    ${withHolder(db, slot)}, asked as materialized (
      select ${sql.join(BATCH_COLUMNS.map((name) => sql`${sql.ref(name)} as ${sql.ref(`batch_${name}`)}`))}
      from batches where id = any(${slot('batchIds')}::uuid[])
    ), found as (
      select asked.* from asked join holder on holder.id = asked.batch_project_id where asked.batch_kind = 'pipelines'
    )
    select holder.*, counted.*, found.* from holder left join counted on true full join found on false
  `,
);

function isHolder<Row extends { readonly key_id: string | null }>(row: Row): row is Row & HolderRow {
  return row.key_id !== null;
}

function hasBatch<Row extends { readonly batch_id?: string | null }>(row: Row): row is Row & PrefixedBatch {
  return typeof row.batch_id === 'string';
}

function withHolder(db: Db, slot: Slots<HolderValues>): RawBuilder<unknown> {
  const keys = sql`
    select ${slot('name')}::text, key_id::text, ${slot('requests')}::integer from holder
    where hash = ${slot('hash')} and revoked_at is null and (expires_at is null or expires_at > ${slot('now')})
  `;
  const window = { nowMs: slot('nowMs'), endMs: slot('endMs') };
  return sql`with holder as (${selectHolder(db, slot('prefix'))}), counted as (${countRequests(keys, window)})`;
}

function selectHolder(db: Db, prefix: RawBuilder<string>) {
  return selectWhole(db)
    .innerJoin('api_keys', 'api_keys.project_id', 'projects.id')
    .select([
      'api_keys.id as key_id',
      'api_keys.hash',
      'api_keys.scopes as key_scopes',
      'api_keys.expires_at',
      'api_keys.revoked_at',
      'api_keys.last_used_at',
    ])
    .select(sql<boolean>`coalesce(projects.moving_until > clock_timestamp(), false)`.as('is_moving'))
    .where('api_keys.prefix', '=', prefix);
}

type HolderRow = (ReturnType<typeof selectHolder> extends SelectQueryBuilder<infer _Schema, infer _Tables, infer Row>
  ? Row
  : never) &
  (WindowCount | Record<keyof WindowCount, null>);

type PrefixedBatch = { readonly [Name in keyof BatchRow as `batch_${Name}`]: BatchRow[Name] };
type NoBatch = Record<keyof PrefixedBatch, null>;
type NoHolder = Record<keyof HolderRow, null>;

function withoutPrefix(row: PrefixedBatch): BatchRow {
  const columns = BATCH_COLUMNS.map((name) => [name, row[`batch_${name}`]]);
  return Object.fromEntries(columns); // it has each column of a batch
}

/** Finds a key whose project has no token or no flywheel any more. */
async function findWithoutProject(db: Db, prefix: string, checkedAt: Date): Promise<FoundKeyHolder | null> {
  const key = await findApiKey(db, prefix);
  if (!key) return null;
  return { checkedAt, key, project: await findProject(db, key.projectId), isMoving: false, limit: null, batch: null };
}
