import type { Logger } from 'pino';
import { type App, type Role, startApp } from './app.ts';
import { type Config, ConfigError, parseConfig, parseDatabaseConfig } from './config.ts';
import { openDatabase } from './database.ts';
import { createLog } from './log.ts';

export type Command = 'start' | 'serve' | 'work' | 'migrate';

const ROLES: { readonly [C in Exclude<Command, 'migrate'>]: ReadonlySet<Role> } = {
  start: new Set(['localnet', 'http', 'worker']),
  serve: new Set(['http']),
  work: new Set(['worker']),
};

/** Node 24 strips types without a flag and gives JSON.parse the source text of numbers. */
const MIN_NODE_MAJOR = 24;

/**
 * Runs the service until SIGTERM or SIGINT. Prints one JSON line when it is ready. Only this function reads process.env.
 * @param onReady is called after that line.
 * @throws ConfigError with one sentence per invalid setting.
 */
export async function main(command: Command, onReady: OnReady = () => undefined): Promise<void> {
  requireNode();
  const config = command === 'migrate' ? parseDatabaseConfig(process.env) : parseConfig(process.env);
  const log = createLog(config.logLevel);
  if (command === 'migrate') await migrate(config, log);
  else await run(config, ROLES[command], log, onReady);
}

type OnReady = (app: Pick<App, 'url'>) => void;

async function migrate(config: Config, log: Logger): Promise<void> {
  const { applied, close } = await openDatabase(config, log);
  await close();
  print({ applied });
}

async function run(config: Config, roles: ReadonlySet<Role>, log: Logger, onReady: OnReady): Promise<void> {
  const stopped = stopSignal();
  const starting = startApp(config, roles, log);
  // A start may wait for a database or a cluster. A signal that arrives meanwhile stops it once it has started.
  const early = await Promise.race([starting.then(() => null), stopped]);
  const app = await starting;
  if (early !== null) return app.stop();
  print({ url: app.url, rpcUrl: app.rpcUrl, program: app.program, metricsUrl: app.metricsUrl });
  onReady(app);
  log.info({ signal: await stopped }, 'stopping');
  await app.stop();
}

function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, resolve);
  });
}

function requireNode(): void {
  const major = Number(process.versions.node.split('.')[0]);
  if (major >= MIN_NODE_MAJOR) return;
  throw new ConfigError([
    `Node ${process.versions.node} runs this process; Node ${MIN_NODE_MAJOR} or newer is required. npm scripts and npx use the installed one: npm start.`,
  ]);
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
