import { createHash, randomBytes } from 'node:crypto';
import { ApiError, SIGN_IN_STATEMENT, type SignInChallenge, writeSignInMessage } from '@flywheel/api';
import { address, isAddress, isSignedBy, NOT_AN_ADDRESS } from '@flywheel/protocol';
import type { Address } from '@solana/kit';
import type { Clock } from '../model/clock.ts';
import type { Db } from '../store/db.ts';
import {
  deleteSession,
  findSession,
  insertChallenge,
  insertSession,
  takeChallenge,
} from '../store/projects/sessions.ts';

interface SignInDeps {
  readonly db: Db;
  readonly clock: Clock;
}

/** Long enough to sign with a hardware wallet. */
const CHALLENGE_MS = 5 * 60_000;
/** A working day. */
const SESSION_MS = 12 * 3_600_000;

/**
 * Creates a Sign-In With Solana message for one use (github.com/phantom/sign-in-with-solana).
 * @param domain exact host and port: wallets warn if the page has another one.
 */
export async function createSignInChallenge(
  { db, clock }: SignInDeps,
  { wallet, domain, uri }: { readonly wallet: string; readonly domain: string; readonly uri: string },
): Promise<SignInChallenge> {
  if (!isAddress(wallet)) {
    throw new ApiError('ERR_INVALID_REQUEST', { place: 'body.wallet', problem: NOT_AN_ADDRESS });
  }
  const nonce = randomBytes(16).toString('hex');
  const issuedAt = clock.now();
  const expiresAt = new Date(issuedAt.getTime() + CHALLENGE_MS);
  const message = writeSignInMessage({
    domain,
    address: wallet,
    statement: SIGN_IN_STATEMENT,
    uri,
    version: '1',
    nonce,
    issuedAt: issuedAt.toISOString(),
    expirationTime: expiresAt.toISOString(),
  });
  await insertChallenge(db, { nonce, wallet, message, expiresAt });
  return { message, expiresAt: expiresAt.toISOString() };
}

/** A session that has not expired. */
export interface OpenSession {
  readonly wallet: Address;
  readonly expiresAt: Date;
}

/**
 * Exchanges a signed challenge for a session. The token goes into the cookie; only its hash is stored.
 * @throws ApiError ERR_SIGN_IN_INVALID when the challenge is unknown, used, expired, another wallet’s, altered, or its
 * signature does not verify.
 */
export async function signIn(
  { db, clock }: SignInDeps,
  given: { readonly wallet: string; readonly message: string; readonly signature: string },
): Promise<{ readonly token: string; readonly session: OpenSession; readonly maxAgeSeconds: number }> {
  const nonce = /^Nonce: ([0-9a-f]{32})$/m.exec(given.message)?.[1];
  const challenge = nonce === undefined ? null : await takeChallenge(db, nonce);
  if (!challenge || challenge.expiresAt <= clock.now()) {
    throw invalid('The challenge is unknown, used or expired. Request a new one.');
  }
  if (challenge.wallet !== given.wallet || challenge.message !== given.message) {
    throw invalid('The message is not the challenge of this wallet.');
  }
  if (!(await isSignedBy(address(challenge.wallet), challenge.message, given.signature))) {
    throw invalid(`The signature is not valid for ${challenge.wallet}.`);
  }
  const token = randomBytes(32).toString('base64url');
  const expiresAt = new Date(clock.now().getTime() + SESSION_MS);
  await insertSession(db, { hash: hashOf(token), wallet: challenge.wallet, expiresAt });
  return {
    token,
    session: { wallet: address(challenge.wallet), expiresAt },
    maxAgeSeconds: SESSION_MS / 1_000,
  };
}

/** Finds the session of a token; null if it does not exist or has expired. */
export async function findOpenSession({ db, clock }: SignInDeps, token: string): Promise<OpenSession | null> {
  const session = await findSession(db, hashOf(token));
  if (!session || session.expiresAt <= clock.now()) return null;
  return { wallet: address(session.wallet), expiresAt: session.expiresAt };
}

export async function signOut({ db }: Pick<SignInDeps, 'db'>, token: string): Promise<void> {
  await deleteSession(db, hashOf(token));
}

function hashOf(token: string): Uint8Array {
  return createHash('sha256').update(token).digest();
}

function invalid(problem: string): ApiError {
  return new ApiError('ERR_SIGN_IN_INVALID', { problem });
}
