import type { CompanyOverview, JobSummary, WaitingBatch } from './console-schemas/company.ts';
import type { ProjectSummary } from './console-schemas/project.ts';
import type { AnswerOfShard, InShard } from './shards.ts';

type Answers<Body> = readonly AnswerOfShard<{ readonly body: Body }>[];

/** Lists the batches of all shards that wait for the company, oldest first. */
export function mergeWaiting(answers: Answers<{ readonly batches: readonly WaitingBatch[] }>): InShard<WaitingBatch>[] {
  const compare = (a: WaitingBatch, b: WaitingBatch) => a.requestedAt.localeCompare(b.requestedAt);
  return mergeLists(answers, ({ batches }) => batches, compare);
}

/** Lists the projects of all shards, newest first. */
export function mergeProjects(
  answers: Answers<{ readonly projects: readonly ProjectSummary[] }>,
): InShard<ProjectSummary>[] {
  const compare = (a: ProjectSummary, b: ProjectSummary) => b.dateCreated.localeCompare(a.dateCreated);
  return mergeLists(answers, ({ projects }) => projects, compare);
}

/** Lists the jobs of all shards, oldest first. */
export function mergeJobs(answers: Answers<{ readonly jobs: readonly JobSummary[] }>): InShard<JobSummary>[] {
  const compare = (a: JobSummary, b: JobSummary) => a.dateCreated.localeCompare(b.dateCreated);
  return mergeLists(answers, ({ jobs }) => jobs, compare);
}

/**
 * Puts the lists of all shards into one.
 * @param compare orders two items, as the shards order theirs.
 */
function mergeLists<Body, Item>(
  answers: Answers<Body>,
  listOf: (body: Body) => readonly Item[],
  compare: (a: Item, b: Item) => number,
): InShard<Item>[] {
  const items = answers.flatMap(({ shard, answer }) => listOf(answer.body).map((item) => ({ ...item, shard })));
  return items.toSorted(compare);
}

/** The state of a service with one shard or several. */
export interface CompanyOfShards {
  readonly shards: readonly InShard<CompanyOverview>[];
  readonly totals: CompanyTotals;
}

/** The figures of all shards that can be added. */
export interface CompanyTotals
  extends Pick<CompanyOverview, 'projects' | 'openBatches' | 'waitingBatches' | 'stuckJobs'> {
  /** The account of the operator, with the rent and the spending of all shards; null if the shards have several operators. */
  readonly operator: CompanyOverview['operator'] | null;
}

/** Puts the states of all shards together. */
export function mergeOverviews(answers: Answers<CompanyOverview>): CompanyOfShards {
  const shards = answers.map(({ shard, answer }) => ({ ...answer.body, shard }));
  const add = (of: (overview: CompanyOverview) => number) => shards.reduce((sum, overview) => sum + of(overview), 0);
  const totals = {
    projects: add(({ projects }) => projects),
    openBatches: add(({ openBatches }) => openBatches),
    waitingBatches: add(({ waitingBatches }) => waitingBatches),
    stuckJobs: add(({ stuckJobs }) => stuckJobs),
    operator: addOperators(shards.map(({ operator }) => operator)),
  };
  return { shards, totals };
}

function addOperators(operators: readonly CompanyOverview['operator'][]): CompanyOverview['operator'] | null {
  const [first] = operators;
  if (first === undefined || operators.some(({ address }) => address !== first.address)) return null;
  const add = (of: (operator: CompanyOverview['operator']) => string) =>
    operators.reduce((sum, operator) => sum + BigInt(of(operator)), 0n);
  const spentPerDay = add(({ spentPerDayLamports }) => spentPerDayLamports);
  // Each shard reads the same account.
  const lamports = operators.find((each) => each.lamports !== null)?.lamports ?? null;
  return {
    address: first.address,
    lamports,
    rentOutLamports: String(add(({ rentOutLamports }) => rentOutLamports)),
    spentPerDayLamports: String(spentPerDay),
    runwayDays: lamports === null || spentPerDay === 0n ? null : Number(BigInt(lamports) / spentPerDay),
  };
}
