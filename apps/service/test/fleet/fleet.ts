import {
  type ServiceProcess,
  type ServiceProcessOptions,
  startServiceProcess,
} from '@flywheel/testing/service-process';
import { openWorld, type World, type WorldOptions } from '@flywheel/testing/world';
import { loadSigner } from '../../src/solana/signer.ts';

type Environment = Readonly<Record<string, string>>;

/** A world in which other processes are the service; this process runs no part of it. */
export interface ProcessWorld {
  readonly world: World;
  /** Starts a process with the variables that an operator gives it. */
  start(command: 'serve' | 'work', options?: ServiceProcessOptions): Promise<ServiceProcess>;
  /** Stops all processes, and the world. */
  stop(): Promise<void>;
}

export interface ProcessWorldOptions extends Pick<WorldOptions, 'openDatabase'> {
  /** Variables of the processes that serve only, and of those that work. */
  readonly serve?: Environment;
  readonly work?: Environment;
}

export async function openProcessWorld(
  environment: Environment = {},
  { serve = {}, work = {}, ...options }: ProcessWorldOptions = {},
): Promise<ProcessWorld> {
  const world = await openWorld(environment, { ...options, roles: new Set() });
  const variables = {
    serve: { ...(await withoutKeys(world.environment)), ...serve },
    work: { ...world.environment, ...work },
  };
  const started: Promise<ServiceProcess>[] = [];
  const over = new AbortController();
  return {
    world,
    async start(command, processOptions) {
      if (over.signal.aborted) throw new Error('The world is stopping.');
      const starting = startServiceProcess(command, variables[command], { ...processOptions, signal: over.signal });
      started.push(starting);
      return starting;
    },
    async stop() {
      over.abort();
      const ready = (await Promise.allSettled(started)).filter((each) => each.status === 'fulfilled');
      await Promise.all(ready.map(({ value }) => value.stop()));
      await world.stop();
    },
  };
}

/** Two processes that serve and some that work, on one database and one cluster. */
export interface Fleet {
  /** The same service at its first and at its second address. */
  readonly addresses: readonly [World, World];
  readonly serving: readonly ServiceProcess[];
  readonly working: readonly ServiceProcess[];
  stop(): Promise<void>;
}

const SERVING = 2;

export interface FleetOptions extends ProcessWorldOptions {
  /** Processes that work; three by default. */
  readonly working?: number;
}

export async function openFleet(
  environment: Environment = {},
  { working: workers = 3, ...options }: FleetOptions = {},
): Promise<Fleet> {
  const { world, start, stop } = await openProcessWorld(environment, options);
  try {
    const [serving, working] = await Promise.all([
      Promise.all(Array.from({ length: SERVING }, () => start('serve'))),
      Promise.all(Array.from({ length: workers }, () => start('work'))),
    ]);
    const [first, second] = serving.map(({ url }) => Object.create(world, { url: { value: url } }) as World);
    if (!first || !second) throw new Error('A fleet has two addresses.');
    return { addresses: [first, second], serving, working, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Replaces the signers' keys by their addresses, which is all that `flywheel serve` may have. */
async function withoutKeys({ OPERATOR_SIGNER = '', COMPANY_SIGNER = '', ...rest }: World['environment']) {
  const [operator, company] = await Promise.all([loadSigner(OPERATOR_SIGNER), loadSigner(COMPANY_SIGNER)]);
  return { ...rest, OPERATOR_ADDRESS: operator.address, COMPANY_ADDRESS: company.address };
}
