import { timingSafeEqual } from 'node:crypto';
import { ApiError, type Scope } from '@flywheel/api';
import type { Project } from '../model/project.ts';
import { parseApiKey } from '../projects/api-key.ts';
import type { KeyHolder } from './handlers.ts';

export interface AuthenticateDeps {
  /** By the key's first twelve characters. */
  findApiKey(prefix: string): Promise<FoundApiKey | null>;
  /** Says which is gone when the project's token or flywheel no longer is. */
  findProject(projectId: string): Promise<Project | null | 'token-gone' | 'flywheel-gone'>;
  /** Notes that the key was used. */
  touchApiKey(keyId: string, now: Date): Promise<void>;
  readonly clock: { now(): Date };
}

export interface FoundApiKey {
  readonly id: string;
  readonly projectId: string;
  readonly hash: Uint8Array;
  readonly scopes: ReadonlySet<Scope>;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

export const API_KEY_HEADER = 'x-service-api-key';

/**
 * Who holds the API key given in `x-service-api-key`.
 * @throws ApiError ERR_UNAUTHORIZED when it is missing, no key of ours by its shape, revoked or expired;
 * ERR_KEY_NOT_FOUND when it is well formed and unknown; ERR_TOKEN_NOT_FOUND or ERR_FLYWHEEL_NOT_FOUND when what it
 * opens is gone.
 */
export async function authenticate(deps: AuthenticateDeps, apiKey: string | undefined): Promise<KeyHolder> {
  if (apiKey === undefined || apiKey === '') throw unauthorized(`Send an API key in the header ${API_KEY_HEADER}.`);
  const given = parseApiKey(apiKey);
  if (!given) {
    throw unauthorized(
      `The API key in ${API_KEY_HEADER} is malformed: it has ${apiKey.length} characters; a key is fwk_ and 49 letters and digits, the last six a checksum of the rest.`,
    );
  }
  const key = await deps.findApiKey(given.prefix);
  // Compared even when nothing was found, so that time does not tell which prefixes exist.
  const matches = timingSafeEqual(given.hash, key?.hash ?? NO_HASH);
  if (!key || !matches) throw new ApiError('ERR_KEY_NOT_FOUND');

  const now = deps.clock.now();
  if (key.revokedAt) throw unauthorized(`The API key was revoked at ${key.revokedAt.toISOString()}.`);
  if (key.expiresAt && key.expiresAt <= now) {
    throw unauthorized(`The API key expired at ${key.expiresAt.toISOString()}.`);
  }
  const [project] = await Promise.all([deps.findProject(key.projectId), deps.touchApiKey(key.id, now)]);
  if (project === null) throw new ApiError('ERR_KEY_NOT_FOUND');
  if (project === 'token-gone') throw new ApiError('ERR_TOKEN_NOT_FOUND');
  if (project === 'flywheel-gone') throw new ApiError('ERR_FLYWHEEL_NOT_FOUND');
  return { project, keyId: key.id, keyScopes: key.scopes };
}

const NO_HASH = new Uint8Array(32);

function unauthorized(problem: string): ApiError {
  return new ApiError('ERR_UNAUTHORIZED', { problem });
}
