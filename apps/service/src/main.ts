import { flushCompileCache } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type App, type Role, startApp } from './app.ts';
import { type Config, ConfigError, parseConfig, parseDatabaseConfig } from './config.ts';
import { openDatabase } from './database.ts';
import { createLog } from './log.ts';
import { LostDatabase } from './store/postgres.ts';

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

/** The line that says that the service is ready. A provider's URL contains its key, so that only its host is shown. */
export function describeReady({
  url,
  rpcUrl,
  program,
  metricsUrl,
}: Pick<App, 'url' | 'rpcUrl' | 'program' | 'metricsUrl'>) {
  return { url, rpcUrl: program === null ? new URL(rpcUrl).host : rpcUrl, program, metricsUrl };
}

type OnReady = (app: Pick<App, 'url'>) => void;

async function migrate(config: Config, log: Logger): Promise<void> {
  const { applied, close } = await openDatabase(config, log);
  await close();
  print({ applied });
}

async function run(config: Config, roles: ReadonlySet<Role>, log: Logger, onReady: OnReady): Promise<void> {
  const stopping = new AbortController();
  const stopped = stopSignal(stopping);
  let running: App['running'] = () => ['start'];
  void stopped.then(() => endInTime(log, () => running()));
  const app = await startApp(config, roles, log, stopping.signal).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
    log.info({ err: error }, 'stopped during the start');
    return null;
  });
  if (app === null) return;
  running = app.running;
  if (stopping.signal.aborted) return app.stop();
  // Node stores what it has compiled when a process ends: the first one took seconds to stop, and a killed one kept nothing.
  flushCompileCache();
  print(describeReady(app));
  onReady(app);
  const end = await Promise.race([stopped, app.lost]);
  if (end instanceof LostDatabase) return endWithout(app, log, end);
  log.info({ signal: end }, 'stopping');
  await app.stop();
}

function stopSignal(stopping: AbortController): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        stopping.abort();
        resolve(signal);
      });
    }
  });
}

/**
 * Requests have 12 s to be answered, and then running jobs 10 s to end. Kubernetes kills a process 30 s after SIGTERM,
 * and Docker after `stop_grace_period`, without a word about what it was waiting for.
 */
const STOP_MS = 25_000;

/** Ends the process if its parts do not stop in time, e.g. because its database answers nothing. What is lost is repeated. */
function endInTime(log: Logger, running: App['running']): void {
  setTimeout(() => {
    log.fatal({ parts: running(), waitedMs: STOP_MS }, 'the process ends although these parts have not stopped');
    process.exit(1);
  }, STOP_MS).unref();
}

/** Without a database, stopping in order may wait for answers that never come. */
const LOST_STOP_MS = 3_000;

/** Ends a service that has lost its database, with the reason, whatever is still open. */
async function endWithout(app: App, log: Logger, lost: LostDatabase): Promise<never> {
  log.fatal({ err: lost }, 'the service ends');
  const stopping = app.stop().catch((error: unknown) => log.warn({ err: error }, 'a part did not stop in order'));
  await Promise.race([stopping, sleep(LOST_STOP_MS)]);
  // The caller prints the reason first. What still waits for the database must not keep the process.
  setTimeout(() => process.exit(1), LOST_STOP_MS).unref();
  throw lost;
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
