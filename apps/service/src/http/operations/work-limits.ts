import { ApiError, type ErrorContext, MAX_PIPELINES_PER_BATCH } from '@flywheel/api';
import { MAX_PIPELINE_INSTRUCTIONS } from '@flywheel/protocol';
import type { Project } from '../../model/project.ts';
import type { RateLimits } from '../../model/rate-limit.ts';
import { rateLimited } from '../wire/errors.ts';

type Work = ErrorContext<'ERR_TOO_MANY_AT_ONCE'>['work'];

/** Bounds work that queries the cluster or keeps a connection, for a project whatever the number of its keys. */
export interface WorkLimits {
  /**
   * Does work of a project, or of an address, if little enough of it is in progress in this process and was begun within
   * the window of the rate limit `project`.
   * @throws ApiError ERR_TOO_MANY_AT_ONCE, ERR_RATE_LIMITED, and whatever the work throws.
   */
  run<Result>(work: Work, holder: string, start: () => Promise<Result>): Promise<Result>;
  /**
   * Does work of a project like `run`, but lets as many requests wait for a place as it may have open batches, and counts
   * none by the minute.
   * @throws ApiError ERR_TOO_MANY_AT_ONCE, and whatever the work throws.
   */
  runInTurn<Result>(work: Work, holder: string, start: () => Promise<Result>): Promise<Result>;
  /**
   * Counts an event stream of a holder, who may open half of what the project may, so that a thief of a key leaves the rest.
   * How many are open has another limit.
   * @throws ApiError ERR_RATE_LIMITED
   */
  countStream(by: { readonly holder: string; readonly projectId: string }): Promise<void>;
  /**
   * Reads pipelines, if neither this reader nor its project has read too many of them in this process lately.
   * @param count of pipelines that are read.
   * @throws ApiError ERR_RATE_LIMITED, and whatever the reading throws.
   */
  readPipelines<Result>(by: PipelineReader, count: number, read: () => Promise<Result>): Promise<Result>;
  /**
   * Counts the pipelines of a request before they are parsed and compiled. A key, or the wallet in the console, may have
   * half of what its project may, and all projects that are not admitted share another limit.
   * @throws ApiError ERR_RATE_LIMITED
   */
  countCompiled(by: PipelineWriter, body: unknown): void;
}

export interface PipelineWriter {
  readonly project: Pick<Project, 'id' | 'isAdmitted'>;
  /** Null for the wallet in the console. */
  readonly keyId: string | null;
}

/** An API key of a project, or a wallet, which may read many projects. */
export type PipelineReader = { readonly keyId: string; readonly projectId: string } | { readonly wallet: string };

/** A preview, or a check before an execution, makes about ten requests to the cluster, a proof check up to twenty. */
const MAX_AT_ONCE = 8;
/** Each takes about a second. */
const RETRY_AFTER_SECONDS = 1;

/** A pipeline takes 0.07 ms of the thread that answers everyone, and a batch has a thousand at most. */
const PIPELINES_PER_SECOND = 500;
/** A burst may read as many pipelines at once as are allowed in this time. The SDK waits as long when it is asked to. */
const BURST_SECONDS = 10;
const PIPELINES = {
  requests: PIPELINES_PER_SECOND * BURST_SECONDS,
  seconds: BURST_SECONDS,
  unit: 'pipelines',
} as const;

/**
 * A pipeline takes up to 0.5 ms of that thread from its body to its row. The interface allows a key ten batches of a
 * thousand in a minute, and that is what it gets.
 */
const COMPILED = { requests: 20_000, seconds: 60, unit: 'pipelines' } as const;
const COMPILED_UNADMITTED = { ...COMPILED, requests: 2 * COMPILED.requests };

/** @param options.maxWaiting requests of a project that may wait in `runInTurn`: it may execute all of its open batches at once. */
export function createWorkLimits(
  rateLimits: RateLimits,
  clock: { now(): Date },
  { maxWaiting }: { readonly maxWaiting: number },
): WorkLimits {
  const places = createPlaces();
  const pipelines = {
    ofReader: createBucket(partOf(PIPELINES, 2), clock),
    ofProject: createBucket(PIPELINES, clock),
  };
  const compiled = {
    ofKey: createBucket(partOf(COMPILED, 2), clock),
    ofProject: createBucket(COMPILED, clock),
    unadmitted: createBucket(COMPILED_UNADMITTED, clock),
  };
  // A quarter at once, and as much again in the time of the limit.
  const streams = createBucket(partOf(rateLimits.limits.project, 4), clock);
  const count = async (name: string) => {
    const { allowed, resetSeconds } = await rateLimits.consume('project', name);
    if (allowed) return;
    throw rateLimited(rateLimits.limits.project, resetSeconds);
  };
  return {
    async countStream({ holder, projectId }) {
      requireAll([[streams, holder]]);
      // Before the count, so that simultaneous requests are bounded too.
      streams.take(holder, 1);
      await count(`event streams ${projectId}`);
    },
    async readPipelines(by, count, read) {
      const counts = [
        [pipelines.ofReader, 'wallet' in by ? by.wallet : by.keyId],
        ...('wallet' in by ? [] : [[pipelines.ofProject, by.projectId] as const]),
      ] as const;
      requireAll(counts);
      // Before the reading, so that simultaneous requests are bounded too.
      for (const [bucket, holder] of counts) bucket.take(holder, count);
      return read();
    },
    countCompiled({ project, keyId }, body) {
      const count = countPipelines(body);
      const counts = [
        [compiled.ofKey, keyId ?? `console ${project.id}`],
        [compiled.ofProject, project.id],
        ...(project.isAdmitted ? [] : [[compiled.unadmitted, ''] as const]),
      ] as const;
      requireAll(counts);
      for (const [bucket, holder] of counts) bucket.take(holder, count);
    },
    run: (work, holder, start) =>
      places.hold({ work, holder, maxWaiting: 0 }, async () => {
        await count(`${work} ${holder}`);
        return start();
      }),
    runInTurn: (work, holder, start) => places.hold({ work, holder, maxWaiting }, start),
  };
}

