/**
 * Header by which a request to the console's API names the shard that is to answer it, if it names no project and no batch: a
 * number from 1. Behind several shards the reverse proxy answers with the same header, for example `2 of 3`.
 */
export const SHARD_HEADER = 'x-flywheel-shard';

/** An answer, as far as it says which shard it is of. */
interface AnswerWithHeaders {
  readonly headers?: { readonly [name: string]: string | undefined };
}

/** The answers of all shards that have answered, and the errors of the others. */
export interface AnswersOfShards<Answer> {
  readonly answers: readonly { readonly shard: number; readonly answer: Answer }[];
  readonly failures: readonly ShardFailure[];
}

export interface ShardFailure {
  /** Number of the shard, from 1. */
  readonly shard: number;
  readonly error: unknown;
}

/**
 * Asks every shard of the service the same. The shard that answers by itself is asked first, because its answer says how many there
 * are; a service without shards is one.
 * @param ask sends the request with these headers.
 * @throws the error of the shard that is asked first.
 */
export async function askEveryShard<Answer extends AnswerWithHeaders>(
  ask: (headers: { readonly [name: string]: string }) => Promise<Answer>,
): Promise<AnswersOfShards<Answer>> {
  const first = await ask({});
  const { shard, count } = readShard(first);
  const answers = [{ shard, answer: first }];
  const failures: ShardFailure[] = [];
  const others = Array.from({ length: count }, (_, index) => index + 1).filter((each) => each !== shard);
  await Promise.all(
    others.map(async (other) => {
      try {
        answers.push({ shard: other, answer: await ask({ [SHARD_HEADER]: String(other) }) });
      } catch (error) {
        failures.push({ shard: other, error });
      }
    }),
  );
  const byNumber = (a: { readonly shard: number }, b: { readonly shard: number }) => a.shard - b.shard;
  return { answers: answers.toSorted(byNumber), failures: failures.toSorted(byNumber) };
}

/** Reads which shard has answered, and how many there are. */
export function readShard({ headers = {} }: AnswerWithHeaders): { readonly shard: number; readonly count: number } {
  const [, shard = '1', count = '1'] = /^(\d{1,3}) of (\d{1,3})$/.exec(headers[SHARD_HEADER] ?? '') ?? [];
  return { shard: Number(shard), count: Number(count) };
}
