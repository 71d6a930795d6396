import type { Clock } from '../model/clock.ts';

/**
 * An answer, or null when it takes longer than this: for what people wait for and can do without. The work goes on.
 * @throws what the work throws within that time.
 */
export async function answerWithin<Answer>(
  clock: Pick<Clock, 'sleep'>,
  ms: number,
  work: Promise<Answer>,
): Promise<Answer | null> {
  const over = new AbortController();
  try {
    return await Promise.race([work, clock.sleep(ms, over.signal).then(() => null)]);
  } finally {
    over.abort();
  }
}
