import { waitUntil } from '@flywheel/testing/batches';
import { createPairedServer, type PairedServer } from '@flywheel/testing/postgres-pair';
import pg from 'pg';
import { type Figures, markdownTable, ms, percentile, timeMs } from '../figures.ts';
import { readPart } from '../results.ts';
import { readTable } from './unit-costs.ts';

/** Nothing of it is lost with the power of the machine, as nothing of a company's database is. */
const SETTINGS = { fsync: 'on', shared_buffers: '256MB', max_wal_size: '4GB', wal_keep_size: '2GB' };
const COMMITS = 2_000;
const WARM_UP = 200;
/** Enough of the log for some seconds of replay. */
const LOG_BYTES = 500e6;
const ROWS_AT_ONCE = 200;

const COLUMN = 'of a standby';
const [CONFIRM, REPLAY] = ['a commit waits longer, ms', 'log that it replays, MB/s'];

/** Measures what a synchronous standby adds to a commit, and how fast a standby replays the log of small rows with three indexes. */
export async function benchStandby(): Promise<Figures> {
  await using opened = new AsyncDisposableStack();
  const open = async (name: string) => {
    const server = await createPairedServer(name, SETTINGS);
    opened.defer(() => server.remove());
    return server;
  };
  const primary = await open('primary');
  await primary.start();
  const standby = await open('standby');
  await standby.follow(primary);
  await primary.query(`alter system set synchronous_standby_names = 'ANY 1 (standby)'`, 'select pg_reload_conf()');
  await waitUntil(
    'the standby',
    () => primary.query("select from pg_stat_replication where sync_state = 'quorum'"),
    ({ length }) => length === 1,
  );
  const client = new pg.Client({ connectionString: primary.url });
  await client.connect();
  opened.defer(() => client.end());
  await client.query(`
    create table written (
      id uuid primary key default gen_random_uuid(), hash bytea not null default sha256(gen_random_uuid()::text::bytea),
      day date not null default current_date, text text not null default repeat('x', 200)
    );
    create index on written (hash);
    create index on written (day, id);
  `);
  const { alone, confirmed } = await measureCommits(client);
  const confirmMs = percentile(confirmed, 0.5) - percentile(alone, 0.5);
  const { bytes, seconds } = await measureReplay(client, standby);
  return {
    title: 'a synchronous standby of PostgreSQL on the machine of its primary',
    note: 'Both flush each commit to the same disk. The network between two machines is not in it.',
    rows: [
      ['commit that waits for no standby, p50, p99', both(alone)],
      ['commit that waits for the standby, p50, p99', both(confirmed)],
      ['log that was replayed', `${(bytes / 1e6).toFixed(0)} MB in ${seconds.toFixed(1)} s, by one process`],
    ],
    details: markdownTable(
      [COLUMN, 'value'],
      [
        [CONFIRM, confirmMs.toFixed(2)],
        [REPLAY, (bytes / 1e6 / seconds).toFixed(1)],
      ],
    ),
  };
}

function both(sample: readonly number[]): string {
  return `${ms(percentile(sample, 0.5))}, ${ms(percentile(sample, 0.99))}`;
}

/** Commits a row, in turn without the standby and with it, so that a slow moment of the disk affects both. */
async function measureCommits(client: pg.Client): Promise<Readonly<Record<'alone' | 'confirmed', number[]>>> {
  const took = { alone: [] as number[], confirmed: [] as number[] };
  for (let i = 0; i < COMMITS + WARM_UP; i++) {
    for (const [kind, level] of [
      ['alone', 'local'],
      ['confirmed', 'on'],
    ] as const) {
      await client.query(`set synchronous_commit = ${level}`);
      const elapsed = await timeMs(() => client.query('insert into written default values'));
      if (i >= WARM_UP) took[kind].push(elapsed);
    }
  }
  return took;
}

/** Lets the standby store the log without replaying it, and then replay all of it. */
async function measureReplay(
  client: pg.Client,
  standby: PairedServer,
): Promise<{ readonly bytes: number; readonly seconds: number }> {
  await client.query('set synchronous_commit = local');
  const began = await readWritten(client);
  await standby.query('select pg_wal_replay_pause()');
  let written = began;
  while (written - began < LOG_BYTES) {
    await client.query(`insert into written select from generate_series(1, ${ROWS_AT_ONCE})`);
    written = await readWritten(client);
  }
  const readStandby = async (position: string) => {
    const [row] = await standby.query<{ at: number }>(`select (${position} - '0/0')::float8 as at`);
    return row?.at ?? 0;
  };
  await waitUntil(
    'the log on the standby',
    () => readStandby('pg_last_wal_receive_lsn()'),
    (received) => received >= written,
  );
  const from = await readStandby('pg_last_wal_replay_lsn()');
  const elapsedMs = await timeMs(async () => {
    await standby.query('select pg_wal_replay_resume()');
    await waitUntil(
      'the replay',
      () => readStandby('pg_last_wal_replay_lsn()'),
      (replayed) => replayed >= written,
    );
  });
  return { bytes: written - from, seconds: elapsedMs / 1_000 };
}

async function readWritten(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ at: number }>(`select (pg_current_wal_flush_lsn() - '0/0')::float8 as at`);
  return rows[0]?.at ?? 0;
}

/** Measured facts of a standby. */
export interface StandbyCosts {
  /** Milliseconds that a commit waits longer for the standby, without the network. */
  readonly confirmMs: number;
  readonly replayBytesPerSecond: number;
}

/** Reads what `npm run bench -- --record standby` has measured. @throws Error if its table has another format. */
export async function readStandbyCosts(): Promise<StandbyCosts> {
  const rows = readTable(await readPart('standby'), COLUMN);
  const read = (wanted: string) => {
    const value = Number(rows.find(([name]) => name === wanted)?.[1]);
    if (!Number.isFinite(value)) throw new Error(`bench/results.md does not say of a standby: ${wanted}`);
    return value;
  };
  return { confirmMs: read(CONFIRM), replayBytesPerSecond: 1e6 * read(REPLAY) };
}
