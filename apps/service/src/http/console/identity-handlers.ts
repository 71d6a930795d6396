import { ApiError, type IDENTITY_OPERATIONS, type Session } from '@flywheel/api';
import { isLoopbackHost } from '@flywheel/protocol';
import { createSignInChallenge, type OpenSession, signIn, signOut } from '../../projects/sign-in.ts';
import { clearedSessionCookie, sessionCookie } from '../operations/authentication.ts';
import type { Handlers } from '../operations/handlers.ts';
import type { ConsoleDeps } from './deps.ts';

/** Handlers of the operations that describe the environment and sign a wallet in and out. */
export function createIdentityHandlers(deps: ConsoleDeps): Handlers<typeof IDENTITY_OPERATIONS> {
  return {
    getEnvironment: async ({ origin }) => ({
      status: 200,
      body: { ...(await deps.readEnvironment()), publicUrl: deps.publicUrl ?? origin },
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

/**
 * Refuses to sign in under an unknown host name. Without PUBLIC_URL the origin comes from the request's Host header,
 * which anyone can set: another site could obtain a sign-in message that names itself and is valid here.
 */
function requireKnownOrigin({ publicUrl }: ConsoleDeps, origin: string): void {
  if (publicUrl !== null || isLoopbackHost(new URL(origin).hostname)) return;
  throw new ApiError('ERR_INVALID_REQUEST', {
    place: 'headers.host',
    problem: `is ${origin}, but PUBLIC_URL is not set: without it, people can sign in at a loopback address only.`,
  });
}
