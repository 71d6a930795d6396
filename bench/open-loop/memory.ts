import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const Memory = z.object({ rssBytes: z.number(), heapBytes: z.number() });
const POLL_MS = 10;

export interface MemorySample extends z.infer<typeof Memory> {
  readonly atMs: number;
}

/** Measures processes that were started with its variables. */
export interface MemoryMeter {
  readonly variables: Readonly<Record<string, string>>;
  /** Collects all garbage of a process and reads what is left. */
  measure(pid: number): Promise<MemorySample>;
  close(): Promise<void>;
}

export async function openMemoryMeter(): Promise<MemoryMeter> {
  const directory = await mkdtemp(join(tmpdir(), 'flywheel-memory-'));
  const probe = new URL('memory-probe.ts', import.meta.url).href;
  return {
    variables: { BENCH_MEMORY_DIRECTORY: directory, NODE_OPTIONS: `--expose-gc --import=${probe}` },
    measure: async (pid) => {
      const file = join(directory, String(pid));
      await rm(file, { force: true });
      process.kill(pid, 'SIGUSR2');
      for (;;) {
        const text = await readFile(file, 'utf8').catch(() => null);
        if (text !== null) return { atMs: performance.now(), ...Memory.parse(JSON.parse(text)) };
        await sleep(POLL_MS);
      }
    },
    close: () => rm(directory, { recursive: true }),
  };
}

/** Computes the growth in bytes a minute: the slope of the line with the smallest squares. */
export function growthPerMinute(samples: readonly MemorySample[], bytesOf: (sample: MemorySample) => number): number {
  const mean = (of: (sample: MemorySample) => number) =>
    samples.reduce((sum, sample) => sum + of(sample), 0) / samples.length;
  const [meanMs, meanBytes] = [mean(({ atMs }) => atMs), mean(bytesOf)];
  const covariance = mean((sample) => (sample.atMs - meanMs) * (bytesOf(sample) - meanBytes));
  return (60_000 * covariance) / mean(({ atMs }) => (atMs - meanMs) ** 2);
}
