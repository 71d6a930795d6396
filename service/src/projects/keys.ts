import { randomBytes, randomUUID } from 'node:crypto';
import { ApiError, type CreatedKey, type CreateKeyRequest, type RevokedKey, type Scope } from '@flywheel/api';
import type { Address } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { Project } from '../model/project.ts';
import { insertApiKey, revokeApiKey } from '../store/api-keys.ts';
import type { Db } from '../store/db.ts';
import { requireOwnProject } from './access.ts';
import { createApiKey } from './api-key.ts';

interface KeyDeps {
  readonly db: Db;
  readonly clock: Clock;
}

/**
 * A new key of a project of this wallet.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, also for another wallet’s project; ERR_INVALID_REQUEST for a scope that the
 * project does not have or an expiry that has passed.
 */
export async function createKey(
  deps: KeyDeps,
  wallet: Address,
  projectId: string,
  { scopes, name, expiresAt }: CreateKeyRequest,
): Promise<CreatedKey> {
  const project = await requireOwnProject(deps, wallet, projectId);
  const foreign = scopes?.find((scope) => !project.scopes.has(scope));
  if (foreign !== undefined) {
    const own = [...project.scopes].join(', ');
    throw new ApiError('ERR_INVALID_REQUEST', {
      place: 'body.scopes',
      problem: `asks for ${foreign}; the project was registered with ${own}.`,
    });
  }
  if (expiresAt !== undefined && new Date(expiresAt) <= deps.clock.now()) {
    throw new ApiError('ERR_INVALID_REQUEST', {
      place: 'body.expiresAt',
      problem: `is ${expiresAt}, which has passed.`,
    });
  }
  return storeNewKey(deps, project, {
    scopes: new Set(scopes ?? project.scopes),
    name: name ?? null,
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt),
  });
}

/**
 * Revokes at once and for good; repeating answers the first revocation.
 * @throws ApiError ERR_PROJECT_NOT_FOUND, ERR_KEY_NOT_FOUND
 */
export async function revokeKey(deps: KeyDeps, wallet: Address, projectId: string, keyId: string): Promise<RevokedKey> {
  await requireOwnProject(deps, wallet, projectId);
  const revokedAt = await revokeApiKey(deps.db, projectId, keyId, deps.clock.now());
  if (!revokedAt) throw new ApiError('ERR_KEY_NOT_FOUND');
  return { keyId, revokedAt: revokedAt.toISOString() };
}

/** Stores the hash of a new key and answers the key itself, for the last time. */
export async function storeNewKey(
  { db, clock }: KeyDeps,
  { id: projectId }: Pick<Project, 'id'>,
  {
    scopes,
    name,
    expiresAt,
  }: { readonly scopes: ReadonlySet<Scope>; readonly name: string | null; readonly expiresAt: Date | null },
): Promise<CreatedKey> {
  const { apiKey, prefix, hash } = createApiKey(randomBytes(32));
  const keyId = randomUUID();
  await insertApiKey(db, { id: keyId, projectId, prefix, hash, scopes, name, expiresAt, createdAt: clock.now() });
  return { keyId, apiKey };
}
