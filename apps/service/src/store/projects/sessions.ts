import type { Db } from '../db.ts';

/** A text that a wallet was asked to sign once. */
export interface SignInChallengeRecord {
  readonly nonce: string;
  readonly wallet: string;
  readonly message: string;
  readonly expiresAt: Date;
}

export interface SessionRecord {
  /** SHA-256 of the token. */
  readonly hash: Uint8Array;
  readonly wallet: string;
  readonly expiresAt: Date;
}

export async function insertChallenge(db: Db, { expiresAt, ...challenge }: SignInChallengeRecord): Promise<void> {
  await db
    .insertInto('sign_in_challenges')
    .values({ ...challenge, expires_at: expiresAt })
    .execute();
}

/** Deletes and returns a challenge, expired or not. Of two simultaneous calls one gets it. */
export async function takeChallenge(db: Db, nonce: string): Promise<SignInChallengeRecord | null> {
  const row = await db
    .deleteFrom('sign_in_challenges')
    .where('nonce', '=', nonce)
    .returning(['nonce', 'wallet', 'message', 'expires_at'])
    .executeTakeFirst();
  return row ? { nonce: row.nonce, wallet: row.wallet, message: row.message, expiresAt: row.expires_at } : null;
}

export async function insertSession(db: Db, { expiresAt, ...session }: SessionRecord): Promise<void> {
  await db
    .insertInto('sessions')
    .values({ ...session, expires_at: expiresAt })
    .execute();
}

/** Finds a session, also an expired one. */
export async function findSession(db: Db, hash: Uint8Array): Promise<SessionRecord | null> {
  const row = await db
    .selectFrom('sessions')
    .select(['hash', 'wallet', 'expires_at'])
    .where('hash', '=', hash)
    .executeTakeFirst();
  return row ? { hash: row.hash, wallet: row.wallet, expiresAt: row.expires_at } : null;
}

export async function deleteSession(db: Db, hash: Uint8Array): Promise<void> {
  await db.deleteFrom('sessions').where('hash', '=', hash).execute();
}
