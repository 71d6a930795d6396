import { ApiError, type BatchKind, type InitWarning } from '@flywheel/api';
import { proofHash, toDecimal } from '@flywheel/protocol';
import { dailyTotals } from '../compile/totals.ts';
import type { CompiledPipeline } from '../model/batch.ts';
import { startOfNextUtcDay, utcDay } from '../model/clock.ts';
import type { DailyTotals, Project, Token } from '../model/project.ts';
import { countOpen } from '../store/batches/new-batches.ts';
import { findSeenProofs } from '../store/batches/proofs.ts';
import { findMissedRotation, findOpenRotation } from '../store/batches/rotations.ts';
import { findPause } from '../store/company/pauses.ts';
import type { Db } from '../store/db.ts';
import { reserveDailyAmounts } from '../store/projects/daily-limits.ts';
import { findDailyLimits } from '../store/projects/projects.ts';
import type { Deps, FairUse } from './deps.ts';

/** Amounts that a new batch reserves, and warnings for its answer. */
export interface Admission {
  readonly reserved: { readonly day: string; readonly totals: DailyTotals };
  readonly warnings: readonly InitWarning[];
}

/**
 * Checks a new batch against the limits of its kind and reserves its daily amounts. The caller must hold the lock of the
 * project's flywheel, and must roll back when this throws.
 * @throws ApiError ERR_ROTATION_OPEN, ERR_TOO_MANY_OPEN_BATCHES, ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED,
 * ERR_ROTATION_REFUSED
 */
export async function admitBatch(
  deps: Pick<Deps, 'clock' | 'fairUse'>,
  trx: Db,
  { project, kind }: { readonly project: Project; readonly kind: BatchKind },
  pipelines: readonly CompiledPipeline[],
): Promise<Admission> {
  switch (kind) {
    case 'pipelines':
      await requireNoReadyRotation(trx, project);
      return admitPipelines(deps, trx, project, pipelines);
    case 'withdrawal':
      await requireNoReadyRotation(trx, project);
      await requireRoomForWithdrawal(trx, project);
      return reserveNothing(deps);
    case 'rotation':
      await requireNoOpenRotation(trx, project);
      return reserveNothing(deps);
    default:
      throw new Error(`No rule admits batches of kind ${kind satisfies never}.`);
  }
}

/** @throws ApiError ERR_PAUSED while the company has paused this project, or all projects. */
export async function requireUnpausedProject({ db }: Pick<Deps, 'db'>, { id }: Pick<Project, 'id'>): Promise<void> {
  const pause = await findPause(db, id);
  if (pause) throw new ApiError('ERR_PAUSED', { isForAll: pause.isForAll, reason: pause.reason });
}

/** Lists the fair-use limits that a project would exceed with one more batch. Empty when it may create the batch. */
export async function findFairUseErrors(
  db: Db,
  fairUse: FairUse,
  { id }: Pick<Project, 'id'>,
  pipelineCount: number,
): Promise<ApiError<'ERR_TOO_MANY_OPEN_BATCHES'>[]> {
  const open = await countOpen(db, id);
  const counts = [
    { open: open.batches, asked: 1, max: fairUse.maxOpenBatches, unit: 'batches' },
    { open: open.pipelines, asked: pipelineCount, max: fairUse.maxOpenPipelines, unit: 'pipelines' },
  ] as const;
  return counts
    .filter((count) => count.open + count.asked > count.max)
    .map((count) => new ApiError('ERR_TOO_MANY_OPEN_BATCHES', count));
}

/** A project's daily limit for one kind of action, in base units. */
export interface DailyLimit {
  readonly kind: 'burn' | 'airdrop';
  readonly capBaseUnits: bigint;
  readonly usedBaseUnits: bigint;
  readonly askedBaseUnits: bigint;
  readonly resetsAt: Date;
}

/** Builds the error for a daily limit that a request exceeds. */
export function dailyLimitError(
  { kind, capBaseUnits, usedBaseUnits, askedBaseUnits, resetsAt }: DailyLimit,
  { decimals }: Pick<Token, 'decimals'>,
): ApiError<'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED'> {
  return new ApiError('ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', {
    kind,
    cap: toDecimal(capBaseUnits, decimals),
    used: toDecimal(usedBaseUnits, decimals),
    asked: toDecimal(askedBaseUnits, decimals),
    resetsAt: resetsAt.toISOString(),
  });
}

