import { ApiError, type IDENTITY_OPERATIONS, type Session } from '@flywheel/api';
import { createEnvironment } from '../../projects/environment.ts';
import { createSignInChallenge, type OpenSession, signIn, signOut } from '../../projects/sign-in.ts';
import type { Handlers } from '../handlers.ts';
import type { ConsoleDeps } from './console-handlers.ts';
import { clearedSessionCookie, sessionCookie } from './session.ts';

/** Who is here, and where. */
export function createIdentityHandlers(deps: ConsoleDeps): Handlers<typeof IDENTITY_OPERATIONS> {
  const readEnvironment = createEnvironment(deps);
  return {
    getEnvironment: async ({ origin }) => ({
      status: 200,
      body: { ...(await readEnvironment()), publicUrl: deps.publicUrl ?? origin },
    }),

    createSignInChallenge: async ({ origin }, { body: { wallet } }) => {
      requireKnownOrigin(deps, origin);
      const domain = new URL(origin).host;
      return { status: 200, body: await createSignInChallenge(deps, { wallet, domain, uri: origin }) };
    },

    signIn: async ({ origin }, { body }) => {
      const { token, session, maxAgeSeconds } = await signIn(deps, body);
      const headers = { 'set-cookie': sessionCookie(token, maxAgeSeconds, origin) };
      return { status: 200, body: presentSession(deps, session), headers };
    },

    getSession: async (session) => ({ status: 200, body: presentSession(deps, session) }),

    signOut: async ({ origin, sessionToken }) => {
      await signOut(deps, sessionToken);
      return { status: 200, body: {}, headers: { 'set-cookie': clearedSessionCookie(origin) } };
    },
  };
}

function presentSession({ companyOperators }: ConsoleDeps, { wallet, expiresAt }: OpenSession): Session {
  return { wallet, expiresAt: expiresAt.toISOString(), isCompanyOperator: companyOperators.has(wallet) };
}

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/**
 * Without PUBLIC_URL the origin is what a request's Host header says, and anyone can say anything: a page of a
 * stranger's could have its own name put into a message that is good here.
 */
function requireKnownOrigin({ publicUrl }: ConsoleDeps, origin: string): void {
  if (publicUrl !== null || LOOPBACK_HOSTS.has(new URL(origin).hostname)) return;
  throw new ApiError('ERR_INVALID_REQUEST', {
    place: 'headers.host',
    problem: `says ${origin}, but this service knows no public address. Its operator sets PUBLIC_URL.`,
  });
}
