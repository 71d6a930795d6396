import type { RateLimitName, Scope } from '@flywheel/api';
import type { BatchWithoutPipelines } from './batch.ts';
import type { FoundProject } from './project.ts';
import type { RateLimitState } from './rate-limit.ts';

/** The parts of an API key by which it is found and recognized. */
export interface GivenKey {
  /** First characters of the key; used to find it. */
  readonly prefix: string;
  /** SHA-256 of the full key. A fast hash is enough, because 256 random bits cannot be guessed. */
  readonly hash: Uint8Array;
}

/** A request of a key. */
export interface KeyRequest {
  /** The limit that it counts against. */
  readonly name: RateLimitName;
  /** The UUID of the batch that it reads; null for none. */
  readonly batchId: string | null;
}

/** A stored key and its project, as a request of the key found them. */
export interface FoundKeyHolder {
  /** The time that was compared with the key's end, and that the request was counted at. */
  readonly checkedAt: Date;
  readonly key: FoundApiKey;
  readonly project: FoundProject;
  /** True while the project is about to move to another shard. */
  readonly isMoving: boolean;
  /** The limit after this request; null when the key cannot be used, so that nothing was counted. */
  readonly limit: RateLimitState | null;
  /** The batch of pipelines that the request reads; null if it reads none, or none of this project. */
  readonly batch: BatchWithoutPipelines | null;
}

/** A stored key: enough to recognize it, not enough to use it. */
export interface FoundApiKey {
  readonly id: string;
  readonly projectId: string;
  /** SHA-256 of the full key. */
  readonly hash: Uint8Array;
  readonly scopes: ReadonlySet<Scope>;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** May be older than the last use: not every use is recorded. */
  readonly lastUsedAt: Date | null;
}
