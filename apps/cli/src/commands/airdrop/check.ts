import type { PreviewBatchResponse, ProjectSummary } from '@flywheel/api';
import { type FlywheelClient, toBaseUnits, toDecimal } from '@flywheel/sdk';
import type { ConsoleClient } from '../../console-client.ts';
import { groupDigits } from '../../words.ts';
import type { AirdropPlan, PlannedPipeline } from './plan.ts';
import type { AirdropRow } from './rows.ts';

export interface AirdropCheck {
  /** Batches that the service knows already: they are taken up where they are. */
  readonly begunParts: number;
  /** Whole tokens of all other batches. */
  readonly amountToBegin: string;
  /** What stands in the way, a sentence each; empty when nothing does. */
  readonly problems: readonly string[];
}

export interface CheckDeps {
  readonly client: FlywheelClient;
  readonly console: Pick<ConsoleClient, 'checkProof'>;
  readonly project: ProjectSummary;
  readonly signal: AbortSignal;
}

/** Holds what is still to be begun to the vault and the limits, all of it at once, and asks the service of each batch. */
export async function checkAirdrop(
  { client, console, project, signal }: CheckDeps,
  { parts }: AirdropPlan,
  rows: readonly AirdropRow[],
): Promise<AirdropCheck> {
  const begun = await Promise.all(parts.map((part) => isBegun(console, project, part)));
  const fresh = parts.filter((_, i) => !begun[i]);
  const { decimals } = project.token;
  const unitsOf = (row: number) => toBaseUnits(rows[row]?.amount ?? '0', decimals) ?? 0n;
  const units = fresh.flat().flatMap((planned) => planned.rows.map(unitsOf));
  const asked = units.reduce((sum, each) => sum + each, 0n);
  const problems = new Set<string>();
  let lamportsNeeded = 0n;
  let last: PreviewBatchResponse | null = null;
  for (const part of fresh) {
    last = await client.previewBatch({ pipelines: part.map(({ pipeline }) => pipeline) }, { signal });
    lamportsNeeded += BigInt(last.funds.lamports.needed);
    for (const problem of last.problems) problems.add(sentenceOf(problem, part, rows));
  }
  // One batch’s own preview has compared it; several together only we can.
  if (last && fresh.length > 1) {
    for (const problem of totalProblems(last, { asked, decimals, lamportsNeeded })) problems.add(problem);
  }
  return {
    begunParts: begun.filter(Boolean).length,
    amountToBegin: toDecimal(asked, decimals),
    problems: [...problems],
  };
}

/** Whether a batch of this project carries the part’s first proof: then init was answered before. */
async function isBegun(
  console: CheckDeps['console'],
  { vaultAddress }: ProjectSummary,
  [first]: readonly PlannedPipeline[],
): Promise<boolean> {
  if (!first) return false;
  const { type, payload } = first.pipeline;
  const { pipelines } = await console.checkProof({ type, payload });
  return pipelines.some((pipeline) => pipeline.vaultAddress === vaultAddress);
}

/** The service names pipelines and actions; people know lines of their file. */
function sentenceOf(
  { place, message }: PreviewBatchResponse['problems'][number],
  part: readonly PlannedPipeline[],
  rows: readonly AirdropRow[],
): string {
  const [, pipeline, , action] = /^pipelines\[(\d+)\](\.actions\[(\d+)\])?/.exec(place ?? '') ?? [];
  const positions = part[Number(pipeline ?? -1)]?.rows ?? [];
  const meant = action === undefined ? positions : positions.slice(Number(action), Number(action) + 1);
  const lines = meant.flatMap((row) => rows[row]?.lines ?? []);
  return lines.length === 0 ? message : `Line ${lines.join(', ')}: ${message}`;
}

function totalProblems(
  { limits, funds }: PreviewBatchResponse,
  {
    asked,
    decimals,
    lamportsNeeded,
  }: { readonly asked: bigint; readonly decimals: number; readonly lamportsNeeded: bigint },
): string[] {
  const unitsOf = (tokens: string) => toBaseUnits(tokens, decimals) ?? 0n;
  const tokens = (units: bigint) => groupDigits(toDecimal(units, decimals));
  const { left, resetsAt } = limits.airdrop;
  const held = unitsOf(funds.tokens.available);
  const lamports = BigInt(funds.lamports.available);
  return [
    ...(asked > unitsOf(left)
      ? [
          `All batches together airdrop ${tokens(asked)} tokens; today’s limit has ${groupDigits(left)} left, until ${resetsAt}.`,
        ]
      : []),
    ...(asked > held ? [`All batches together take ${tokens(asked)} tokens; the vault holds ${tokens(held)}.`] : []),
    ...(lamportsNeeded > lamports
      ? [`New token accounts take ${lamportsNeeded} lamports of the vault; it holds ${lamports}.`]
      : []),
  ];
}