/** Warns of pipelines whose type and payload the project, or the same request, has used before. */
export async function findRepeatedProofs(
  db: Db,
  { id: projectId }: Pick<Project, 'id'>,
  pipelines: readonly Pick<CompiledPipeline, 'type' | 'payload'>[],
): Promise<InitWarning[]> {
  const hashes = await Promise.all(pipelines.map(proofHash));
  const seen = new Set(await findSeenProofs(db, projectId, hashes));
  const warnings: InitWarning[] = [];
  for (const [pipeline, hash] of hashes.entries()) {
    if (seen.has(hash)) {
      warnings.push({ pipeline, message: `pipelines[${pipeline}] repeats a type and payload seen before.` });
    }
    seen.add(hash);
  }
  return warnings;
}

/**
 * Executing a rotation makes every proposal stale that is not approved yet. From the moment at which both sides have approved
 * it no batch is created, so that the open ones come to an end.
 */
async function requireNoReadyRotation(trx: Db, { flywheel }: Project): Promise<void> {
  const rotation = await findOpenRotation(trx, flywheel.id);
  const batchId = rotation?.isReady ? rotation.batchId : await findMissedRotation(trx, flywheel);
  if (batchId === 'recovered') throw new ApiError('ERR_NONCE_POOL_EMPTY', { retryAfterSeconds: 1 });
  if (batchId !== null) throw new ApiError('ERR_ROTATION_OPEN', { batchId });
}

async function admitPipelines(
  { clock, fairUse }: Pick<Deps, 'clock' | 'fairUse'>,
  trx: Db,
  project: Project,
  pipelines: readonly CompiledPipeline[],
): Promise<Admission> {
  const [tooMany] = await findFairUseErrors(trx, fairUse, project, pipelines.length);
  if (tooMany) throw tooMany;

  const { id, token } = project;
  const now = clock.now();
  const day = utcDay(now);
  const totals = dailyTotals(pipelines, token);
  // Read again: the limits may have been lowered while this request waited for the lock.
  const dailyLimits = await findDailyLimits(trx, id);
  const exceeded = await reserveDailyAmounts(trx, { id, dailyLimits }, day, totals);
  if (exceeded) {
    const { kind, usedBaseUnits } = exceeded;
    const [capBaseUnits, askedBaseUnits] = [dailyLimits[`${kind}BaseUnits`], totals[`${kind}BaseUnits`]];
    const limit = { kind, capBaseUnits, usedBaseUnits, askedBaseUnits, resetsAt: startOfNextUtcDay(now) };
    throw dailyLimitError(limit, token);
  }
  return { reserved: { day, totals }, warnings: await findRepeatedProofs(trx, project, pipelines) };
}

/** Each open withdrawal locks a nonce and some of the operator's SOL. */
const MAX_OPEN_WITHDRAWALS = 10;

async function requireRoomForWithdrawal(trx: Db, { id }: Project): Promise<void> {
  const { batches: open } = await countOpen(trx, id, 'withdrawal');
  if (open < MAX_OPEN_WITHDRAWALS) return;
  const context = { open, asked: 1, max: MAX_OPEN_WITHDRAWALS, unit: 'withdrawals' } as const;
  throw new ApiError('ERR_TOO_MANY_OPEN_BATCHES', context);
}

async function requireNoOpenRotation(trx: Db, { flywheel }: Project): Promise<void> {
  const batchId = (await findOpenRotation(trx, flywheel.id))?.batchId ?? (await findMissedRotation(trx, flywheel));
  if (batchId === null) return;
  const problem = `batch ${batchId} replaces a member. Try again when it has ended.`;
  throw new ApiError('ERR_ROTATION_REFUSED', { problem });
}

/** Daily limits do not apply to withdrawals and rotations. */
function reserveNothing({ clock }: Pick<Deps, 'clock'>): Admission {
  return { reserved: { day: utcDay(clock.now()), totals: { burnBaseUnits: 0n, airdropBaseUnits: 0n } }, warnings: [] };
}
