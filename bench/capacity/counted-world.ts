import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { type DatabaseProxy, openDatabaseProxy } from '@flywheel/testing/database-proxy';
import { type Gate, openGate } from '@flywheel/testing/gate';
import { sql } from 'kysely';
import { openSeparateWorld, type SeparateOptions, type SeparateWorld } from '../separate-world.ts';
import type { Amount } from './unit-costs.ts';

/** Amounts that are read as a difference, before and after. */
export type Counted = Extract<
  Amount,
  | 'serveCpuMs'
  | 'workCpuMs'
  | 'databaseCpuMs'
  | 'otherCpuMs'
  | 'roundTrips'
  | 'databaseBytes'
  | 'walBytes'
  | 'rpcCalls'
  | 'engineRequests'
>;

/** All that has been used since the start. */
export interface Reading {
  readonly atMs: number;
  readonly amounts: Readonly<Record<Counted, number>>;
  /** Calls to the nodes and requests to the engine, by method. */
  readonly methods: ReadonlyMap<string, number>;
}

/** Processes of the service whose database, nodes and block engine are behind proxies that count. */
export interface CountedWorld extends SeparateWorld {
  read(): Promise<Reading>;
  /** Stops the workers where they are, or lets them go on. */
  pauseWork(): void;
  resumeWork(): void;
}

export async function openCountedWorld(
  environment: Readonly<Record<string, string>>,
  options: Omit<SeparateOptions, 'variablesOf'> = {},
): Promise<CountedWorld> {
  const proxies: DatabaseProxy[] = [];
  const gates: Gate[] = [];
  const methods = new Map<string, number>();
  const variablesOf: SeparateOptions['variablesOf'] = async ({ databaseUrl, localnet }) => {
    const gate = await openGate(localnet);
    gate.intercept('*', ({ method }, pass) => {
      methods.set(method, (methods.get(method) ?? 0) + 1);
      return pass();
    });
    gates.push(gate);
    const proxy = await openDatabaseProxy(databaseUrl);
    proxies.push(proxy);
    const through = { ...gate.environment, DATABASE_URL: proxy.url };
    return { serve: through, work: through };
  };
  const webhooks = { WEBHOOK_KEY: randomBytes(32).toString('base64'), WEBHOOK_ALLOW_PRIVATE: '1' };
  const world = await openSeparateWorld({ ...webhooks, ...environment }, { ...options, variablesOf });
  const signal = (name: NodeJS.Signals) => {
    for (const { pid } of world.works) process.kill(pid, name);
  };
  return {
    ...world,
    read: async () => {
      const { walBytes, postmaster } = await readServer(world);
      const [serve, work] = await Promise.all([cpuOf(world.serves), cpuOf(world.works)]);
      const counts = proxies.map((proxy) => proxy.counts());
      const { user, system } = process.cpuUsage();
      const countOf = (isOf: (method: string) => boolean) =>
        [...methods].reduce((sum, [method, count]) => sum + (isOf(method) ? count : 0), 0);
      return {
        atMs: performance.now(),
        methods: new Map(methods),
        amounts: {
          serveCpuMs: serve,
          workCpuMs: work,
          databaseCpuMs: await treeCpuMs(postmaster),
          otherCpuMs: (user + system) / 1_000,
          roundTrips: counts.reduce((sum, { roundTrips }) => sum + roundTrips, 0),
          databaseBytes: counts.reduce((sum, { bytes }) => sum + bytes, 0),
          walBytes,
          rpcCalls: countOf((method) => !isOfEngine(method)),
          // The others do not count against its limit: the tip floor is another host's, and a status waits until no bundle does.
          engineRequests: methods.get('sendBundle') ?? 0,
        },
      };
    },
    pauseWork: () => signal('SIGSTOP'),
    resumeWork: () => signal('SIGCONT'),
    stop: async () => {
      await world.stop();
      await Promise.all([...gates, ...proxies].map((each) => each.stop()));
    },
  };
}

/** Methods of the block engine. Its page with the tip floor, a GET, has none. */
function isOfEngine(method: string): boolean {
  return method === '' || /Bundle|getTipAccounts/.test(method);
}

async function readServer({ db }: SeparateWorld): Promise<{ readonly walBytes: number; readonly postmaster: number }> {
  const { rows } = await sql<{ wal: number; pid: number }>`
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as wal, pg_backend_pid() as pid
  `.execute(db);
  const [row] = rows;
  const parent = row && (await readStat(row.pid))?.parent;
  if (!row || parent === undefined) throw new Error('PostgreSQL does not say which process it is.');
  return { walBytes: row.wal, postmaster: parent };
}

async function cpuOf(processes: readonly { readonly pid: number }[]): Promise<number> {
  const stats = await Promise.all(processes.map(({ pid }) => readStat(pid)));
  return stats.reduce((sum, stat) => sum + (stat?.ownMs ?? 0), 0);
}

/**
 * Reads the CPU of a process and of all its children, those that have ended too. It reads again if one has ended meanwhile,
 * which would count twice: connections of a worker that stood still end when it goes on.
 */
async function treeCpuMs(pid: number): Promise<number> {
  for (;;) {
    const before = await readStat(pid);
    const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
    const children = (await Promise.all(pids.map(readStat))).filter((stat) => stat?.parent === pid);
    const own = await readStat(pid);
    if (own === null || before === null) throw new Error(`Process ${pid} has ended.`);
    if (before.endedMs !== own.endedMs) continue;
    return own.ownMs + own.endedMs + children.reduce((sum, stat) => sum + (stat?.ownMs ?? 0), 0);
  }
}

interface ProcessStat {
  readonly parent: number;
  readonly ownMs: number;
  /** CPU of its children that have ended. */
  readonly endedMs: number;
}

/** Reads a process's CPU (proc_pid_stat(5)); null if it has ended. */
async function readStat(pid: number): Promise<ProcessStat | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (text === null) return null;
  // The name before the last bracket may hold anything. The first field after it is the third one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (place: number) => Number(fields[place - 3]);
  return {
    parent: field(4),
    ownMs: (field(14) + field(15)) * TICK_MS,
    endedMs: (field(16) + field(17)) * TICK_MS,
  };
}

/** Linux reports CPU in hundredths of a second on every architecture (USER_HZ). */
const TICK_MS = 10;
