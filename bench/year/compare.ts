import { setTimeout as sleep } from 'node:timers/promises';
import { ms, percentile, timeMs } from '../figures.ts';
import type { Request } from './requests.ts';
import type { PastWorld } from './worlds.ts';

export const SAMPLES = 100;
export const WARM_UP = 10;

export interface Comparison {
  /** A row for each request: its name; p50 of one, of the other, and their ratio; the same for p99. */
  readonly rows: readonly string[][];
  /** Number of requests whose p50 is more than twice as long on the other. */
  readonly slower: number;
}

/** Measures requests on one past and on another, in turn, so that a slow moment of the machine affects both. */
export async function compareRequests(
  requests: Readonly<Record<string, Request>>,
  one: PastWorld,
  other: PastWorld,
): Promise<Comparison> {
  const rows: string[][] = [];
  let slower = 0;
  for (const [name, run] of Object.entries(requests)) {
    const took: { readonly one: number[]; readonly other: number[] } = { one: [], other: [] };
    for (let sample = 0; sample < SAMPLES + WARM_UP; sample++) {
      for (const which of sample % 2 === 0 ? (['one', 'other'] as const) : (['other', 'one'] as const)) {
        const elapsed = await timeAnswer(() => run(which === 'one' ? one : other, sample + 1));
        if (sample >= WARM_UP) took[which].push(elapsed);
      }
    }
    const ratios = [0.5, 0.99].map((share) => percentile(took.other, share) / percentile(took.one, share));
    if ((ratios[0] ?? Number.NaN) > 2) slower += 1;
    const cells = [0.5, 0.99].flatMap((share, i) => [
      ms(percentile(took.one, share)),
      ms(percentile(took.other, share)),
      (ratios[i] ?? Number.NaN).toFixed(2),
    ]);
    process.stderr.write(`  ${name}: ${cells.join(', ')}\n`);
    rows.push([name, ...cells]);
  }
  return { rows, slower };
}

/** Measures an answer. One that the service refuses for a limit of requests is asked for again, and only the last try counts. */
export async function timeAnswer(request: () => Promise<unknown>): Promise<number> {
  for (;;) {
    try {
      return await timeMs(request);
    } catch (error) {
      if (!String(error).includes('ERR_RATE_LIMITED')) throw error;
      await sleep(LIMIT_WAIT_MS);
    }
  }
}

const LIMIT_WAIT_MS = 1_000;
