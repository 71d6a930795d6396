import { MAX_PIPELINES_PER_BATCH, type Pipeline, type PreviewBatchResponse } from '@flywheel/api';
import { textOfUnits, unitsOf } from '../../lib/text/units.ts';

type Problem = PreviewBatchResponse['problems'][number];
type Limit = PreviewBatchResponse['limits']['burn'];
type Balance = PreviewBatchResponse['funds']['tokens'];

/** What all batches of a review come to. */
export interface PreviewTotals {
  readonly problems: readonly (Problem & { readonly batch: number })[];
  readonly warnings: readonly { readonly batch: number; readonly pipeline: number; readonly message: string }[];
  readonly tokens: Balance;
  readonly lamports: Balance;
  readonly burn: Limit;
  readonly airdrop: Limit;
  readonly cost: PreviewBatchResponse['cost'];
  /** Init itself would refuse one of them. */
  readonly isRefused: boolean;
}

/** What a deposit, or a moment, can mend before the batch is executed: init takes it all the same. */
const MENDABLE: ReadonlySet<string> = new Set(['ERR_VAULT_UNDERFUNDED', 'ERR_BATCH_WOULD_FAIL']);

/** The previews of batches that are to be made together, added up: each alone knows nothing of the others. */
export function totalPreviews(previews: readonly PreviewBatchResponse[]): PreviewTotals {
  const [first] = previews;
  if (!first) throw new Error('There is no preview to add up.');
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
    isRefused: problems.some(({ code }) => !MENDABLE.has(code)) || exceeds(burn) || exceeds(airdrop),
  };
}

/** Whether more is asked for than the day has left. */
export function exceeds({ asked, left }: Limit): boolean {
  return unitsOf(asked) > unitsOf(left);
}

function sum(decimals: readonly string[]): string {
  return textOfUnits(decimals.reduce((total, decimal) => total + unitsOf(decimal), 0n));
}

function sumLimit(limits: readonly Limit[], first: Limit): Limit {
  return { ...first, asked: sum(limits.map(({ asked }) => asked)) };
}

function sumBalance(balances: readonly Balance[], { available }: Balance): Balance {
  const needed = sum(balances.map((balance) => balance.needed));
  const missing = unitsOf(needed) - unitsOf(available);
  return { available, needed, missing: textOfUnits(missing > 0n ? missing : 0n) };
}

/** The service takes bodies of 2 MiB; some of it is left for what stands around the pipelines. */
const MAX_PIPELINES_BYTES = 2 * 1_024 * 1_024 - 1_024;

/** Pipelines to as few batches as may hold them, in order. */
export function splitPipelines(pipelines: readonly Pipeline[]): Pipeline[][] {
  const batches: Pipeline[][] = [];
  let bytes = 0;
  for (const pipeline of pipelines) {
    // The comma after it counts.
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
