import type { Db } from './db.ts';

/** Deletes what has no meaning after its time: sign-in challenges, sessions, and windows of rate limits. */
export async function deleteExpired(db: Db, now: Date): Promise<void> {
  await db.deleteFrom('sign_in_challenges').where('expires_at', '<=', now).execute();
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute();
  await db.deleteFrom('rate_limits').where('expire', '<=', BigInt(now.getTime())).execute();
}
