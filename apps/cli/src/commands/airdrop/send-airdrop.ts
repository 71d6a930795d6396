import type { Bar } from '../../bar.ts';
import { count } from '../../words.ts';
import type { AirdropPlan, PlannedPipeline } from './plan.ts';
import { type RowOutcome, WAITING, writeReceipt } from './receipt.ts';
import type { AirdropRow } from './rows.ts';
import { type PartProgress, type PartResult, type SendDeps, sendPart } from './send.ts';

export interface AirdropReport {
  /** A row each, in order. */
  readonly outcomes: readonly RowOutcome[];
  readonly batchIds: readonly string[];
  /** null when every row was executed. */
  readonly failure: PartResult['failure'];
}

export interface AirdropRequest {
  readonly rows: readonly AirdropRow[];
  readonly plan: AirdropPlan;
  readonly receiptFile: string;
  readonly retryFailed: boolean;
}

/**
 * Sends batch after batch, and writes the receipt anew after each. One that fails ends it: what comes after would likely
 * fail too, and daily limits and funds are better spent on purpose.
 */
export async function sendAirdrop(
  deps: SendDeps,
  { rows, plan, receiptFile, retryFailed }: AirdropRequest,
  bar: Bar,
): Promise<AirdropReport> {
  const outcomes: RowOutcome[] = rows.map(() => WAITING);
  const { identity, parts } = plan;
  for (const [part, pipelines] of parts.entries()) {
    const show = (progress: PartProgress) =>
      bar.show({ fraction: fractionOf(parts, part, progress), text: textOf(parts, part, progress) });
    const result = await sendPart(deps, { identity, part, pipelines, retryFailed }, show);
    for (const [row, outcome] of result.outcomes) outcomes[row] = outcome;
    await writeReceipt(receiptFile, rows, outcomes);
    if (result.failure) return report(outcomes, result.failure);
  }
  bar.show({ fraction: 1, text: count(rows.length, 'row') });
  return report(outcomes, null);
}

function report(outcomes: readonly RowOutcome[], failure: PartResult['failure']): AirdropReport {
  const batchIds = [...new Set(outcomes.map(({ batchId }) => batchId).filter((batchId) => batchId !== ''))];
  return { outcomes, batchIds, failure };
}

/** What a part has behind it before its first pipeline is executed: it takes about as long as executing them all. */
const STAGE_SHARES: { readonly [Stage in PartProgress['stage']]: number } = {
  compile: 0,
  'set up': 0.1,
  approve: 0.45,
  execute: 0.5,
};

type Parts = readonly (readonly PlannedPipeline[])[];

function fractionOf(parts: Parts, part: number, { stage, executedPipelines }: PartProgress): number {
  const sizes = parts.map((pipelines) => pipelines.length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const before = sizes.slice(0, part).reduce((sum, size) => sum + size, 0);
  const size = sizes[part] ?? 0;
  const share = STAGE_SHARES[stage];
  return (before + size * (share + (1 - STAGE_SHARES.execute) * (executedPipelines / Math.max(size, 1)))) / total;
}

function textOf(parts: Parts, part: number, { stage, batchId, executedPipelines, blocker }: PartProgress): string {
  const size = parts[part]?.length ?? 0;
  const which = parts.length === 1 ? '' : `Batch ${part + 1} of ${parts.length}: `;
  const what =
    stage === 'execute' && executedPipelines > 0
      ? `execute, ${executedPipelines} of ${count(size, 'pipeline')}`
      : `${stage}, ${count(size, 'pipeline')}`;
  const held = blocker === null ? '' : `, held up: ${blocker}`;
  return `${which}${what}${batchId === null ? '' : ` (${batchId})`}${held}`;
}
