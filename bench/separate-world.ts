import { loadSigner } from '@flywheel/service/internal/solana/signer.ts';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { type ServiceProcess, startServiceProcess } from '@flywheel/testing/service-process';
import type { World } from '@flywheel/testing/world';
import { openBenchWorld } from './bench-world.ts';

/** A service in processes of its own, `serve` and `work`. This process has the cluster and the clients. */
export interface SeparateWorld extends Pick<World, 'url' | 'db' | 'localnet' | 'databaseUrl'> {
  readonly serves: readonly ServiceProcess[];
  readonly works: readonly ServiceProcess[];
  /** Ends the workers, so that only requests are measured. */
  stopWork(): Promise<void>;
  stop(): Promise<void>;
}

export interface SeparateOptions {
  /** Number of processes; 1 by default. */
  readonly serves?: number;
  readonly works?: number;
  /** Slots between `confirmed` and `finalized`; 2 by default, so that nothing is final later than needed. */
  readonly finalizedLagSlots?: number;
  /** Settings of PostgreSQL other than its defaults. */
  readonly postgresSettings?: Readonly<Record<string, string>>;
  /** Further variables of each kind of process, e.g. those that lead them through a proxy. */
  readonly variablesOf?: (
    world: World,
  ) => Promise<Readonly<Record<'serve' | 'work', Readonly<Record<string, string>>>>>;
}

/** Opens it with slots as long as on a cluster, so that blockhashes live as long. */
export async function openSeparateWorld(
  environment: Readonly<Record<string, string>>,
  {
    serves: serveCount = 1,
    works: workCount = 1,
    finalizedLagSlots = 2,
    postgresSettings,
    variablesOf,
  }: SeparateOptions = {},
): Promise<SeparateWorld> {
  const options = { roles: new Set<never>(), slotMs: 400, finalizedLagSlots };
  const world = await openBenchWorld(environment, options, postgresSettings);
  const { OPERATOR_SIGNER = '', COMPANY_SIGNER = '', ...shared } = world.environment;
  const [operator, company] = await Promise.all([loadSigner(OPERATOR_SIGNER), loadSigner(COMPANY_SIGNER)]);
  const addresses = { OPERATOR_ADDRESS: operator.address, COMPANY_ADDRESS: company.address };
  const variables = await variablesOf?.(world);
  const works = await startAll(workCount, 'work', { ...world.environment, ...variables?.work });
  const serves = await startAll(serveCount, 'serve', { ...shared, ...addresses, ...variables?.serve });
  const url = serves[0]?.url ?? null;
  if (url === null) throw new Error('`flywheel serve` names no URL.');
  const kill = (processes: readonly ServiceProcess[]) => Promise.all(processes.map((each) => each.kill()));
  return {
    url,
    serves,
    works,
    localnet: world.localnet,
    db: world.db,
    databaseUrl: world.databaseUrl,
    stopWork: async () => void (await kill(works)),
    stop: async () => {
      // The work that is left is not measured.
      await kill([...serves, ...works]);
      await world.stop();
    },
  };
}

async function startAll(
  count: number,
  command: 'serve' | 'work',
  environment: Readonly<Record<string, string>>,
): Promise<ServiceProcess[]> {
  const started: ServiceProcess[] = [];
  for (let i = 0; i < count; i++) started.push(await startServiceProcess(command, environment));
  return started;
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
