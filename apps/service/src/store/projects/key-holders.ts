import type { RateLimitName } from '@flywheel/api';
import { sql } from 'kysely';
import type { Db } from '../db.ts';
import { countRequests, type RateLimit, type RateLimitState, stateOf, type WindowCount } from '../rate-limits.ts';
import { type FoundApiKey, findApiKey } from './api-keys.ts';
import { type FoundProject, findProject, selectWhole, toProject } from './projects.ts';

/** A stored key, its project, and its limit after this request; null if nothing was counted: the key cannot be used. */
export interface FoundKeyHolder {
  readonly key: FoundApiKey;
  readonly project: FoundProject;
  readonly limit: RateLimitState | null;
}

/**
 * Finds a key by its prefix, with its project, and counts a request of the key if it has this hash, is not revoked and has
 * not expired: one statement, because every request of an API key begins with it.
 */
export async function findKeyHolder(
  db: Db,
  { prefix, hash }: { readonly prefix: string; readonly hash: Uint8Array },
  { name, limit, now }: { readonly name: RateLimitName; readonly limit: RateLimit; readonly now: Date },
): Promise<FoundKeyHolder | null> {
  const holder = selectWhole(db)
    .innerJoin('api_keys', 'api_keys.project_id', 'projects.id')
    .select([
      'api_keys.id as key_id',
      'api_keys.hash',
      'api_keys.scopes as key_scopes',
      'api_keys.expires_at',
      'api_keys.revoked_at',
      'api_keys.last_used_at',
    ])
    .where('api_keys.prefix', '=', prefix);
  const keys = sql`
    select ${name}::text, key_id::text from holder
    where hash = ${hash} and revoked_at is null and (expires_at is null or expires_at > ${now})
  `;
  const nowMs = now.getTime();
  type Row = Awaited<ReturnType<typeof holder.executeTakeFirstOrThrow>> &
    (WindowCount | Record<keyof WindowCount, null>);
  const { rows } = await sql<Row>`
    with holder as (${holder}), counted as (${countRequests(keys, limit, nowMs)})
    select * from holder left join counted on true
  `.execute(db);
  const [row] = rows;
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
    limit: row.points === null ? null : stateOf(row, limit, nowMs),
  };
}

/** Finds a key whose project has no token or no flywheel any more. */
async function findWithoutProject(db: Db, prefix: string): Promise<FoundKeyHolder | null> {
  const key = await findApiKey(db, prefix);
  return key && { key, project: await findProject(db, key.projectId), limit: null };
}
