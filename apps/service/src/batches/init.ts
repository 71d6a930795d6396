import { ApiError, type InitWarning, type Scope } from '@flywheel/api';
import type { Address } from '@solana/kit';
import { compilePipelines } from '../compile/compile-pipeline.ts';
import { checkPipelines } from '../compile/request/check-pipelines.ts';
import { parseInitRequest } from '../compile/request/parse-request.ts';
import { dailyTotals } from '../compile/totals.ts';
import { formatTokens } from '../model/amount.ts';
import type { Batch, CompiledPipeline } from '../model/batch.ts';
import type { Project } from '../model/project.ts';
import { proofHash } from '../model/proof-hash.ts';
import { startOfNextUtcDay, utcDay } from '../model/utc-day.ts';
import { insertAuditEntry } from '../store/audit.ts';
import { countOpen, findSeenProofs } from '../store/batches/batches.ts';
import type { Db } from '../store/db.ts';
import { reserveDailyAmounts } from '../store/projects/daily-limits.ts';
import { findDailyLimits } from '../store/projects/projects.ts';
import type { Deps } from './deps.ts';
import { type Admission, type StoredBatch, storeOnce } from './store-once.ts';

export interface InitRequest {
  readonly project: Project;
  /** Of the API key, which may carry fewer than the project. */
  readonly scopes: ReadonlySet<Scope>;
  /** Lowercase. */
  readonly idempotencyKey: string;
  /** The body as JSON, not yet checked. */
  readonly body: unknown;
  /** The wallet that is signed in, for the audit log; absent for API keys. */
  readonly actor?: Address;
}

/**
 * Compiles pipelines and stores them as a batch, its index, nonce and daily amounts taken in the same database
 * transaction. No chain round trip: setting up on chain happens behind, in index order.
 */
export async function initBatch(deps: Deps, request: InitRequest): Promise<StoredBatch> {
  const { project, scopes, body, actor } = request;
  return storeOnce(
    deps,
    { ...request, kind: 'pipelines' },
    {
      compile: async () => {
        const { pipelines } = parseInitRequest(body);
        checkPipelines(pipelines, { ...project, scopes });
        return compilePipelines(pipelines, project);
      },
      admit: (trx, pipelines) => admit(deps, trx, project, pipelines),
      record: async (trx, { id: batchId, createdAt: at }) => {
        if (actor === undefined) return;
        await insertAuditEntry(trx, { at, actor, action: 'batch.initialized', projectId: project.id, batchId });
      },
    },
  );
}

async function admit(
  { clock, fairUse }: Deps,
  trx: Db,
  project: Project,
  pipelines: readonly CompiledPipeline[],
): Promise<Admission> {
  const open = await countOpen(trx, project.id);
  requireRoom(open.batches, 1, fairUse.maxOpenBatches, 'batches');
  requireRoom(open.pipelines, pipelines.length, fairUse.maxOpenPipelines, 'pipelines');

  const { token } = project;
  const now = clock.now();
  const day = utcDay(now);
  const totals = dailyTotals(pipelines, token);
  // Read again: they may have been lowered since the project was read, and this waited its turn.
  const dailyLimits = await findDailyLimits(trx, project.id);
  const exceeded = await reserveDailyAmounts(trx, { id: project.id, dailyLimits }, day, totals);
  if (exceeded) {
    const [cap, asked] =
      exceeded.kind === 'burn'
        ? [dailyLimits.burnBaseUnits, totals.burnBaseUnits]
        : [dailyLimits.airdropBaseUnits, totals.airdropBaseUnits];
    throw new ApiError('ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', {
      kind: exceeded.kind,
      cap: formatTokens(cap, token.decimals),
      used: formatTokens(exceeded.usedBaseUnits, token.decimals),
      asked: formatTokens(asked, token.decimals),
      resetsAt: startOfNextUtcDay(now).toISOString(),
    });
  }
  const warnings = await findWarnings(trx, { projectId: project.id, pipelines });
  return { reserved: { day, totals }, warnings };
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
