/**
 * Header by which a request to the console's API names the shard that is to answer it, if it names no project and no batch: a
 * number from 1. Behind several shards the reverse proxy answers with the same header, for example `2 of 3`.
 */
export const SHARD_HEADER = 'x-flywheel-shard';

/**
 * An answer, as far as it says which shard it is of: `0 of 3` if the reverse proxy could not tell which one the request
 * is for.
 */
interface AnswerWithHeaders {
  readonly headers?: { readonly [name: string]: string | undefined };
}

/** The answers of all shards that have answered, and the errors of the others. */
export interface AnswersOfShards<Answer> {
  readonly answers: readonly AnswerOfShard<Answer>[];
  readonly failures: readonly ShardFailure[];
}

export interface AnswerOfShard<Answer> {
  /** Number of the shard, from 1. */
  readonly shard: number;
  readonly answer: Answer;
}

/** Something in a list of all shards, with the number of the shard that has it. */
export type InShard<Item> = Item & { readonly shard: number };

/** The error of a shard that has not answered. */
export interface ShardFailure {
  /** Number of the shard, from 1. */
  readonly shard: number;
  readonly error: unknown;
}

/** Headers of a request, which may name a shard. */
export interface ShardHeaders {
  readonly [name: string]: string;
}

/** Sends a request with these headers. */
type Ask<Answer> = (headers: ShardHeaders) => Promise<Answer>;

/**
 * Asks every shard of the service the same. The shard that answers by itself is asked first, because its answer says
 * how many there are, also an error; a service without shards is one.
 * @throws the first error if no shard answers.
 */
export async function askEveryShard<Answer extends AnswerWithHeaders>(
  ask: Ask<Answer>,
): Promise<AnswersOfShards<Answer>> {
  const first = await ask({}).then(
    (answer) => ({ ...readShard(answer), answer }),
    (error: unknown) => ({ ...readShardOfError(error), error }),
  );
  if ('error' in first && first.count === 1) throw first.error;
  const { shard } = first;
  const numbers = Array.from({ length: first.count }, (_, index) => index + 1);
  const others = await askShards(
    numbers.filter((each) => each !== shard),
    ask,
  );
  if ('error' in first) {
    if (others.answers.length === 0) throw first.error;
    const failures = shard === NO_SHARD ? [] : [{ shard, error: first.error }];
    return { answers: others.answers, failures: [...failures, ...others.failures].toSorted(byNumber) };
  }
  return { ...others, answers: [{ shard, answer: first.answer }, ...others.answers].toSorted(byNumber) };
}

/** Asks some shards, by their numbers. @param ask also gets the number. */
export async function askShards<Answer>(
  shards: readonly number[],
  ask: (headers: ShardHeaders, shard: number) => Promise<Answer>,
): Promise<AnswersOfShards<Answer>> {
  const answers: AnswerOfShard<Answer>[] = [];
  const failures: ShardFailure[] = [];
  await Promise.all(
    shards.map(async (shard) => {
      try {
        answers.push({ shard, answer: await ask(headersFor(shard), shard) });
      } catch (error) {
        failures.push({ shard, error });
      }
    }),
  );
  return { answers: answers.toSorted(byNumber), failures: failures.toSorted(byNumber) };
}

/** Headers of a request that one shard is to answer. */
export function headersFor(shard: number): ShardHeaders {
  return { [SHARD_HEADER]: String(shard) };
}

/** Says why a shard is missing. */
export function describeShardFailure({ shard, error }: ShardFailure): string {
  return `Shard ${shard} is left out: ${error instanceof Error ? error.message : String(error)}`;
}

interface Place {
  /** Number of the shard, from 1; `NO_SHARD` if the reverse proxy has answered for all. */
  readonly shard: number;
  readonly count: number;
}

/** In place of a shard's number: the reverse proxy has answered for all. */
export const NO_SHARD = 0;

/** Reads which shard has answered, and how many there are. */
export function readShard({ headers = {} }: AnswerWithHeaders): Place {
  return parsePlace(headers[SHARD_HEADER]);
}

/** Reads the same of an error, which has the header's value as `shard`. */
export function readShardOfError(error: unknown): Place {
  const value = error instanceof Error && 'shard' in error ? error.shard : null;
  return parsePlace(typeof value === 'string' ? value : undefined);
}

function parsePlace(value = ''): Place {
  const [, shard = '1', count = '1'] = /^(\d{1,3}) of (\d{1,3})$/.exec(value) ?? [];
  return { shard: Number(shard), count: Number(count) };
}

function byNumber(a: { readonly shard: number }, b: { readonly shard: number }): number {
  return a.shard - b.shard;
}