interface Place {
  readonly work: Work;
  readonly holder: string;
  readonly maxWaiting: number;
}

/** Gives each holder `MAX_AT_ONCE` places for each kind of work. Those that wait for one get it in the order of their arrival. */
function createPlaces() {
  const held = new Map<string, { count: number; readonly waiting: (() => void)[] }>();
  return {
    /** @throws ApiError ERR_TOO_MANY_AT_ONCE if `maxWaiting` wait already, and whatever the work throws. */
    async hold<Result>({ work, holder, maxWaiting }: Place, start: () => Promise<Result>): Promise<Result> {
      const name = `${work} ${holder}`;
      const places = held.get(name) ?? { count: 0, waiting: [] };
      if (places.count < MAX_AT_ONCE) {
        places.count += 1;
        held.set(name, places);
      } else if (places.waiting.length < maxWaiting) {
        await new Promise<void>((resolve) => places.waiting.push(resolve));
      } else {
        throw new ApiError('ERR_TOO_MANY_AT_ONCE', { work, max: MAX_AT_ONCE, retryAfterSeconds: RETRY_AFTER_SECONDS });
      }
      try {
        return await start();
      } finally {
        const next = places.waiting.shift();
        // The next one takes this place over, so that no later request gets it.
        if (next) next();
        else places.count -= 1;
        if (places.count === 0) held.delete(name);
      }
    },
  };
}

/** @throws ApiError ERR_RATE_LIMITED with the longest wait of those that are reached. */
function requireAll(counts: readonly (readonly [bucket: Bucket, holder: string])[]): void {
  const errors = counts.flatMap(([bucket, holder]) => bucket.findError(holder) ?? []);
  const [longest] = errors.sort((a, b) => b.context.retryAfterSeconds - a.context.retryAfterSeconds);
  if (longest) throw longest;
}

type Bucket = ReturnType<typeof createBucket>;

/**
 * Counts one for each pipeline that fits a transaction, and more for one with more actions than a transaction can run, which is
 * checked before it is refused. The body is not validated yet: an invalid one counts as one, or as the most that a batch may have.
 */
function countPipelines(body: unknown): number {
  let count = 0;
  for (const pipeline of listIn(body, 'pipelines')) {
    count += Math.max(1, Math.ceil(listIn(pipeline, 'actions').length / MAX_PIPELINE_INSTRUCTIONS));
    if (count >= MAX_PIPELINES_PER_BATCH) return MAX_PIPELINES_PER_BATCH;
  }
  return Math.max(1, count);
}

/** Reads a list of an object that is not validated yet; empty if there is none. */
function listIn(value: unknown, name: string): readonly unknown[] {
  const list: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : null;
  return Array.isArray(list) ? list : [];
}

interface BucketLimit {
  readonly requests: number;
  readonly seconds: number;
  readonly unit?: 'pipelines';
}

function partOf(limit: BucketLimit, divisor: number): BucketLimit {
  return { ...limit, requests: Math.ceil(limit.requests / divisor) };
}

/** Bounds the memory of a bucket: above it, those that are full again are forgotten. */
const MAX_HOLDERS = 10_000;

/**
 * Counts what each holder takes, which comes back with time. Whoever has something left may take any amount, because a batch is
 * read and compiled whole, and then waits until that has come back.
 */
function createBucket({ requests, seconds, unit }: BucketLimit, { now }: { now(): Date }) {
  const perSecond = requests / seconds;
  /** Times at which buckets are full again. */
  const fullAt = new Map<string, number>();
  const leftOf = (holder: string, time: number) =>
    requests - (Math.max(0, (fullAt.get(holder) ?? 0) - time) / 1_000) * perSecond;
  return {
    /** Returns null if the holder has something left. */
    findError(holder: string): ApiError<'ERR_RATE_LIMITED'> | null {
      const left = leftOf(holder, now().getTime());
      if (left > 0) return null;
      const retryAfterSeconds = Math.floor(-left / perSecond) + 1;
      return new ApiError('ERR_RATE_LIMITED', { requests, seconds, ...(unit && { unit }), retryAfterSeconds });
    },
    take(holder: string, count: number): void {
      const time = now().getTime();
      fullAt.set(holder, Math.max(time, fullAt.get(holder) ?? 0) + (count / perSecond) * 1_000);
      if (fullAt.size <= MAX_HOLDERS) return;
      for (const [other, at] of fullAt) if (at <= time) fullAt.delete(other);
    },
  };
}
