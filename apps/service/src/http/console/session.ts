import { ApiError } from '@flywheel/api';
import type { OpenSession } from '../../projects/sign-in.ts';
import type { SessionHolder } from '../handlers.ts';

/** The session of what the cookie holds; null when there is none, or it is over. */
export type FindOpenSession = (sessionToken: string) => Promise<OpenSession | null>;

const COOKIE = 'flywheel_session';

/**
 * Who is signed in, by the Cookie header.
 * @throws ApiError ERR_UNAUTHORIZED when there is no session cookie, or its session is over.
 */
export async function authenticateSession(
  findOpenSession: FindOpenSession,
  cookieHeader: string | undefined,
): Promise<SessionHolder> {
  const sessionToken = readCookie(cookieHeader ?? '', COOKIE);
  if (sessionToken === null) throw new ApiError('ERR_UNAUTHORIZED', { problem: 'Sign in with the project’s wallet.' });
  const session = await findOpenSession(sessionToken);
  if (session === null) throw new ApiError('ERR_UNAUTHORIZED', { problem: 'The session is over. Sign in again.' });
  return { ...session, sessionToken };
}

/**
 * The Set-Cookie header that opens a session. Scripts cannot read it, other sites cannot send it, and /v1 never sees it.
 * @param origin where the caller reaches the service: over https the cookie is Secure.
 */
export function sessionCookie(sessionToken: string, maxAgeSeconds: number, origin: string): string {
  const secure = origin.startsWith('https:') ? '; Secure' : '';
  return `${COOKIE}=${sessionToken}; Path=/console; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}

/** The Set-Cookie header that ends a session in the browser. */
export function clearedSessionCookie(origin: string): string {
  return sessionCookie('', 0, origin);
}

/**
 * A page of another site can make a browser send forms and simple requests here, with nothing but a Content-Type of
 * forms or text, and the browser names that page in Origin.
 * @throws ApiError ERR_UNSUPPORTED_MEDIA_TYPE unless the request says application/json; ERR_INVALID_REQUEST when its
 * Origin is not this service.
 */
export function requireOwnOrigin(
  headers: { readonly origin?: string | undefined; readonly 'content-type'?: string | undefined },
  ownOrigin: string,
): void {
  const { origin } = headers;
  if (origin !== undefined && (hostOf(origin) ?? 'none') !== hostOf(ownOrigin)) {
    const problem = `must be ${ownOrigin}: only its own pages may change anything here.`;
    throw new ApiError('ERR_INVALID_REQUEST', { place: 'headers.origin', problem });
  }
  const contentType = headers['content-type'];
  if (contentType?.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json') {
    throw new ApiError('ERR_UNSUPPORTED_MEDIA_TYPE', { given: contentType ?? 'nothing' });
  }
}

function readCookie(header: string, name: string): string | null {
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals !== -1 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim() || null;
  }
  return null;
}

/** Behind a proxy that ends TLS the scheme we see differs from the browser's: the host decides. */
function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
