import { setTimeout as sleep } from 'node:timers/promises';
import type { TestProject } from '../project.ts';
import type { World } from '../world.ts';
import { until } from './batches.ts';
import { readBatchOnChain } from './chain.ts';

export const ENGINES = [
  { name: 'with the block engine', environment: {} },
  { name: 'over RPC, without a block engine', environment: { JITO_BLOCK_ENGINE_URL: '' } },
] as const;

export type Engine = (typeof ENGINES)[number];

/** Longer than a test takes to look at the chain and to land a transaction of its own. */
const PAUSE_MS = 500;

/**
 * Holds every bundle up before its first transaction goes out, so that something can happen in between. What is held up
 * is called by nothing else: bundles go out by `sendBundle`, or transaction by transaction, the block height read first.
 */
export function slowBundles({ localnet }: World, { environment }: Engine): void {
  const method = 'JITO_BLOCK_ENGINE_URL' in environment ? 'getBlockHeight' : 'sendBundle';
  localnet.faults.set({ kind: 'delay', method, delayMs: PAUSE_MS });
}

/** Returns as soon as the chain has executed so many pipelines of a batch. */
export async function untilExecuted(
  world: World,
  project: TestProject,
  batchIndex: bigint,
  count: number,
): Promise<void> {
  await until(
    `pipeline ${count} to be executed`,
    async () => (await readBatchOnChain(world, project, batchIndex)).batch.executedTransactionIndex,
    (executed) => executed >= count,
  );
}

/**
 * Lets slots fly while something is awaited: a bundle that an engine dropped is given up when its blockhash has run out,
 * which takes 150 of them. Ten at a time are few enough for what is in flight to land.
 */
export async function fastForward<Result>({ localnet }: World, awaited: Promise<Result>): Promise<Result> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  awaited.then(over, over);
  while (!isOver) {
    await localnet.warp({ slots: 10n });
    await sleep(50);
  }
  return awaited;
}
