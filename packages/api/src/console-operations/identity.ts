import * as z from 'zod';
import {
  Environment,
  Session,
  SignInChallenge,
  SignInChallengeRequest,
  SignInRequest,
} from '../console-schemas/identity.ts';
import type { Operation } from '../operation.ts';
import { OPEN, SESSION } from './common.ts';

export const IDENTITY_OPERATIONS = {
  getEnvironment: {
    ...OPEN,
    method: 'GET',
    path: '/console/api/environment',
    summary: 'Read the environment of the service',
    description: 'Cluster, RPC address for browsers, explorer. It does not change while the service runs.',
    responses: { 200: { description: 'The environment.', schema: Environment } },
    errors: [],
  },
  createSignInChallenge: {
    ...OPEN,
    method: 'POST',
    path: '/console/api/sign-in/challenge',
    summary: 'Get a Sign-In With Solana message',
    description: 'The message names this host, the wallet, a nonce for one use and an expiry of five minutes.',
    body: SignInChallengeRequest,
    responses: { 200: { description: 'The message to sign.', schema: SignInChallenge } },
    errors: [],
  },
  signIn: {
    ...OPEN,
    method: 'POST',
    path: '/console/api/sign-in',
    summary: 'Sign in with a signed challenge',
    description: 'Sets the session cookie: HttpOnly, SameSite=Strict.',
    body: SignInRequest,
    responses: { 200: { description: 'Signed in.', schema: Session } },
    errors: ['ERR_SIGN_IN_INVALID'],
  },
  getSession: {
    ...SESSION,
    method: 'GET',
    path: '/console/api/session',
    summary: 'Read the session',
    description: 'Identified by the session cookie.',
    responses: { 200: { description: 'The session.', schema: Session } },
    errors: [],
  },
  signOut: {
    ...SESSION,
    method: 'POST',
    path: '/console/api/sign-out',
    summary: 'End the session',
    description: 'Clears the cookie and deletes the session.',
    responses: { 200: { description: 'Signed out.', schema: z.object({}) } },
    errors: [],
  },
} as const satisfies { readonly [operationId: string]: Operation };
