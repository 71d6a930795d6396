import { randomBytes, randomUUID } from 'node:crypto';
import {
  ApiError,
  type CreatedKey,
  type CreateKeyRequest,
  type KeySummary,
  type RevokedKey,
  type RotatedKey,
  type RotateKeyRequest,
  type Scope,
} from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { Project } from '../model/project.ts';
import { insertAuditEntry } from '../store/audit.ts';
import type { Db } from '../store/db.ts';
import {
  findApiKeys,
  findStoredKey,
  insertApiKey,
  lockAndCountKeys,
  replaceApiKey,
  revokeApiKey,
  type StoredKey,
} from '../store/projects/api-keys.ts';
import { requireOwnProject, requireVisibleProject } from './access.ts';
import { createApiKey } from './api-key.ts';

interface KeyDeps {
  readonly db: Db;
  readonly clock: Pick<Clock, 'now'>;
}

/** Enough to see what has just ended. A wallet may create and revoke 20 keys a minute. */
const MAX_ENDED_KEYS = 100;

/**
 * Lists a project's keys, newest first: all that work, and the last 100 that have ended.
 * @throws ApiError ERR_PROJECT_NOT_FOUND
 */
export async function listKeys(
  deps: KeyDeps & { readonly companyOperators: ReadonlySet<Address> },
  wallet: Address,
  projectId: string,
): Promise<KeySummary[]> {
  await requireVisibleProject(deps, wallet, projectId);
  const now = deps.clock.now();
  return (await findApiKeys(deps.db, projectId, { now, maxEnded: MAX_ENDED_KEYS })).map((key) => presentKey(key, now));
}

/**
 * Creates a key for a project of this wallet.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, also for another wallet’s project; ERR_INVALID_REQUEST for a scope that the
 * project does not have or an expiry that has passed; ERR_TOO_MANY_KEYS.
 */
export async function createKey(
  { db, clock }: KeyDeps,
  wallet: Address,
  projectId: string,
  { scopes, name, expiresAt }: CreateKeyRequest,
): Promise<CreatedKey> {
  const project = await requireOwnProject({ db }, wallet, projectId);
  const foreign = scopes?.find((scope) => !project.scopes.has(scope));
  if (foreign !== undefined) {
    const own = [...project.scopes].join(', ');
    throw new ApiError('ERR_INVALID_REQUEST', {
      place: 'body.scopes',
      problem: `requests ${foreign}; the project was registered with ${own}.`,
    });
  }
  const key = {
    scopes: new Set(scopes ?? project.scopes),
    name: name ?? null,
    expiresAt: parseExpiry(expiresAt, clock.now()),
  };
  return db.transaction().execute(async (trx) => {
    const created = await storeNewKey({ db: trx, clock }, project, key);
    await requireRoom({ db: trx, clock }, projectId);
    await insertAuditEntry(trx, {
      ...entry(wallet, projectId, clock),
      action: 'key.created',
      subject: created.keyId,
      after: describe(key),
    });
    return created;
  });
}

/**
 * Replaces a key by a new one with the same scopes. The old key works until the overlap is over or it expires. Of two
 * simultaneous rotations of one key, the second fails.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_KEY_NOT_FOUND; ERR_INVALID_REQUEST for a key that has been replaced, is
 * revoked or has expired, and for an expiry that has passed; ERR_TOO_MANY_KEYS.
 */
export async function rotateKey(
  { db, clock }: KeyDeps,
  wallet: Address,
  projectId: string,
  keyId: string,
  { overlapSeconds, name, expiresAt }: RotateKeyRequest,
): Promise<RotatedKey> {
  const project = await requireOwnProject({ db }, wallet, projectId);
  const now = clock.now();
  const newExpiry = parseExpiry(expiresAt, now);
  return db.transaction().execute(async (trx) => {
    const old = await findStoredKey(trx, projectId, keyId);
    if (!old) throw new ApiError('ERR_KEY_NOT_FOUND');
    const key = { scopes: old.scopes, name: name ?? old.name, expiresAt: newExpiry };
    const created = await storeNewKey({ db: trx, clock }, project, key);
    const endsAt = new Date(now.getTime() + overlapSeconds * 1_000);
    const replacedExpiresAt = await replaceApiKey(trx, { projectId, keyId, replacedBy: created.keyId, endsAt, now });
    // The rollback also removes the new key.
    if (!replacedExpiresAt) throw await replacementError(trx, projectId, keyId);
    await requireRoom({ db: trx, clock }, projectId);
    await insertAuditEntry(trx, {
      ...entry(wallet, projectId, clock),
      action: 'key.rotated',
      subject: keyId,
      before: describe(old),
      after: { ...describe({ ...old, expiresAt: replacedExpiresAt }), replacedBy: created.keyId, new: describe(key) },
    });
    return { ...created, replacedKeyId: keyId, replacedExpiresAt: replacedExpiresAt.toISOString() };
  });
}

/**
 * Revokes a key immediately and permanently. Repeating it returns the first revocation. The caller cancels the key's batches
 * (`cancelBatchesOfKey`).
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_KEY_NOT_FOUND
 */
