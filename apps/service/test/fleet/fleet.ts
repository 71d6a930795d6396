import { openWorld, type World, type WorldOptions } from '@flywheel/testing/world';
import { loadSigner } from '../../src/solana/signer.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

type Environment = Readonly<Record<string, string>>;

/**
 * Two processes that serve and some that work, on one database and one cluster; this process runs no part of the
 * service.
 */
export interface Fleet {
  /** The same service at its first and at its second address. */
  readonly addresses: readonly [World, World];
  readonly serving: readonly ServiceProcess[];
  readonly working: readonly ServiceProcess[];
  stop(): Promise<void>;
}

const SERVING = 2;

export interface FleetOptions extends Pick<WorldOptions, 'openDatabase'> {
  /** Processes that work; three by default. */
  readonly working?: number;
  /** Variables of the processes that serve only, and of those that work. */
  readonly serve?: Environment;
  readonly work?: Environment;
}

export async function openFleet(
  environment: Environment = {},
  { working: workers = 3, serve = {}, work = {}, ...options }: FleetOptions = {},
): Promise<Fleet> {
  const world = await openWorld(environment, { ...options, roles: new Set() });
  const started: ServiceProcess[] = [];
  const stop = async () => {
    await Promise.all(started.map((each) => each.stop()));
    await world.stop();
  };
  try {
    const start = async (command: 'serve' | 'work', own: Environment) => {
      const each = await startServiceProcess(command, own);
      started.push(each);
      return each;
    };
    const forServing = { ...(await withoutKeys(world.environment)), ...serve };
    const forWorking = { ...world.environment, ...work };
    const [serving, working] = await Promise.all([
      Promise.all(Array.from({ length: SERVING }, () => start('serve', forServing))),
      Promise.all(Array.from({ length: workers }, () => start('work', forWorking))),
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
