import * as z from 'zod';
import {
  ConfirmRegistrationRequest,
  CreatedKey,
  CreateKeyRequest,
  RegisteredProject,
  Registration,
  RegistrationRequest,
  RevokedKey,
  Session,
  SignInChallenge,
  SignInChallengeRequest,
  SignInRequest,
} from './console-schemas.ts';
import type { Operation } from './operation.ts';

const session = { authentication: 'session', rateLimit: 'console', fallback: 'ERR_INTERNAL' } as const;
const open = { authentication: 'none', rateLimit: 'console', fallback: 'ERR_INTERNAL' } as const;

/** What the console and `flywheel register` speak. Not part of the versioned contract. */
export const CONSOLE_OPERATIONS = {
  createSignInChallenge: {
    ...open,
    method: 'POST',
    path: '/console/api/sign-in/challenge',
    summary: 'Get a Sign-In With Solana message',
    description: 'The message names this host, the wallet, a nonce for one use and an expiry of five minutes.',
    body: SignInChallengeRequest,
    responses: { 200: { description: 'The message to sign.', schema: SignInChallenge } },
    errors: [],
  },
  signIn: {
    ...open,
    method: 'POST',
    path: '/console/api/sign-in',
    summary: 'Sign in with a signed challenge',
    description: 'Sets the session cookie: HttpOnly, SameSite=Strict.',
    body: SignInRequest,
    responses: { 200: { description: 'Signed in.', schema: Session } },
    errors: ['ERR_SIGN_IN_INVALID'],
  },
  signOut: {
    ...session,
    method: 'POST',
    path: '/console/api/sign-out',
    summary: 'End the session',
    description: 'The cookie is cleared and the session forgotten.',
    responses: { 200: { description: 'Signed out.', schema: z.object({}) } },
    errors: [],
  },
  createRegistration: {
    ...session,
    method: 'POST',
    path: '/console/api/registrations',
    summary: 'Begin to register a project',
    description:
      'Checks the mint on chain and answers the transaction that creates the multisig and its lookup table, to be signed and paid by the wallet within about a minute. Call again for a fresh one.',
    body: RegistrationRequest,
    responses: { 200: { description: 'The transaction to sign.', schema: Registration } },
    errors: ['ERR_MINT_UNSUPPORTED'],
  },
  confirmRegistration: {
    ...session,
    method: 'POST',
    path: '/console/api/registrations/{registrationId}/confirm',
    summary: 'Send the signed registration and receive the API key',
    description: 'Sends the transaction, waits for it, checks the accounts on chain. The API key is shown this once.',
    params: z.object({ registrationId: z.guid() }),
    body: ConfirmRegistrationRequest,
    responses: { 200: { description: 'The project, its vault and its first key.', schema: RegisteredProject } },
    errors: ['ERR_REGISTRATION_NOT_FOUND', 'ERR_REGISTRATION_FAILED'],
  },
  createKey: {
    ...session,
    method: 'POST',
    path: '/console/api/projects/{projectId}/keys',
    summary: 'Create an API key',
    description: 'The key is shown this once; only its hash is kept.',
    params: z.object({ projectId: z.guid() }),
    body: CreateKeyRequest,
    responses: { 200: { description: 'The key.', schema: CreatedKey } },
    errors: ['ERR_PROJECT_NOT_FOUND'],
  },
  revokeKey: {
    ...session,
    method: 'DELETE',
    path: '/console/api/projects/{projectId}/keys/{keyId}',
    summary: 'Revoke an API key',
    description: 'At once and for good; repeating answers the same.',
    params: z.object({ projectId: z.guid(), keyId: z.guid() }),
    responses: { 200: { description: 'Revoked.', schema: RevokedKey } },
    errors: ['ERR_PROJECT_NOT_FOUND', 'ERR_KEY_NOT_FOUND'],
  },
} as const satisfies { readonly [operationId: string]: Operation };

export type ConsoleOperationId = keyof typeof CONSOLE_OPERATIONS;
