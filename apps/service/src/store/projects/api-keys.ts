import type { Scope } from '@flywheel/api';
import { sql } from 'kysely';
import type { FoundApiKey } from '../../model/key-holder.ts';
import type { Db } from '../db.ts';

/** A stored key: enough to recognize it, not enough to use it. */
export interface ApiKeyRecord {
  readonly id: string;
  readonly projectId: string;
  /** Finds the key; unique. */
  readonly prefix: string;
  /** SHA-256 of the complete key. */
  readonly hash: Uint8Array;
  readonly name: string | null;
  readonly scopes: ReadonlySet<Scope>;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

/** A key as its owner may see it. */
export interface StoredKey extends Omit<ApiKeyRecord, 'projectId' | 'hash'> {
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
  /** Key that replaced it in a rotation. */
  readonly replacedBy: string | null;
}

export async function insertApiKey(db: Db, key: ApiKeyRecord): Promise<void> {
  await db
    .insertInto('api_keys')
    .values({
      id: key.id,
      project_id: key.projectId,
      prefix: key.prefix,
      hash: key.hash,
      name: key.name,
      scopes: [...key.scopes],
      created_at: key.createdAt,
      expires_at: key.expiresAt,
    })
    .execute();
}

/** Finds a key by its prefix, also a revoked or expired one; the caller checks that. */
export async function findApiKey(db: Db, prefix: string): Promise<FoundApiKey | null> {
  const row = await db
    .selectFrom('api_keys')
    .select(['id', 'project_id', 'hash', 'scopes', 'expires_at', 'revoked_at', 'last_used_at'])
    .where('prefix', '=', prefix)
    .executeTakeFirst();
  if (!row) return null;
  return {
    id: row.id,
    projectId: row.project_id,
    hash: row.hash,
    scopes: new Set(row.scopes),
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}

/** Lists a project's keys that work, and those that were the last to be revoked or to expire; newest first. */
export async function findApiKeys(
  db: Db,
  projectId: string,
  { now, maxEnded }: { readonly now: Date; readonly maxEnded: number },
): Promise<StoredKey[]> {
  const ended = db
    .selectFrom('api_keys')
    .select('id')
    .where('project_id', '=', projectId)
    .where((eb) => eb.or([eb('revoked_at', 'is not', null), eb('expires_at', '<=', now)]))
    // `least` ignores null.
    .orderBy(sql`least(revoked_at, expires_at)`, 'desc')
    .orderBy('id')
    .limit(maxEnded);
  const rows = await selectKeys(db, projectId)
    .where((eb) =>
      eb.or([
        eb.and([eb('revoked_at', 'is', null), eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)])]),
        eb('id', 'in', ended),
      ]),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();
  return rows.map(toStoredKey);
}

/** Reads a project's key; null if the project has no such key. */
export async function findStoredKey(db: Db, projectId: string, keyId: string): Promise<StoredKey | null> {
  const row = await selectKeys(db, projectId).where('id', '=', keyId).executeTakeFirst();
  return row ? toStoredKey(row) : null;
}

/** Finds working keys that expire before a time and have no replacement that works; the next to expire first. */
export async function findExpiringKeys(
  db: Db,
  projectId: string,
  { now, before }: { readonly now: Date; readonly before: Date },
): Promise<StoredKey[]> {
  const rows = await selectKeys(db, projectId)
    .where('revoked_at', 'is', null)
    .where((eb) => {
      // A replacement that was replaced itself has a successor, which this list has if it ends too.
      const ended = eb
        .selectFrom('api_keys as next')
        .select('next.id')
        .whereRef('next.id', '=', 'api_keys.replaced_by')
        .where('next.replaced_by', 'is', null)
        .where((of) => of.or([of('next.revoked_at', 'is not', null), of('next.expires_at', '<=', now)]));
      return eb.or([eb('replaced_by', 'is', null), eb.exists(ended)]);
    })
    .where('expires_at', '>', now)
    .where('expires_at', '<', before)
    .orderBy('expires_at')
    .execute();
  return rows.map(toStoredKey);
}

/** Locks a project until the transaction ends, and counts its keys that have worked since a time. */
export async function lockAndCountKeys(trx: Db, projectId: string, since: Date): Promise<number> {
  await trx.selectFrom('projects').select('id').where('id', '=', projectId).forNoKeyUpdate().execute();
  const { count } = await trx
    .selectFrom('api_keys')
    .select((eb) => eb.fn.countAll<bigint>().as('count'))
    .where('project_id', '=', projectId)
    .where((eb) => eb.or([eb('revoked_at', 'is', null), eb('revoked_at', '>', since)]))
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', since)]))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Records when a key was used. Of simultaneous uses the latest stays. */
export async function touchApiKey(db: Db, keyId: string, now: Date): Promise<void> {
  await db
    .updateTable('api_keys')
    .set({ last_used_at: now })
    .where('id', '=', keyId)
    .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', now)]))
    .execute();
}

/** Revokes a key once. @returns false if the project has no such key, or it is already revoked. */
export async function revokeApiKey(db: Db, projectId: string, keyId: string, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('id', '=', keyId)
    .where('project_id', '=', projectId)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Sets the time at which a key ends, unless it ends before, and the key that replaces it.
 * @returns null, and changes nothing, if it is already replaced, revoked or expired: of two simultaneous calls the
 * second waits and gets null.
 */
export async function replaceApiKey(
  trx: Db,
  {
    projectId,
    keyId,
    replacedBy,
    endsAt,
    now,
  }: {
    readonly projectId: string;
    readonly keyId: string;
    readonly replacedBy: string;
    readonly endsAt: Date;
    readonly now: Date;
  },
): Promise<Date | null> {
  const row = await trx
    .updateTable('api_keys')
    // `least` ignores null.
    .set({ replaced_by: replacedBy, expires_at: sql<Date>`least(expires_at, ${endsAt}::timestamptz)` })
    .where('id', '=', keyId)
    .where('project_id', '=', projectId)
    .where('revoked_at', 'is', null)
    .where('replaced_by', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
    .returning('expires_at')
    .executeTakeFirst();
  return row?.expires_at ?? null;
}

function selectKeys(db: Db, projectId: string) {
  return db
    .selectFrom('api_keys')
    .select(['id', 'prefix', 'name', 'scopes', 'created_at', 'expires_at', 'revoked_at', 'last_used_at', 'replaced_by'])
    .where('project_id', '=', projectId);
}

function toStoredKey(row: Awaited<ReturnType<ReturnType<typeof selectKeys>['executeTakeFirstOrThrow']>>): StoredKey {
  return {
    id: row.id,
    prefix: row.prefix,
    name: row.name,
    scopes: new Set(row.scopes),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
    replacedBy: row.replaced_by,
  };
}
