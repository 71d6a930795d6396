import {
  isWait,
  MAX_PIPELINES_BODY_BYTES,
  MAX_PIPELINES_PER_BATCH,
  type Pipeline,
  type PreviewBatchResponse,
} from '@flywheel/api';
import { fromFinestUnits, toFinestUnits } from '../../lib/amounts.ts';

type Problem = PreviewBatchResponse['problems'][number];
type Limit = PreviewBatchResponse['limits']['burn'];
type Balance = PreviewBatchResponse['funds']['tokens'];

/** Totals of all batches of a review. */
export interface PreviewTotals {
  readonly problems: readonly (Problem & { readonly batch: number })[];
  /** Rules of the company for which a batch would wait, in sentences. */
  readonly rules: readonly string[];
  readonly warnings: readonly { readonly batch: number; readonly pipeline: number; readonly message: string }[];
  readonly tokens: Balance;
  readonly lamports: Balance;
  readonly burn: Limit;
  readonly airdrop: Limit;
  readonly cost: PreviewBatchResponse['cost'];
  /** Init would answer an error for at least one batch. */
  readonly isBlocked: boolean;
}

/** Errors that can be resolved between init and execute, e.g. by a deposit; init accepts such a batch. */
const RESOLVABLE: ReadonlySet<string> = new Set(['ERR_VAULT_UNDERFUNDED', 'ERR_BATCH_WOULD_FAIL']);

/** Adds up previews: the service checks each batch alone, but all of them share the limits and the vault. */
export function totalPreviews(previews: readonly PreviewBatchResponse[]): PreviewTotals {
  const [first] = previews;
  if (!first) throw new Error('totalPreviews needs at least one preview.');
  const problems = previews.flatMap((preview, batch) => preview.problems.map((problem) => ({ ...problem, batch })));
  const burn = sumLimit(
    previews.map(({ limits }) => limits.burn),
    first.limits.burn,
  );
  const airdrop = sumLimit(
    previews.map(({ limits }) => limits.airdrop),
    first.limits.airdrop,
  );
  return {
    problems,
    rules: [...new Set(previews.flatMap(({ rules = [] }) => rules.filter(isWait).map(({ message }) => message)))],
    warnings: previews.flatMap(({ warnings = [] }, batch) => warnings.map((warning) => ({ ...warning, batch }))),
    tokens: sumBalance(
      previews.map(({ funds }) => funds.tokens),
      first.funds.tokens,
    ),
    lamports: sumBalance(
      previews.map(({ funds }) => funds.lamports),
      first.funds.lamports,
    ),
    burn,
    airdrop,
    cost: {
      feeLamports: sum(previews.map(({ cost }) => cost.feeLamports)),
      tipLamports: sum(previews.map(({ cost }) => cost.tipLamports)),
      vaultRentLamports: sum(previews.map(({ cost }) => cost.vaultRentLamports)),
      rentLockedLamports: sum(previews.map(({ cost }) => cost.rentLockedLamports)),
      operatorNetLamports: sum(previews.map(({ cost }) => cost.operatorNetLamports)),
    },
    isBlocked: problems.some(({ code }) => !RESOLVABLE.has(code)) || exceeds(burn) || exceeds(airdrop),
  };
}

/** True if the amount exceeds what is left of the daily limit. */
export function exceeds({ asked, left }: Limit): boolean {
  return toFinestUnits(asked) > toFinestUnits(left);
}

function sum(decimals: readonly string[]): string {
  return fromFinestUnits(decimals.reduce((total, decimal) => total + toFinestUnits(decimal), 0n));
}

function sumLimit(limits: readonly Limit[], first: Limit): Limit {
  return { ...first, asked: sum(limits.map(({ asked }) => asked)) };
}

function sumBalance(balances: readonly Balance[], { available }: Balance): Balance {
  const needed = sum(balances.map((balance) => balance.needed));
  const missing = toFinestUnits(needed) - toFinestUnits(available);
  return { available, needed, missing: fromFinestUnits(missing > 0n ? missing : 0n) };
}

/** 1 KiB is left for the JSON around the pipelines. */
const MAX_PIPELINES_BYTES = MAX_PIPELINES_BODY_BYTES - 1_024;

/** Splits pipelines into as few batches as possible, in order. */
export function splitPipelines(pipelines: readonly Pipeline[]): Pipeline[][] {
  const batches: Pipeline[][] = [];
  let bytes = 0;
  for (const pipeline of pipelines) {
    // One byte for the comma.
    const own = new TextEncoder().encode(JSON.stringify(pipeline)).length + 1;
    const last = batches.at(-1);
    if (last && last.length < MAX_PIPELINES_PER_BATCH && bytes + own <= MAX_PIPELINES_BYTES) {
      last.push(pipeline);
      bytes += own;
    } else {
      batches.push([pipeline]);
      bytes = own;
    }
  }
  return batches;
}

/** A batch to create. */
export interface PlannedBatch {
  readonly pipelines: readonly Pipeline[];
  /** The service creates one batch for each key, however often it is asked. */
  readonly idempotencyKey: string;
}

/**
 * Splits pipelines into batches. One that equals a batch sent before, whatever was edited in between, keeps its key: it may
 * have been created although the answer was lost.
 * @param sent each batch that the service was asked to create, once.
 */
export function planBatches(pipelines: readonly Pipeline[], sent: readonly PlannedBatch[]): PlannedBatch[] {
  const known = Map.groupBy(sent, (batch) => JSON.stringify(batch.pipelines));
  return splitPipelines(pipelines).map(
    (batch) => known.get(JSON.stringify(batch))?.shift() ?? { pipelines: batch, idempotencyKey: crypto.randomUUID() },
  );
}
