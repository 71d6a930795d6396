import { ApiError, type ErrorCode, type InitWarning } from '@flywheel/api';
import { compilePipelines } from '../../compile/compile-pipeline.ts';
import { checkPipelines } from '../../compile/request/check-pipelines.ts';
import { parseInitRequest } from '../../compile/request/parse-request.ts';
import { dailyTotals } from '../../compile/totals.ts';
import { formatTokens } from '../../model/amount.ts';
import type { CompiledPipeline } from '../../model/batch.ts';
import type { Project } from '../../model/project.ts';
import { startOfNextUtcDay, utcDay } from '../../model/utc-day.ts';
import { countOpen } from '../../store/batches/batches.ts';
import { findDailyAmounts } from '../../store/projects/daily-limits.ts';
import { type BatchCheck, checkBatch } from '../check/check-batch.ts';
import type { Funds } from '../check/funds.ts';
import type { Deps } from '../deps.ts';
import { findWarnings, type InitRequest } from '../init.ts';
import { type OperatorCost, type PredictCostDeps, predictCost } from './predict-cost.ts';

export type PreviewDeps = Deps & PredictCostDeps;

export interface Preview {
  readonly pipelines: readonly CompiledPipeline[];
  /** Everything that keeps the batch from being initialized or executed now. */
  readonly problems: readonly PreviewProblem[];
  readonly warnings: readonly InitWarning[];
  readonly funds: Funds;
  readonly limits: { readonly burn: DailyLimit; readonly airdrop: DailyLimit };
  readonly cost: OperatorCost;
}

export interface PreviewProblem {
  readonly code: ErrorCode;
  readonly place: string | null;
  readonly message: string;
}

/** Base units of one UTC day. */
export interface DailyLimit {
  readonly capBaseUnits: bigint;
  readonly usedBaseUnits: bigint;
  readonly askedBaseUnits: bigint;
  readonly resetsAt: Date;
}

/**
 * What init and execute would make of a request now; nothing is stored.
 * @throws ApiError as init for faults of the request itself; what depends on the state of things is in `problems`.
 */
export async function previewBatch(
  deps: PreviewDeps,
  { project, scopes, body }: Omit<InitRequest, 'idempotencyKey'>,
): Promise<Preview> {
  const request = parseInitRequest(body);
  checkPipelines(request.pipelines, { ...project, scopes });
  const pipelines = await compilePipelines(request.pipelines, project);
  const [{ check, cost }, limits, crowding, warnings] = await Promise.all([
    checkAndPrice(deps, project, pipelines),
    readLimits(deps, project, pipelines),
    findCrowding(deps, project, pipelines.length),
    findWarnings(deps.db, { projectId: project.id, pipelines }),
  ]);
  const problems = [...exceededLimits(limits, project), ...crowding, ...check.problems];
  return { pipelines, problems, warnings, funds: check.funds, limits, cost };
}

/** What the check finds out of each pipeline decides how many share a transaction. */
async function checkAndPrice(
  deps: PreviewDeps,
  project: Project,
  pipelines: readonly CompiledPipeline[],
): Promise<{ readonly check: BatchCheck; readonly cost: OperatorCost }> {
  const check = await checkBatch(deps, project, pipelines);
  return { check, cost: await predictCost(deps, project.flywheel.multisig, pipelines, check.computeUnits) };
}

async function readLimits(
  { db, clock }: Deps,
  { id, token, dailyLimits }: Project,
  pipelines: readonly CompiledPipeline[],
): Promise<Preview['limits']> {
  const now = clock.now();
  const used = await findDailyAmounts(db, id, utcDay(now));
  const asked = dailyTotals(pipelines, token);
  const limitOf = (kind: 'burnBaseUnits' | 'airdropBaseUnits'): DailyLimit => ({
    capBaseUnits: dailyLimits[kind],
    usedBaseUnits: used[kind],
    askedBaseUnits: asked[kind],
    resetsAt: startOfNextUtcDay(now),
  });
  return { burn: limitOf('burnBaseUnits'), airdrop: limitOf('airdropBaseUnits') };
}

function exceededLimits(limits: Preview['limits'], { token }: Project): PreviewProblem[] {
  return (['burn', 'airdrop'] as const).flatMap((kind) => {
    const { capBaseUnits, usedBaseUnits, askedBaseUnits, resetsAt } = limits[kind];
    // As at init: a kind that is not asked for is not held against the caller.
    if (askedBaseUnits === 0n || usedBaseUnits + askedBaseUnits <= capBaseUnits) return [];
    return toProblem(
      new ApiError('ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', {
        kind,
        cap: formatTokens(capBaseUnits, token.decimals),
        used: formatTokens(usedBaseUnits, token.decimals),
        asked: formatTokens(askedBaseUnits, token.decimals),
        resetsAt: resetsAt.toISOString(),
      }),
    );
  });
}

async function findCrowding({ db, fairUse }: Deps, { id }: Project, asked: number): Promise<PreviewProblem[]> {
  const open = await countOpen(db, id);
  const counts = [
    { open: open.batches, asked: 1, max: fairUse.maxOpenBatches, unit: 'batches' },
    { open: open.pipelines, asked, max: fairUse.maxOpenPipelines, unit: 'pipelines' },
  ] as const;
  return counts
    .filter((count) => count.open + count.asked > count.max)
    .map((count) => toProblem(new ApiError('ERR_TOO_MANY_OPEN_BATCHES', count)));
}

function toProblem({ code, message }: ApiError): PreviewProblem {
  return { code, place: null, message };
}
