import { createHash, timingSafeEqual } from 'node:crypto';
import {
  API_KEY_FORMAT,
  API_KEY_HEADER,
  API_KEY_PATTERN,
  ApiError,
  type RateLimitName,
  type Scope,
} from '@flywheel/api';
import type { BatchWithoutPipelines } from '../../model/batch.ts';
import type { FoundKeyHolder, GivenKey, KeyRequest } from '../../model/key-holder.ts';
import { type Project, projectMoving } from '../../model/project.ts';
import type { RateLimitState } from '../../model/rate-limit.ts';
import { parseApiKey } from '../../projects/api-key.ts';
import type { OpenSession } from '../../projects/sign-in.ts';
import { unsupportedType } from '../wire/errors.ts';
import type { AddressLimits } from './address-limits.ts';

export interface AuthenticateDeps {
  readonly addressLimits: Pick<AddressLimits, 'requireSearch'>;
  /** Finds a key by its prefix, and counts the request if the key has this hash and can be used. */
  findKeyHolder(given: GivenKey, request: KeyRequest): Promise<FoundKeyHolder | null>;
  /** Returns true if a project, or the one with a key of this prefix, has left this shard. */
  hasDeparted(by: { readonly keyPrefix: string } | { readonly projectId: string }): Promise<boolean>;
  /** Records that the key was used at this time. */
  touchApiKey(keyId: string, now: Date): Promise<void>;
  /** Finds the open session of a cookie's token; null when there is none or it has expired. */
  findOpenSession(sessionToken: string): Promise<OpenSession | null>;
}

/** The caller of an operation that takes an API key. */
export interface KeyHolder {
  readonly project: Project;
  readonly keyId: string;
  /** The key's scopes, which may be fewer than its project's. */
  readonly keyScopes: ReadonlySet<Scope>;
  /** The batch of pipelines that the path of a GET names, read together with the key; null if it names none of this project. */
  readonly batch: BatchWithoutPipelines | null;
}

/** The caller of a console operation. */
export interface SessionHolder extends OpenSession {
  /** The cookie's value. */
  readonly sessionToken: string;
}

/**
 * Authenticates the API key given in `x-service-api-key`, and counts the request against a limit of the key.
 * @throws ApiError ERR_UNAUTHORIZED when the key is missing, malformed, revoked or expired; ERR_KEY_NOT_FOUND when it
 * is well formed but not in the database; ERR_TOKEN_NOT_FOUND or ERR_FLYWHEEL_NOT_FOUND when that part of its project
 * was archived; ERR_PROJECT_MOVING when its project has left this shard; ERR_RATE_LIMITED when too many keys of the
 * address were unknown.
 * @param address the caller's, as it is counted.
 * @param batchId the batch that the request reads; null for none.
 * @returns the caller, the state of the limit, which may be passed, and if the project is about to move to another shard.
 */
export async function authenticateKey(
  deps: AuthenticateDeps,
  apiKey: string | undefined,
  {
    address,
    rateLimit,
    batchId,
  }: { readonly address: string; readonly rateLimit: RateLimitName; readonly batchId: string | null },
): Promise<{ readonly holder: KeyHolder; readonly limit: RateLimitState; readonly isMoving: boolean }> {
  if (apiKey === undefined || apiKey === '') throw unauthorized(`Send an API key in the header ${API_KEY_HEADER}.`);
  const given = parseApiKey(apiKey);
  if (!given) {
    const problem = API_KEY_PATTERN.test(apiKey)
      ? 'is mistyped: its last six characters, a checksum, do not belong to the others. Copy it again.'
      : `is malformed: it has ${apiKey.length} characters; a key is ${API_KEY_FORMAT}, the last six a checksum of the rest.`;
    throw unauthorized(`The API key in ${API_KEY_HEADER} ${problem}`);
  }
  const credential = Buffer.from(given.hash).toString('base64');
  const record = await deps.addressLimits.requireSearch(address, credential);
  const search = async () => {
    const holder = await deps.findKeyHolder(given, { name: rateLimit, batchId });
    if (!holder && (await deps.hasDeparted({ keyPrefix: given.prefix }))) throw projectMoving();
    return holder;
  };
  const found = await search().catch((error: unknown) => {
    record(null);
    throw error;
  });
  // Compare even when no key was found, so that the response time does not reveal which prefixes exist.
  const matches = timingSafeEqual(given.hash, found?.key.hash ?? NO_HASH);
  record(found !== null && matches && found.key.revokedAt === null);
  if (!found || !matches) throw new ApiError('ERR_KEY_NOT_FOUND');

  const { checkedAt, key, project, isMoving, limit, batch } = found;
  if (key.revokedAt) throw unauthorized(`The API key was revoked at ${key.revokedAt.toISOString()}.`);
  if (key.expiresAt && key.expiresAt <= checkedAt) {
    throw unauthorized(`The API key expired at ${key.expiresAt.toISOString()}.`);
  }
  if (project === null) throw new ApiError('ERR_KEY_NOT_FOUND');
  if (project === 'token-gone') throw new ApiError('ERR_TOKEN_NOT_FOUND');
  if (project === 'flywheel-gone') throw new ApiError('ERR_FLYWHEEL_NOT_FOUND');
  if (limit === null) throw new Error(`A request of key ${key.id} was not counted.`);
  const isTouchDue = key.lastUsedAt === null || checkedAt.getTime() - key.lastUsedAt.getTime() > TOUCH_INTERVAL_MS;
  if (isTouchDue) await deps.touchApiKey(key.id, checkedAt);
  return { holder: { project, keyId: key.id, keyScopes: key.scopes, batch }, limit, isMoving };
}

