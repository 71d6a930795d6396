import { createProject, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { loadSigner } from '../apps/service/src/solana/signer.ts';
import { startServiceProcess } from '../apps/service/test/fleet/service-process.ts';
import { openBenchWorld } from './bench-world.ts';

/** A service in two processes of its own, `serve` and `work`. This process has the cluster and the clients. */
export interface SeparateWorld extends Pick<World, 'url' | 'db' | 'localnet' | 'databaseUrl'> {
  /** Ends the worker, so that only requests are measured. */
  stopWork(): Promise<void>;
  stop(): Promise<void>;
}

/** Opens it with slots as long as on a cluster, so that blockhashes live as long. Nothing is final later than needed. */
export async function openSeparateWorld(environment: Readonly<Record<string, string>>): Promise<SeparateWorld> {
  const world = await openBenchWorld(environment, { roles: new Set(), slotMs: 400 });
  const { OPERATOR_SIGNER = '', COMPANY_SIGNER = '', ...shared } = world.environment;
  const [operator, company] = await Promise.all([loadSigner(OPERATOR_SIGNER), loadSigner(COMPANY_SIGNER)]);
  const addresses = { OPERATOR_ADDRESS: operator.address, COMPANY_ADDRESS: company.address };
  const work = await startServiceProcess('work', world.environment);
  const serve = await startServiceProcess('serve', { ...shared, ...addresses });
  if (serve.url === null) throw new Error('`flywheel serve` names no URL.');
  return {
    url: serve.url,
    localnet: world.localnet,
    db: world.db,
    databaseUrl: world.databaseUrl,
    stopWork: () => work.kill(),
    stop: async () => {
      // The work that is left is not measured.
      await Promise.all([serve.kill(), work.kill()]);
      await world.stop();
    },
  };
}

export function createProjects(world: SeparateWorld, count: number): Promise<TestProject[]> {
  return inParallel(Array.from({ length: count }), 32, () => createProject(world));
}

/** Waits for nonces, whose creation is not measured. */
export async function untilNonces({ db }: SeparateWorld, count: number): Promise<void> {
  for (;;) {
    const free = await db.selectFrom('nonces').select('address').where('state', '=', 'available').execute();
    if (free.length >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Does the work for every item, for some of them at a time. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  atATime: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const left = items.entries();
  const workOn = async () => {
    for (const [i, item] of left) results[i] = await work(item);
  };
  await Promise.all(Array.from({ length: atATime }, workOn));
  return results;
}
