import { setTimeout as sleep } from 'node:timers/promises';
import type { Localnet } from '@flywheel/localnet';
import { openWorld } from '../world.ts';
import { assertExact, awaitEnds, awaitIdle, startLoad } from './soak.ts';

export interface FaultOptions {
  readonly projects: number;
  readonly batches: number;
  readonly pipelinesPerBatch: number;
  /** In [0, 1); of a seed, so that a run can be told again. */
  readonly random: () => number;
}

/** A lost bundle is sent again when its blockhash has run out: 150 slots of 50 ms. */
const EXPIRY_SECONDS = 8;

/**
 * Executes batches while the cluster loses bundles, answers 429 and 500, and hangs, in random combinations; then every
 * token has moved exactly once and nothing is left behind. Answers how many faults there were.
 */
export async function soakFaults({ random, ...options }: FaultOptions): Promise<number> {
  const world = await openWorld({ LOG_LEVEL: 'fatal' });
  try {
    const load = await startLoad(world, { ...options, projectCount: options.projects, batchCount: options.batches });
    const ending = new AbortController();
    const faults = misbehave(world.localnet, random, ending.signal);
    // A job that failed is tried again after a pause that grows to 10 s: the cluster must come to its senses some time.
    const calm = setTimeout(() => ending.abort(), (4 + 2 * options.batches) * 1_000);
    const seconds = 200 + options.batches * EXPIRY_SECONDS;
    await awaitEnds(world, load, seconds).finally(() => {
      clearTimeout(calm);
      ending.abort();
    });
    await assertExact(world, load);
    await awaitIdle(world, load, seconds);
    return await faults;
  } finally {
    await world.stop();
  }
}

const METHODS = [
  'sendBundle',
  'sendTransaction',
  'getSignatureStatuses',
  'getMultipleAccounts',
  'getLatestBlockhash',
  'getBlockHeight',
  'getInflightBundleStatuses',
  'simulateTransaction',
  '*',
];

async function misbehave({ faults }: Localnet, random: () => number, signal: AbortSignal): Promise<number> {
  const pick = <T>(choices: readonly T[]): T => {
    const choice = choices[Math.floor(random() * choices.length)];
    if (choice === undefined) throw new Error('There is nothing to pick from.');
    return choice;
  };
  let count = 0;
  while (!signal.aborted) {
    const times = 1 + Math.floor(random() * 4);
    const kind = pick(['drop', 'error', 'error', 'delay'] as const);
    if (kind === 'drop') faults.set({ kind, method: 'sendBundle', times: 1 });
    if (kind === 'error') faults.set({ kind, method: pick(METHODS), status: pick([429, 500] as const), times });
    if (kind === 'delay') faults.set({ kind, method: pick(METHODS), delayMs: Math.floor(random() * 400), times });
    count += 1;
    await sleep(100 + random() * 900);
  }
  faults.clear();
  return count;
}
