import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { closeDb, openDb } from '@flywheel/service/internal/store/db.ts';
import { ROOT } from '@flywheel/testing/service-process';
import { sql } from 'kysely';
import { type Figures, markdownTable } from '../figures.ts';
import { openPastWorld, type PastWorld } from './worlds.ts';

const SIZES = [1_000, Number(process.env.FLYWHEEL_BENCH_MOVE_PIPELINES ?? '200000')];

/** Measures how long a project refuses work while it moves to another database of the same server, with a short and a long past. */
export async function benchMove(): Promise<Figures> {
  const moves: { readonly pipelines: number; readonly move: Move }[] = [];
  for (const pipelines of SIZES) {
    const past = await openPastWorld({ pipelines, hasNeighbours: false, nonces: 2 });
    try {
      moves.push({ pipelines: past.pipelines, move: await moveAway(past) });
    } finally {
      await past.world.stop();
    }
  }
  const table = moves.map(({ pipelines, move }) => [
    String(pipelines),
    ...[move.copiedMs, move.refusedMs, move.forgottenMs].map((duration) => `${(duration / 1_000).toFixed(1)} s`),
  ]);
  return {
    title: 'A project with its past moves to another database of the same server',
    note: 'Filled by SQL with copies of executed batches; no worker runs. Of each refusal 1 s is waited.',
    rows: moves.map(({ pipelines, move }) => [
      `${pipelines} pipelines: work is refused for`,
      `${(move.refusedMs / 1_000).toFixed(2)} s`,
    ]),
    details: markdownTable(['pipelines', 'copied ahead', 'work is refused', 'removed afterwards'], table),
  };
}

interface Move {
  readonly copiedMs: number;
  readonly refusedMs: number;
  readonly forgottenMs: number;
}

async function moveAway({ world, project }: PastWorld): Promise<Move> {
  const name = `destination_${randomUUID().replaceAll('-', '')}`;
  await sql`create database ${sql.id(name)}`.execute(world.db);
  const url = new URL(world.databaseUrl);
  url.pathname = `/${name}`;
  const run = () =>
    runCommand(project.projectId, { DATABASE_URL: world.databaseUrl, DESTINATION_DATABASE_URL: url.href });
  // It migrates the destination, and refuses: no worker there has the keys.
  await run();
  const to = openDb({ connectionString: url.href }, { error: () => undefined });
  try {
    await to
      .insertInto('worker_keys')
      .values(await world.db.selectFrom('worker_keys').selectAll().execute())
      .execute();
  } finally {
    await closeDb(to);
  }
  const { startedMs, notedMs, endedMs } = await run();
  const [refused, arrived] = [notedMs.get('refuses new work'), notedMs.get('in the destination')];
  if (refused === undefined || arrived === undefined) throw new Error('The project has not moved.');
  return { copiedMs: refused - startedMs, refusedMs: arrived - refused, forgottenMs: endedMs - arrived };
}

const NOTES = ['refuses new work', 'in the destination'];

/** Runs `flywheel move-project`, and takes the time of its notes. */
async function runCommand(projectId: string, environment: Readonly<Record<string, string>>) {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [join(ROOT, 'apps/cli/bin/flywheel.js'), 'move-project', projectId], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const notedMs = new Map<string, number>();
  createInterface({ input: child.stderr }).on('line', (line) => {
    process.stderr.write(`  ${line}\n`);
    for (const note of NOTES) if (line.includes(note) && !notedMs.has(note)) notedMs.set(note, performance.now());
  });
  await once(child, 'exit');
  return { startedMs, notedMs, endedMs: performance.now() };
}