const NO_HASH = new Uint8Array(32);

/** Clients that poll use a key ten times a second; the time of its last use is needed in days. */
const TOUCH_INTERVAL_MS = 60_000;

/**
 * Authenticates the session of the Cookie header.
 * @param origin where the caller reaches the service.
 * @param address the caller's, as it is counted.
 * @throws ApiError ERR_UNAUTHORIZED when there is no session cookie or its session has expired; ERR_RATE_LIMITED when too
 * many cookies of the address were unknown.
 */
export async function authenticateSession(
  { findOpenSession, addressLimits }: Pick<AuthenticateDeps, 'findOpenSession' | 'addressLimits'>,
  cookieHeader: string | undefined,
  origin: string,
  address: string,
): Promise<SessionHolder> {
  const sessionToken = readCookie(cookieHeader ?? '', cookieOf(origin).name);
  if (sessionToken === null) throw unauthorized('Sign in with the project’s wallet.');
  const credential = createHash('sha256').update(sessionToken).digest('base64');
  const record = await addressLimits.requireSearch(address, credential);
  const session = await findOpenSession(sessionToken).catch((error: unknown) => {
    record(null);
    throw error;
  });
  record(session !== null);
  if (session === null) throw unauthorized('The session has expired. Sign in again.');
  return { ...session, sessionToken };
}

/**
 * Builds the Set-Cookie header that opens a session. Scripts cannot read it, other sites cannot send it, and /v1 does not
 * take it.
 * @param origin where the caller reaches the service.
 */
export function sessionCookie(sessionToken: string, maxAgeSeconds: number, origin: string): string {
  const { name, attributes } = cookieOf(origin);
  return `${name}=${sessionToken}; ${attributes}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`;
}

/** Builds the Set-Cookie header that deletes the session cookie. */
export function clearedSessionCookie(origin: string): string {
  return sessionCookie('', 0, origin);
}

/**
 * Over https browsers take a `__Host-` cookie only from this host itself, so that a page of a sibling domain cannot plant a
 * session here. Such a cookie must be Secure and have the path `/`, which is not possible over http.
 */
function cookieOf(origin: string): { readonly name: string; readonly attributes: string } {
  return origin.startsWith('https:')
    ? { name: '__Host-flywheel_session', attributes: 'Path=/; Secure' }
    : { name: 'flywheel_session', attributes: 'Path=/console' };
}

/**
 * Protects the console's operations from cross-site request forgery. A page of another site can make a browser send
 * forms and other simple requests here, but only with a form or text Content-Type, and the browser names that site in
 * Origin.
 * @throws ApiError ERR_UNSUPPORTED_MEDIA_TYPE unless the Content-Type is application/json; ERR_INVALID_REQUEST when the
 * Origin is not this service.
 */
export function requireOwnOrigin(
  headers: { readonly origin?: string | undefined; readonly 'content-type'?: string | undefined },
  ownOrigin: string,
): void {
  const { origin } = headers;
  if (origin !== undefined && (hostOf(origin) ?? 'none') !== hostOf(ownOrigin)) {
    const problem = `must be ${ownOrigin}: only its own pages may change data here.`;
    throw new ApiError('ERR_INVALID_REQUEST', { place: 'headers.origin', problem });
  }
  const contentType = headers['content-type'];
  if (contentType?.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json') {
    throw unsupportedType(contentType);
  }
}

function readCookie(header: string, name: string): string | null {
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals !== -1 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim() || null;
  }
  return null;
}

/** Compare hosts, not schemes: behind a proxy that ends TLS the scheme seen here differs from the browser's. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}

function unauthorized(problem: string): ApiError {
  return new ApiError('ERR_UNAUTHORIZED', { problem });
}
