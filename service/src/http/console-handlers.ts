import { ApiError, type CONSOLE_OPERATIONS } from '@flywheel/api';
import { createKey, revokeKey } from '../projects/keys.ts';
import { confirmRegistration, createRegistration, type RegisterDeps } from '../projects/register.ts';
import { createSignInChallenge, signIn, signOut } from '../projects/sign-in.ts';
import type { Handlers } from './handlers.ts';
import { clearedSessionCookie, sessionCookie } from './session.ts';

export interface ConsoleDeps extends RegisterDeps {
  /** Where people reach the service; null: on loopback only. */
  readonly publicUrl: string | null;
}

/** What the console and `flywheel register` speak. */
export function createConsoleHandlers(deps: ConsoleDeps): Handlers<typeof CONSOLE_OPERATIONS> {
  return {
    createSignInChallenge: async ({ origin }, { body: { wallet } }) => {
      requireKnownOrigin(deps, origin);
      const domain = new URL(origin).host;
      return { status: 200, body: await createSignInChallenge(deps, { wallet, domain, uri: origin }) };
    },

    signIn: async ({ origin }, { body }) => {
      const { token, session, maxAgeSeconds } = await signIn(deps, body);
      return { status: 200, body: session, headers: { 'set-cookie': sessionCookie(token, maxAgeSeconds, origin) } };
    },

    signOut: async ({ origin, sessionToken }) => {
      await signOut(deps, sessionToken);
      return { status: 200, body: {}, headers: { 'set-cookie': clearedSessionCookie(origin) } };
    },

    createRegistration: async ({ wallet }, { body }) => ({
      status: 200,
      body: await createRegistration(deps, wallet, body),
    }),

    confirmRegistration: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await confirmRegistration(deps, wallet, params.registrationId.toLowerCase(), body.signedTransaction),
    }),

    createKey: async ({ wallet }, { params, body }) => ({
      status: 200,
      body: await createKey(deps, wallet, params.projectId.toLowerCase(), body),
    }),

    revokeKey: async ({ wallet }, { params }) => ({
      status: 200,
      body: await revokeKey(deps, wallet, params.projectId.toLowerCase(), params.keyId.toLowerCase()),
    }),
  };
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
