import { type RawBuilder, sql } from 'kysely';
import type { Clock } from '../model/clock.ts';
import type { RateLimit, RateLimitState, RateLimits } from '../model/rate-limit.ts';
import type { Db } from './db.ts';
import { prepare } from './prepare.ts';

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
      const [counted] = await countOne(db, { name, key, nowMs, endMs: endOf(limits[name], nowMs) });
      if (!counted) throw new Error(`A request of ${name} was not counted.`);
      return stateOf(counted, limits[name], nowMs);
    },
  };
}

/** The time of a request, and the end of a window that begins with it, in milliseconds since 1970. */
export interface WindowTimes {
  readonly nowMs: number;
  readonly endMs: number;
}

/** Computes the end of a window that begins now. */
export function endOf({ seconds }: RateLimit, nowMs: number): number {
  return nowMs + seconds * 1_000;
}

/**
 * Builds the statement that counts requests for each row of a query, whose columns are the name of the limit, the key and the
 * number of requests. It returns a `WindowCount` for each.
 */
export function countRequests(
  keys: RawBuilder<unknown>,
  { nowMs, endMs }: { readonly [Name in keyof WindowTimes]: RawBuilder<number> },
) {
  return sql<WindowCount>`
    insert into rate_limits as counted (key, points, expire)
    select keys.name || ':' || keys.key, keys.requests, ${endMs}::bigint from (${keys}) as keys (name, key, requests)
    on conflict (key) do update set
      points = case when counted.expire <= ${nowMs}::bigint then 0 else counted.points end + excluded.points,
      expire = case when counted.expire <= ${nowMs}::bigint then excluded.expire else counted.expire end
    returning points, expire
  `;
}

const countOne = prepare<WindowTimes & { readonly name: string; readonly key: string }, WindowCount>((_db, slot) =>
  countRequests(sql`select ${slot('name')}::text, ${slot('key')}::text, 1`, {
    nowMs: slot('nowMs'),
    endMs: slot('endMs'),
  }),
);

export function stateOf({ points, expire }: WindowCount, { requests }: RateLimit, nowMs: number): RateLimitState {
  return {
    allowed: points <= requests,
    remaining: Math.max(0, requests - points),
    resetSeconds: Math.max(0, Math.ceil((Number(expire) - nowMs) / 1_000)),
  };
}
