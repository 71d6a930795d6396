import { CONSOLE_OPERATIONS, MAX_PAGE_SIZE, type ProjectSummary } from '@flywheel/api';
import { decimalOf, pluralize, toBaseUnits } from '@flywheel/protocol';
import type { AirdropRow } from '@flywheel/protocol/airdrop-csv';
import type { ConsoleClient } from '../../console-client.ts';
import type { AirdropIdentity, PlannedPipeline } from './plan.ts';

/** Two payments of the same day of two months are at least 28 days apart, and must not be confused. */
const COMPARED_MS = 28 * 86_400_000;
/** A project that streams small batches may have thousands; each one costs a request. */
const MAX_COMPARED_BATCHES = 200;

export interface PaidBefore {
  /** Indices of the rows. */
  readonly rows: ReadonlySet<number>;
  /** A sentence per batch. */
  readonly issues: readonly string[];
}

export interface ComparedRows {
  readonly identity: AirdropIdentity;
  readonly rows: readonly AirdropRow[];
  /** The pipelines that are not sent yet. Only their rows are compared. */
  readonly unsent: readonly PlannedPipeline[];
  /** The pipelines of batches that are resumed: what these paid is not paid again. */
  readonly resumed: readonly PlannedPipeline[];
}

/**
 * Finds rows that a recent batch of the project has paid, or is about to pay, to the same recipient and of the same amount:
 * a file in another order, or with rows before the old ones, has other idempotency keys. Batches of files are compared,
 * of any type, if their round and run are the same.
 */
export async function findPaidBefore(
  { console, project }: { readonly console: ConsoleClient; readonly project: ProjectSummary },
  { identity, rows, unsent, resumed }: ComparedRows,
): Promise<PaidBefore> {
  const own = new Set(resumed.map(({ pipeline }) => `${pipeline.type} ${pipeline.payload}`));
  const unmatched = new Map<string, number[]>();
  const keyOf = (address: string, baseUnits: bigint | null) => `${address} ${baseUnits}`;
  for (const index of unsent.flatMap((planned) => planned.rows)) {
    const row = rows[index];
    if (!row) continue;
    const key = keyOf(row.address, row.baseUnits);
    const indices = unmatched.get(key);
    if (indices) indices.push(index);
    else unmatched.set(key, [index]);
  }
  const found = new Set<number>();
  const issues: string[] = [];
  for await (const { id, status, dateUpdated } of recentAirdrops(console, project.id)) {
    const request = { params: { projectId: project.id, batchId: id } };
    const { pipelines } = await console.call(CONSOLE_OPERATIONS.getProjectBatch, request);
    const isOpen = status !== 'EXECUTED' && status !== 'FAILED';
    const paid = pipelines
      .filter(({ type, payload, state }) => {
        if (state !== 'executed' && !isOpen) return false;
        return isOfSameAirdrop(payload, identity) && !own.has(`${type} ${payload}`);
      })
      .flatMap(({ actions }) => actions)
      .flatMap((action) => {
        if (action.action !== 'AIRDROP') return [];
        const baseUnits = toBaseUnits(decimalOf(action.amount), project.token.decimals);
        return unmatched.get(keyOf(action.toAddress, baseUnits))?.shift() ?? [];
      });
    if (paid.length === 0) continue;
    for (const index of paid) found.add(index);
    const which = describeLines(paid, rows);
    issues.push(
      isOpen
        ? `${which} in batch ${id}, which is ${status}. Restore the file to resume that batch, or end it with flywheel cancel ${id}.`
        : `${which} already paid in batch ${id} on ${dateUpdated}. Restore the file, or remove these lines. To pay them again, pass --round NAME.`,
    );
  }
  return { rows: found, issues };
}

/** Iterates over the batches that have paid recipients, or may do so, newest first. */
async function* recentAirdrops(console: ConsoleClient, projectId: string) {
  const since = new Date(Date.now() - COMPARED_MS).toISOString();
  let compared = 0;
  let cursor: string | undefined;
  do {
    const query = { limit: String(MAX_PAGE_SIZE), ...(cursor !== undefined && { cursor }) };
    const page = await console.call(CONSOLE_OPERATIONS.listProjectBatches, { params: { projectId }, query });
    for (const batch of page.batches) {
      if (batch.dateCreated < since || compared === MAX_COMPARED_BATCHES) return;
      const { actions, kind = 'pipelines', status, executedPipelines } = batch;
      if (kind !== 'pipelines' || actions.airdrop === 0 || (status === 'FAILED' && executedPipelines === 0)) continue;
      compared += 1;
      yield batch;
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}

/** A payload of this command or of the console's airdrop has the hash of its rows. Other payments are not from a file. */
function isOfSameAirdrop(payload: string, { round, run }: AirdropIdentity): boolean {
  const proven: { sha256?: unknown; round?: unknown; run?: unknown } = JSON.parse(payload);
  return proven.sha256 !== undefined && (proven.round ?? '') === round && (proven.run ?? 1) === run;
}

/** `12 lines, 1 to 14, are`. */
export function describeLines(indices: readonly number[], rows: readonly AirdropRow[]): string {
  const lines = indices.flatMap((row) => rows[row]?.lines ?? []);
  const [first, last] = [Math.min(...lines), Math.max(...lines)];
  return lines.length === 1 ? `Line ${first} is` : `${pluralize(lines.length, 'line')}, ${first} to ${last}, are`;
}
