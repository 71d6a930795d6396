import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pipeline } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, init } from '@flywheel/testing/client';
import type { TestProject } from '@flywheel/testing/project';
import { ROOT } from '@flywheel/testing/service-process';
import type { ShardProxy } from '@flywheel/testing/shard-proxy';
import { addressOf, type TwoShards } from '@flywheel/testing/two-shards';
import type { World } from '@flywheel/testing/world';
import { sql } from 'kysely';
import { BELONGINGS, readColumns } from '../../src/store/shards/belongings.ts';

export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `flywheel company` at the proxy with the operator's wallet. */
export function runCompany(shards: TwoShards, words: readonly string[]): Promise<CommandResult> {
  return runCommand(shards, ['company', ...words, '--wallet', shards.operatorFile]);
}

/** Runs `flywheel` at the proxy. */
export async function runCommand(
  { first, proxy }: TwoShards,
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const child = spawn(process.execPath, [join(ROOT, 'apps/cli/bin/flywheel.js'), ...words], {
    env: { PATH: process.env.PATH, FLYWHEEL_URL: proxy.url, SOLANA_RPC_URL: first.localnet.url, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { exitCode: child.exitCode, stdout, stderr };
}

/** Names the shards whose directories say that they have a project. */
export async function findLive(
  { first, second }: TwoShards,
  { projectId }: Pick<TestProject, 'projectId'>,
): Promise<('first' | 'second')[]> {
  const live: ('first' | 'second')[] = [];
  for (const [name, shard] of Object.entries({ first, second }) as ['first' | 'second', World][]) {
    const { status } = await fetch(new URL(`/shard/project/${projectId}`, addressOf(shard).metricsUrl));
    if (status === 204) live.push(name);
  }
  return live;
}

/** Rows of a project by table, as texts without what a database gives itself. */
export interface ProjectRows {
  readonly rows: Readonly<Record<string, readonly string[]>>;
  readonly lastEventId: bigint;
}

/** Reads all rows of a project, with the jobs that wait. */
export async function readProjectRows({ db }: Pick<World, 'db'>, projectId: string): Promise<ProjectRows> {
  const found = await db.selectFrom('flywheels').select('multisig').where('project_id', '=', projectId).execute();
  const multisig = found[0]?.multisig ?? '';
  const rows: Record<string, string[]> = {};
  for (const { table, where, keepsIds } of BELONGINGS) {
    const columns = (await readColumns(db, table)).filter(
      ({ name, isIdentity }) => !['recorded_at', 'change_id'].includes(name) && (keepsIds || !isIdentity),
    );
    const read = await sql<{ row: string }>`
      select row_to_json(each)::text as row from (
        select ${sql.join(columns.map(({ name }) => sql.ref(name)))} from ${sql.table(table)} where ${where({ projectId, multisig, isMeant: sql`true` })}
      ) each order by 1
    `.execute(db);
    if (read.rows.length > 0) rows[table] = read.rows.map(({ row }) => row);
  }
  const ids = (rows.batch_events ?? []).map((row) => BigInt(/"id":(\d+)/.exec(row)?.[1] ?? 0));
  return { rows, lastEventId: ids.reduce((most, id) => (id > most ? id : most), 0n) };
}

/** A client that initializes one batch after another, and repeats what is refused. */
export interface InitsOfClient {
  /** The batches by their idempotency keys. */
  readonly created: ReadonlyMap<string, { readonly id: string; readonly pipelines: readonly Pipeline[] }>;
  readonly refusals: number;
  /** Milliseconds of the longest time from a refusal to the next success. */
  readonly longestMs: number;
  /** Resolves when this number of batches was created. */
  until(count: number): Promise<void>;
  stop(): Promise<void>;
}

const PAUSE_MS = 250;

export function startInits({ url }: ShardProxy, { apiKey }: Pick<TestProject, 'apiKey'>): InitsOfClient {
  const created = new Map<string, { readonly id: string; readonly pipelines: readonly Pipeline[] }>();
  const state = { refusals: 0, longestMs: 0, isStopping: false };
  const run = async () => {
    while (!state.isStopping) {
      const [key, pipelines] = [randomUUID(), [burnPipeline()]];
      let refusedMs: number | null = null;
      for (;;) {
        const { status, body, headers } = await init(url, apiKey, pipelines, key);
        if (status === 200) {
          created.set(key, { id: body.batch.id, pipelines });
          break;
        }
        // An init that was under way when the rows left is undone, and repeated like every failed init.
        if (body.error !== 'ERR_BATCH_INIT_FAILED') {
          assert.deepEqual([status, body.error], [503, 'ERR_PROJECT_MOVING'], JSON.stringify(body));
          assert.ok(Number(headers.get('retry-after')) > 0);
        }
        state.refusals += 1;
        refusedMs ??= performance.now();
        await sleep(PAUSE_MS);
      }
      if (refusedMs !== null) state.longestMs = Math.max(state.longestMs, performance.now() - refusedMs);
      await sleep(PAUSE_MS);
    }
  };
  const running = run();
  return {
    created,
    get refusals() {
      return state.refusals;
    },
    get longestMs() {
      return state.longestMs;
    },
    until: async (count) => {
      const isThere = waitUntil(
        `${count} inits`,
        async () => created.size,
        (size) => size >= count,
      );
      await Promise.race([isThere, running]);
    },
    stop: async () => {
      state.isStopping = true;
      await running;
    },
  };
}
