import type { RateLimitName } from '@flywheel/api';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { BatchWithoutPipelines } from '../model/batch.ts';
import { BATCH_COLUMNS, type BatchRow, toBatch } from './batches/batch-rows.ts';
import type { Db } from './db.ts';
import { prepare, type Slots } from './prepare.ts';
import { type FoundApiKey, findApiKey } from './projects/api-keys.ts';
import { type FoundProject, findProject, selectWhole, toProject } from './projects/projects.ts';
import {
  countRequests,
  endOf,
  type RateLimit,
  type RateLimitState,
  stateOf,
  type WindowCount,
  type WindowTimes,
} from './rate-limits.ts';

/** A stored key, its project, and its limit after this request; null if nothing was counted: the key cannot be used. */
export interface FoundKeyHolder {
  readonly key: FoundApiKey;
  readonly project: FoundProject;
  /** True while the project is about to move to another shard. */
  readonly isMoving: boolean;
  readonly limit: RateLimitState | null;
  /** The batch of pipelines that the request names; null if it names none of this project. */
  readonly batch: BatchWithoutPipelines | null;
}

/** A request of a key. */
export interface KeyRequest {
  readonly name: RateLimitName;
  readonly limit: RateLimit;
  readonly now: Date;
  /** The UUID of the batch that it reads; null for none. */
  readonly batchId: string | null;
}

/**
 * Finds a key by its prefix, with its project and the batch that is read, and counts a request of the key if it has this hash,
 * is not revoked and has not expired: one statement, because every request of an API key begins with it.
 */
export async function findKeyHolder(
  db: Db,
  { prefix, hash }: { readonly prefix: string; readonly hash: Uint8Array },
  { name, limit, now, batchId }: KeyRequest,
): Promise<FoundKeyHolder | null> {
  const nowMs = now.getTime();
  const values = { prefix, hash, name, now, nowMs, endMs: endOf(limit, nowMs) };
  const [row] = batchId === null ? await findHolder(db, values) : await findHolderAndBatch(db, { ...values, batchId });
  if (!row) return findWithoutProject(db, prefix);
  return {
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
    limit: row.points === null ? null : stateOf(row, limit, nowMs),
    batch: row.batch_id === undefined || row.batch_id === null ? null : toBatch(withoutPrefix(row)),
  };
}

interface HolderValues extends WindowTimes {
  readonly prefix: string;
  readonly hash: Uint8Array;
  readonly name: RateLimitName;
  readonly now: Date;
}

const findHolder = prepare<HolderValues, HolderRow & { readonly batch_id?: never }>(
  (db, slot) => sql`${withHolder(db, slot)} select * from holder left join counted on true`,
);

const findHolderAndBatch = prepare<HolderValues & { readonly batchId: string }, HolderRow & (PrefixedBatch | NoBatch)>(
  (db, slot) => sql`
    ${withHolder(db, slot)}
    select holder.*, counted.*, ${sql.join(BATCH_COLUMNS.map((name) => sql`batches.${sql.ref(name)} as ${sql.ref(`batch_${name}`)}`))}
    from holder left join counted on true
      left join batches on batches.id = ${slot('batchId')} and batches.project_id = holder.id and batches.kind = 'pipelines'
  `,
);

function withHolder(db: Db, slot: Slots<HolderValues>): RawBuilder<unknown> {
  const keys = sql`
    select ${slot('name')}::text, key_id::text from holder
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

function withoutPrefix(row: PrefixedBatch): BatchRow {
  const columns = BATCH_COLUMNS.map((name) => [name, row[`batch_${name}`]]);
  return Object.fromEntries(columns); // it has each column of a batch
}

/** Finds a key whose project has no token or no flywheel any more. */
async function findWithoutProject(db: Db, prefix: string): Promise<FoundKeyHolder | null> {
  const key = await findApiKey(db, prefix);
  return key && { key, project: await findProject(db, key.projectId), isMoving: false, limit: null, batch: null };
}
