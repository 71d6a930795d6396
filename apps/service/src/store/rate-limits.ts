import type { RateLimitName } from '@flywheel/api';
import { type RawBuilder, sql } from 'kysely';
import type { Clock } from '../model/clock.ts';
import type { Db } from './db.ts';

export interface RateLimits {
  readonly limits: Readonly<Record<RateLimitName, RateLimit>>;
  /** Counts one request of `key` against a limit. */
  consume(name: RateLimitName, key: string): Promise<RateLimitState>;
}

/** Maximum of requests within a number of seconds after the first one. */
export interface RateLimit {
  readonly requests: number;
  readonly seconds: number;
}

export interface RateLimitState {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the count is reset, rounded up. */
  readonly resetSeconds: number;
}

/** Requests of a key within its window, and the window's end in milliseconds since 1970. */
export interface WindowCount {
  readonly points: number;
  readonly expire: bigint;
}

/** Creates limits counted in the database, which are exact across processes, since one statement both counts and answers. */
export function createRateLimits(db: Db, limits: RateLimits['limits'], clock: Pick<Clock, 'now'>): RateLimits {
  return {
    limits,
    async consume(name, key) {
      const nowMs = clock.now().getTime();
      const { rows } = await countRequests(sql`select ${name}::text, ${key}::text`, limits[name], nowMs).execute(db);
      const [counted] = rows;
      if (!counted) throw new Error(`A request of ${name} was not counted.`);
      return stateOf(counted, limits[name], nowMs);
    },
  };
}

/**
 * Builds the statement that counts one request for each row of a query, whose columns are the name of the limit and the key.
 * It returns a `WindowCount` for each.
 */
export function countRequests(keys: RawBuilder<unknown>, { seconds }: RateLimit, nowMs: number) {
  const end = nowMs + seconds * 1_000;
  return sql<WindowCount>`
    insert into rate_limits as counted (key, points, expire)
    select keys.name || ':' || keys.key, 1, ${end}::bigint from (${keys}) as keys (name, key)
    on conflict (key) do update set
      points = case when counted.expire <= ${nowMs}::bigint then 1 else counted.points + 1 end,
      expire = case when counted.expire <= ${nowMs}::bigint then excluded.expire else counted.expire end
    returning points, expire
  `;
}

export function stateOf({ points, expire }: WindowCount, { requests }: RateLimit, nowMs: number): RateLimitState {
  return {
    allowed: points <= requests,
    remaining: Math.max(0, requests - points),
    resetSeconds: Math.max(0, Math.ceil((Number(expire) - nowMs) / 1_000)),
  };
}
