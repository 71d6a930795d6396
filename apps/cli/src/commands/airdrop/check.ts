import { CONSOLE_OPERATIONS, type PreviewBatchResponse, type ProjectSummary } from '@flywheel/api';
import { groupDigits, toBaseUnits, toDecimal } from '@flywheel/protocol';
import type { AirdropRow } from '@flywheel/protocol/airdrop-csv';
import type { FlywheelClient } from '@flywheel/sdk';
import type { ConsoleClient } from '../../console-client.ts';
import type { AirdropPlan, PlannedPipeline } from './plan.ts';

export interface AirdropCheck {
  /** Number of batches that an earlier run has begun: they are resumed. */
  readonly begunParts: number;
  /** Sentences; empty if the airdrop can be sent. */
  readonly issues: readonly string[];
}

export interface CheckDeps {
  readonly client: FlywheelClient;
  readonly console: ConsoleClient;
  readonly project: ProjectSummary;
  readonly signal: AbortSignal;
}

/** Checks the batches that are not begun: each by the service’s preview, then their total against vault and limits. */
export async function checkAirdrop(
  { client, console, project, signal }: CheckDeps,
  { parts }: AirdropPlan,
  rows: readonly AirdropRow[],
): Promise<AirdropCheck> {
  const begun = await Promise.all(parts.map((part) => isBegun(console, project, part)));
  const newParts = parts.filter((_, i) => !begun[i]);
  const { decimals } = project.token;
  const issues = new Set<string>();
  let lamportsNeeded = 0n;
  let last: PreviewBatchResponse | null = null;
  for (const part of newParts) {
    last = await client.previewBatch({ pipelines: part.map(({ pipeline }) => pipeline) }, { signal });
    lamportsNeeded += BigInt(last.funds.lamports.needed);
    for (const problem of last.problems) issues.add(describeIssue(problem, part, rows));
  }
  // The preview of a single batch has already checked the total.
  if (last && newParts.length > 1) {
    const baseUnits = newParts
      .flat()
      .flatMap((planned) => planned.rows.map((row) => rows[row]?.baseUnits ?? 0n))
      .reduce((sum, each) => sum + each, 0n);
    for (const issue of totalIssues(last, { baseUnits, decimals, lamportsNeeded })) issues.add(issue);
  }
  return { begunParts: begun.filter(Boolean).length, issues: [...issues] };
}

/** Tells whether init was called for the part before: then a batch of this project contains the part’s first proof. */
async function isBegun(
  console: ConsoleClient,
  { vaultAddress }: ProjectSummary,
  [first]: readonly PlannedPipeline[],
): Promise<boolean> {
  if (!first) return false;
  const { type, payload } = first.pipeline;
  const { pipelines } = await console.call(CONSOLE_OPERATIONS.checkProof, { body: { type, payload } });
  return pipelines.some((pipeline) => pipeline.vaultAddress === vaultAddress);
}

/** Replaces the place in the request, `pipelines[3].actions[1]`, by the line in the file. */
function describeIssue(
  { place, message }: PreviewBatchResponse['problems'][number],
  part: readonly PlannedPipeline[],
  rows: readonly AirdropRow[],
): string {
  const [, pipeline, , action] = /^pipelines\[(\d+)\](\.actions\[(\d+)\])?/.exec(place ?? '') ?? [];
  const all = part[Number(pipeline ?? -1)]?.rows ?? [];
  const selected = action === undefined ? all : all.slice(Number(action), Number(action) + 1);
  const lines = selected.flatMap((row) => rows[row]?.lines ?? []);
  return lines.length === 0 ? message : `Line ${lines.join(', ')}: ${message}`;
}

interface Total {
  readonly baseUnits: bigint;
  readonly decimals: number;
  readonly lamportsNeeded: bigint;
}

function totalIssues(
  { limits, funds }: PreviewBatchResponse,
  { baseUnits, decimals, lamportsNeeded }: Total,
): string[] {
  const unitsOf = (tokens: string) => toBaseUnits(tokens, decimals) ?? 0n;
  const format = (units: bigint) => groupDigits(toDecimal(units, decimals));
  const { left, resetsAt } = limits.airdrop;
  const vaultBaseUnits = unitsOf(funds.tokens.available);
  const vaultLamports = BigInt(funds.lamports.available);
  return [
    ...(baseUnits > unitsOf(left)
      ? [
          `All batches together airdrop ${format(baseUnits)} tokens; today’s limit has ${groupDigits(left)} left. It resets at ${resetsAt}.`,
        ]
      : []),
    ...(baseUnits > vaultBaseUnits
      ? [`All batches together need ${format(baseUnits)} tokens; the vault holds ${format(vaultBaseUnits)}.`]
      : []),
    ...(lamportsNeeded > vaultLamports
      ? [`New token accounts need ${lamportsNeeded} lamports; the vault holds ${vaultLamports}.`]
      : []),
  ];
}
