import type { RateLimitName } from '@flywheel/api';
import { CompiledQuery } from 'kysely';
import { RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
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

/**
 * Creates limits counted in the database, which are exact across processes, since one statement both counts and
 * answers.
 */
export function createRateLimits(db: Db, limits: RateLimits['limits']): RateLimits {
  const names = Object.keys(limits) as RateLimitName[]; // a record's keys are its names
  const limiters = new Map(names.map((name) => [name, createLimiter(db, name, limits[name])]));
  return {
    limits,
    async consume(name, key) {
      const limiter = limiters.get(name);
      if (!limiter) throw new Error(`There is no rate limit ${name}.`);
      try {
        return toState(true, await limiter.consume(key));
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return toState(false, refused);
        throw refused;
      }
    },
  };
}

function createLimiter(db: Db, name: RateLimitName, { requests, seconds }: RateLimit): RateLimiterPostgres {
  return new RateLimiterPostgres({
    storeClient: { query: (query: Query) => runQuery(db, query) },
    storeType: 'client',
    tableName: 'rate_limits',
    tableCreated: true,
    keyPrefix: name,
    points: requests,
    duration: seconds,
    // A rejected key is rejected from memory until its window ends, so that a flood does not reach the database.
    inMemoryBlockOnConsumed: requests + 1,
  });
}

interface Query {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** The library counts with numbers: milliseconds since 1970, which a number holds exactly. */
async function runQuery(db: Db, { text, values }: Query) {
  const query = CompiledQuery.raw(text, [...values]);
  const { rows, numAffectedRows } = await db.executeQuery<{ points: number; expire: bigint | null }>(query);
  return {
    rows: rows.map(({ points, expire }) => ({ points, expire: expire === null ? null : Number(expire) })),
    rowCount: Number(numAffectedRows ?? rows.length),
  };
}

function toState(allowed: boolean, { remainingPoints, msBeforeNext }: RateLimiterRes): RateLimitState {
  return { allowed, remaining: remainingPoints, resetSeconds: Math.ceil(msBeforeNext / 1_000) };
}
