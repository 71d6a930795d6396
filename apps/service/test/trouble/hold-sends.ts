import { readBatchOnChain } from '../execution/chain.ts';
import type { TestProject } from '../project.ts';
import type { GatedWorld } from './gate.ts';

export const ENGINES = [
  { name: 'with the block engine', environment: {} },
  { name: 'over RPC, without a block engine', environment: { JITO_BLOCK_ENGINE_URL: '' } },
] as const;

export type Engine = (typeof ENGINES)[number];

export interface Hold {
  /** Resolves when something is held up, and how many pipelines have been executed then. Nothing is on its way. */
  readonly reached: Promise<number>;
  /** Lets everything pass again. What is refused or dropped is dead at once: slots fly until its blockhash has run out. */
  release(): void;
}

/** Past the life of any blockhash (Agave, MAX_PROCESSING_AGE). */
const EXPIRY_SLOTS = 151n;

/**
 * Holds up what goes out once the first pipelines of a batch have been executed: there is time for something to happen
 * in the middle of an execution, however busy the machine is.
 */
export function holdSends(world: GatedWorld, { environment }: Engine, project: TestProject, batchIndex: bigint): Hold {
  const { gate, localnet } = world;
  const method = 'JITO_BLOCK_ENGINE_URL' in environment ? 'sendTransaction' : 'sendBundle';
  const reached = Promise.withResolvers<number>();
  const released = Promise.withResolvers<void>();
  gate.treat(method, async (_call, pass) => {
    const { batch } = await readBatchOnChain(world, project, batchIndex, 'confirmed');
    if (batch.executedTransactionIndex > 0) {
      reached.resolve(batch.executedTransactionIndex);
      await released.promise;
    }
    const answer = await pass();
    if (JSON.parse(answer.body).error !== undefined) await localnet.warp({ slots: EXPIRY_SLOTS });
    return answer;
  });
  gate.treat('getInflightBundleStatuses', async (_call, pass) => {
    const answer = await pass();
    if (answer.body.includes('"Failed"')) await localnet.warp({ slots: EXPIRY_SLOTS });
    return answer;
  });
  return { reached: reached.promise, release: released.resolve };
}