export async function revokeKey(
  { db, clock }: KeyDeps,
  wallet: Address,
  projectId: string,
  keyId: string,
): Promise<Omit<RevokedKey, 'cancelledBatches'>> {
  await requireOwnProject({ db }, wallet, projectId);
  return db.transaction().execute(async (trx) => {
    const now = clock.now();
    const isFirst = await revokeApiKey(trx, projectId, keyId, now);
    const key = await findStoredKey(trx, projectId, keyId);
    if (!key?.revokedAt) throw new ApiError('ERR_KEY_NOT_FOUND');
    if (isFirst) {
      const before = describe(key);
      await insertAuditEntry(trx, {
        ...entry(wallet, projectId, clock),
        action: 'key.revoked',
        subject: keyId,
        before,
      });
    }
    return { keyId, revokedAt: key.revokedAt.toISOString() };
  });
}

/** Enough for a key in each part of a system. Each adds its own requests to those of the project. */
const MAX_LIVE_KEYS = 20;

/** A window of the limit on init: a key that ended within it may have used all of its requests. */
const RECENT_MS = 60_000;

/**
 * Counts the keys that work and those that ended within the last minute, the new one included, under the lock of the project.
 * Therefore neither simultaneous requests nor replaced keys raise the project's request rate above that of 20 keys.
 */
async function requireRoom({ db: trx, clock }: KeyDeps, projectId: string): Promise<void> {
  const since = new Date(clock.now().getTime() - RECENT_MS);
  if ((await lockAndCountKeys(trx, projectId, since)) <= MAX_LIVE_KEYS) return;
  throw new ApiError('ERR_TOO_MANY_KEYS', { max: MAX_LIVE_KEYS });
}

/** Creates a key, stores its hash and returns the key, which cannot be read again. */
export async function storeNewKey(
  { db, clock }: KeyDeps,
  { id: projectId }: Pick<Project, 'id'>,
  { scopes, name, expiresAt }: NewKey,
): Promise<CreatedKey> {
  const { apiKey, prefix, hash } = createApiKey(randomBytes(32));
  const keyId = randomUUID();
  await insertApiKey(db, { id: keyId, projectId, prefix, hash, scopes, name, expiresAt, createdAt: clock.now() });
  return { keyId, apiKey };
}

interface NewKey {
  readonly scopes: ReadonlySet<Scope>;
  readonly name: string | null;
  readonly expiresAt: Date | null;
}

function presentKey(key: StoredKey, now: Date): KeySummary {
  return {
    keyId: key.id,
    ...(key.name !== null && { name: key.name }),
    prefix: key.prefix,
    scopes: [...key.scopes],
    state: stateOf(key, now),
    dateCreated: key.createdAt.toISOString(),
    ...(key.lastUsedAt && { lastUsedAt: key.lastUsedAt.toISOString() }),
    ...(key.expiresAt && { expiresAt: key.expiresAt.toISOString() }),
    ...(key.revokedAt && { revokedAt: key.revokedAt.toISOString() }),
    ...(key.replacedBy !== null && { replacedBy: key.replacedBy }),
  };
}

/** A key that was revoked or has expired shows that, even if it was replaced before. */
function stateOf({ revokedAt, expiresAt, replacedBy }: StoredKey, now: Date): KeySummary['state'] {
  if (revokedAt) return 'revoked';
  if (expiresAt && expiresAt <= now) return 'expired';
  return replacedBy === null ? 'active' : 'replaced';
}

function parseExpiry(expiresAt: string | undefined, now: Date): Date | null {
  if (expiresAt === undefined) return null;
  const parsed = new Date(expiresAt);
  if (parsed > now) return parsed;
  throw new ApiError('ERR_INVALID_REQUEST', { place: 'body.expiresAt', problem: `is ${expiresAt}, which has passed.` });
}

function entry(wallet: Address, projectId: string, clock: Pick<Clock, 'now'>) {
  return { at: clock.now(), actor: wallet, projectId };
}

/** Describes a key for the audit log, without any secret. */
function describe({ name, scopes, expiresAt }: NewKey) {
  return { name, scopes: [...scopes], expiresAt: expiresAt?.toISOString() ?? null };
}

async function replacementError(trx: Db, projectId: string, keyId: string): Promise<ApiError> {
  const key = await findStoredKey(trx, projectId, keyId);
  if (!key) return new ApiError('ERR_KEY_NOT_FOUND');
  return new ApiError('ERR_INVALID_REQUEST', { place: 'params.keyId', problem: endOf(key) });
}

function endOf({ id, revokedAt, replacedBy, expiresAt }: StoredKey): string {
  if (revokedAt) return `names ${id}, which was revoked at ${revokedAt.toISOString()}. Create a new key.`;
  if (replacedBy !== null) return `names ${id}, which ${replacedBy} replaces already. Rotate that one.`;
  return `names ${id}, which expired at ${expiresAt?.toISOString()}. Create a new key.`;
}
