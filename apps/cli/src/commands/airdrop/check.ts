import { CONSOLE_OPERATIONS, type Pipeline, type PreviewBatchResponse, type ProjectSummary } from '@flywheel/api';
import { groupDigits, toBaseUnits, toDecimal, writeSol } from '@flywheel/protocol';
import type { AirdropRow } from '@flywheel/protocol/airdrop-csv';
import type { FlywheelClient } from '@flywheel/sdk';
import type { ConsoleClient } from '../../console-client.ts';
import { describeLines, findPaidBefore } from './paid-before.ts';
import { type AirdropIdentity, type AirdropPlan, keyOfPart, type PlannedPipeline, payloadOf } from './plan.ts';

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
  deps: CheckDeps,
  { identity, parts }: AirdropPlan,
  rows: readonly AirdropRow[],
): Promise<AirdropCheck> {
  const { client, project, signal } = deps;
  const { decimals } = project.token;
  const newParts: (readonly PlannedPipeline[])[] = [];
  const sent: number[] = [];
  const issues = new Set<string>();
  let lamportsNeeded = 0n;
  let last: PreviewBatchResponse | null = null;
  const isBegun = async (part: readonly PlannedPipeline[]) =>
    client.isKeyUsed(await keyOfPart(part, identity, 0), { signal });
  for (const part of parts) {
    // Proofs have a higher rate limit than init, so that they are asked first; they do not show batches that failed.
    if ((await isRecorded(deps, part[0]?.pipeline)) && (await isBegun(part))) continue;
    const preview = await client.previewBatch({ pipelines: part.map(({ pipeline }) => pipeline) }, { signal });
    const repeated = new Set(preview.warnings?.map(({ pipeline }) => pipeline));
    if (repeated.has(0) && (await isBegun(part))) continue;
    newParts.push(part);
    last = preview;
    lamportsNeeded += BigInt(preview.funds.lamports.needed);
    for (const problem of preview.problems) issues.add(describeIssue(problem, part, rows));
    const sentBefore = part.filter((_, i) => repeated.has(i)).flatMap((planned) => planned.rows);
    // The last pipeline of a shorter file became the first one that is not repeated, with more rows in it.
    const longer = newParts.length === 1 ? part.find((_, i) => !repeated.has(i)) : undefined;
    sent.push(...sentBefore, ...(await findSentRows(deps, { identity, longer, rows })));
  }
  if (newParts.length > 0) {
    const resumed = parts.filter((part) => !newParts.includes(part)).flat();
    const paid = await findPaidBefore(deps, { identity, rows, unsent: newParts.flat(), resumed });
    for (const issue of paid.issues) issues.add(issue);
    // Proofs find rows that were paid earlier than the batches that are compared.
    const others = sent.filter((row) => !paid.rows.has(row));
    if (others.length > 0) issues.add(repeatIssue(others, rows));
  }
  // The preview of a single batch has already checked the total.
  if (last && newParts.length > 1) {
    const baseUnits = newParts
      .flat()
      .flatMap((planned) => planned.rows.map((row) => rows[row]?.baseUnits ?? 0n))
      .reduce((sum, each) => sum + each, 0n);
    for (const issue of totalIssues(last, { baseUnits, decimals, lamportsNeeded })) issues.add(issue);
  }
  return { begunParts: parts.length - newParts.length, issues: [...issues] };
}

/** Returns true if a batch of this project contains the pipeline’s proof. */
async function isRecorded(
  { console, project }: Pick<CheckDeps, 'console' | 'project'>,
  proof: Pick<Pipeline, 'type' | 'payload'> | undefined,
): Promise<boolean> {
  if (!proof) return false;
  const { type, payload } = proof;
  const { pipelines } = await console.call(CONSOLE_OPERATIONS.checkProof, { body: { type, payload } });
  return pipelines.some(({ vaultAddress }) => vaultAddress === project.vaultAddress);
}

interface LongerPipeline {
  readonly identity: AirdropIdentity;
  readonly longer: PlannedPipeline | undefined;
  readonly rows: readonly AirdropRow[];
}

/** Finds the first rows of a pipeline that an earlier batch paid in a pipeline of their own. */
async function findSentRows(
  deps: Pick<CheckDeps, 'console' | 'project'>,
  { identity, longer, rows }: LongerPipeline,
): Promise<readonly number[]> {
  const indices = longer?.rows ?? [];
  const [first = 0] = indices;
  for (let length = indices.length - 1; length > 0; length -= 1) {
    const payload = JSON.stringify(payloadOf(identity, first, rows.slice(first, first + length)));
    if (await isRecorded(deps, { type: identity.type, payload })) return indices.slice(0, length);
  }
  return [];
}

function repeatIssue(sent: readonly number[], rows: readonly AirdropRow[]): string {
  return `${describeLines(sent, rows)} in an earlier batch, with other rows: the file has changed since it was sent. Put new rows into a file of their own. To pay these rows again, pass --round NAME.`;
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
      ? [`New token accounts need ${writeSol(lamportsNeeded)}; the vault holds ${writeSol(vaultLamports)}.`]
      : []),
  ];
}
