import { createHash, randomUUID } from 'node:crypto';
import { ApiError, type InitWarning, type Scope } from '@flywheel/api';
import { compilePipelines } from '../compile/compile-pipeline.ts';
import { checkPipelines } from '../compile/request/check-pipelines.ts';
import { parseInitRequest } from '../compile/request/parse-request.ts';
import { dailyTotals } from '../compile/totals.ts';
import { formatTokens } from '../model/amount.ts';
import type { Batch, CompiledPipeline } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { proofHash } from '../model/proof-hash.ts';
import { startOfNextUtcDay, utcDay } from '../model/utc-day.ts';
import { countOpen, findBatchByIdempotencyKey, findSeenProofs, insertBatch, takeBatchIndex } from '../store/batches.ts';
import { reserveDailyAmounts } from '../store/daily-limits.ts';
import type { Db } from '../store/db.ts';
import { leaseNonce } from '../store/nonces.ts';
import type { Deps } from './deps.ts';

export interface InitRequest {
  readonly project: Project;
  /** Of the API key, which may carry fewer than the project. */
  readonly scopes: ReadonlySet<Scope>;
  /** Lowercase. */
  readonly idempotencyKey: string;
  /** The body as JSON, not yet checked. */
  readonly body: unknown;
}

export interface InitializedBatch {
  readonly batch: Batch;
  readonly warnings: readonly InitWarning[];
  /** True when the same request was answered before. */
  readonly replayed: boolean;
}

/**
 * Compiles pipelines and stores them as a batch, its index, nonce and daily amounts taken in the same database
 * transaction. No chain round trip: setting up on chain happens behind, in index order.
 */
export async function initBatch(deps: Deps, request: InitRequest): Promise<InitializedBatch> {
  const requestHash = hashOf(request.body);
  const seen = await findReplay(deps.db, request, requestHash);
  if (seen) return seen;

  const { project } = request;
  const { pipelines } = parseInitRequest(request.body);
  checkPipelines(pipelines, { ...project, scopes: request.scopes });
  const compiled = await compilePipelines(pipelines, project);
  try {
    return await deps.db.transaction().execute((trx) => store(deps, trx, request, requestHash, compiled));
  } catch (error) {
    if (error instanceof SeenMeanwhile) return error.replay;
    // The refill must outlive the transaction that found the pool empty.
    if (error instanceof ApiError && error.code === 'ERR_NONCE_POOL_EMPTY') {
      await deps.jobs.enqueue(deps.db, { type: 'refill-nonces' });
    }
    throw error;
  }
}

/** The same request was stored by another connection while this one waited for the project's lock. */
class SeenMeanwhile extends Error {
  readonly replay: InitializedBatch;
  constructor(replay: InitializedBatch) {
    super('The same idempotency key was stored meanwhile.');
    this.replay = replay;
  }
}

/** The pool grows by a few transactions of the operator's; a client that waits this long finds it refilled. */
const NONCE_REFILL_SECONDS = 5;

async function store(
  { jobs, clock, fairUse, batchExpirySeconds }: Deps,
  trx: Db,
  request: InitRequest,
  requestHash: Uint8Array,
  pipelines: readonly CompiledPipeline[],
): Promise<InitializedBatch> {
  const { project, idempotencyKey } = request;
  const { token, flywheel } = project;
  // Taking the index locks the flywheel's row: from here on this project's inits run one after another.
  const batchIndex = await takeBatchIndex(trx, flywheel.id);
  const seen = await findReplay(trx, request, requestHash);
  if (seen) throw new SeenMeanwhile(seen);

  const open = await countOpen(trx, project.id);
  requireRoom(open.batches, 1, fairUse.maxOpenBatches, 'batches');
  requireRoom(open.pipelines, pipelines.length, fairUse.maxOpenPipelines, 'pipelines');

  const now = clock.now();
  const day = utcDay(now);
  const totals = dailyTotals(pipelines, token);
  const exceeded = await reserveDailyAmounts(trx, project, day, totals);
  if (exceeded) {
    const [cap, asked] =
      exceeded.kind === 'burn'
        ? [project.dailyLimits.burnBaseUnits, totals.burnBaseUnits]
        : [project.dailyLimits.airdropBaseUnits, totals.airdropBaseUnits];
    throw new ApiError('ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', {
      kind: exceeded.kind,
      cap: formatTokens(cap, token.decimals),
      used: formatTokens(exceeded.usedBaseUnits, token.decimals),
      asked: formatTokens(asked, token.decimals),
      resetsAt: startOfNextUtcDay(now).toISOString(),
    });
  }

  const id = randomUUID();
  const nonce = await leaseNonce(trx, id);
  if (!nonce) throw new ApiError('ERR_NONCE_POOL_EMPTY', { retryAfterSeconds: NONCE_REFILL_SECONDS });
  const batch: Batch = {
    id,
    projectId: project.id,
    flywheelId: flywheel.id,
    tokenId: token.id,
    status: 'AVAILABLE_TO_QUEUE',
    batchIndex,
    pipelines,
    nonce,
    signedTx: null,
    initResult: null,
    executeResult: null,
    executionError: null,
    createdAt: now,
    updatedAt: now,
    endedAt: null,
  };
  const warnings = await findWarnings(trx, batch);
  await insertBatch(trx, batch, { key: idempotencyKey, requestHash }, { day, totals }, warnings);
  const job = { batchId: id, multisig: flywheel.multisig.address };
  const startAfter = new Date(now.getTime() + batchExpirySeconds * 1_000);
  await jobs.enqueue(trx, { type: 'setup', ...job });
  await jobs.enqueue(trx, { type: 'expire', ...job }, { startAfter });
  return { batch, warnings, replayed: false };
}

async function findReplay(
  db: Db,
  { project, idempotencyKey }: InitRequest,
  requestHash: Uint8Array,
): Promise<InitializedBatch | null> {
  const seen = await findBatchByIdempotencyKey(db, project.id, idempotencyKey);
  if (!seen) return null;
  if (Buffer.compare(seen.requestHash, requestHash) !== 0) {
    throw new ApiError('ERR_DUPLICATE_IDEMPOTENCY_KEY', { idempotencyKey });
  }
  return { batch: seen.batch, warnings: seen.warnings, replayed: true };
}

/** Two bodies are the same when they are the same JSON, whatever their spacing and the order of their members. */
function hashOf(body: unknown): Uint8Array {
  const canonical = JSON.stringify(body, (_name, value: unknown) => (isObject(value) ? sortMembers(value) : value));
  return createHash('sha256')
    .update(canonical ?? '')
    .digest();
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sortMembers(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function requireRoom(open: number, asked: number, max: number, unit: 'batches' | 'pipelines'): void {
  if (open + asked > max) throw new ApiError('ERR_TOO_MANY_OPEN_BATCHES', { open, asked, max, unit });
}

/** What is allowed, but worth a look. */
export async function findWarnings(
  trx: Db,
  { projectId, pipelines }: Pick<Batch, 'projectId' | 'pipelines'>,
): Promise<readonly InitWarning[]> {
  const hashes = pipelines.map(proofHash);
  const seen = new Set(await findSeenProofs(trx, projectId, hashes));
  const warnings: InitWarning[] = [];
  for (const [pipeline, hash] of hashes.entries()) {
    if (seen.has(hash))
      warnings.push({ pipeline, message: `pipelines[${pipeline}] repeats a type and payload seen before.` });
    seen.add(hash);
  }
  return warnings;
}
