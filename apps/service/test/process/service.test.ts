import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, send } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { openDatabaseProxy } from '@flywheel/testing/database-proxy';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { createProject, requireOk } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { type App, type Role, startApp } from '../../src/app.ts';
import { ConfigError, parseConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { createSignerFile } from '../../src/solana/signer.ts';
import { closeDb, openDb } from '../../src/store/db.ts';
import { migrate } from '../../src/store/migrate.ts';
import { findNonces } from '../../src/store/nonces.ts';
import { insertChallenge, insertSession } from '../../src/store/projects/sessions.ts';

const [SOMEBODY, SOMEBODY_ELSE] = [
  '7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe',
  'HXtBm8XZbxaTt41uqaKhwUAa6Z1aPyvJdsZVENiWsetg',
];

describe('a running service', () => {
  let world: World;
  before(async () => {
    world = await openWorld({ LOG_LEVEL: 'fatal' });
  });
  after(() => world.stop());

  it(
    'is alive, and ready while its database and its cluster answer; neither needs a key',
    onlyLocal('fail calls'),
    async () => {
      const live = await send(world.url, 'GET', '/health/live');
      assert.deepEqual([live.status, live.body], [200, { status: 'ok' }]);
      assert.deepEqual(await readiness(), [200, 'ok', { database: 'ok', cluster: 'ok' }]);

      world.localnet.faults.set({ kind: 'delay', method: 'getBlockHeight', delayMs: 2_500 });
      // The answer of the last second is given again.
      const isReady = ([status]: readonly unknown[]) => status === 200;
      const late = await waitUntil('the check of a cluster that is late', readiness, (found) => !isReady(found));
      assert.deepEqual(late, [503, 'unavailable', { database: 'ok', cluster: 'timed out' }]);
      assert.equal((await send(world.url, 'GET', '/health/live')).status, 200);
      world.localnet.faults.clear();
      await waitUntil('the check of a cluster that answers again', readiness, isReady);
    },
  );

  it(
    'ends waiting execute requests when it stops, and another process continues: tokens move once',
    onlyLocal('fail calls'),
    async () => {
      const project = await createProject(world);
      const batch = await setUpBatch(world, project, [burnPipeline(3), burnPipeline(4)]);
      const supply = await tokenSupply(world, project.mint);
      world.localnet.faults.set({ kind: 'delay', method: 'sendBundle', delayMs: 1_000, times: 1 });
      const waiting = executeSigned(world, project, batch, { prefer: 'wait=120' });
      await untilSent(batch.id);
      await world.restart();
      const { status, body } = await waiting;
      assert.deepEqual([status, body], [202, { batchId: batch.id, status: 'FINALIZED' }]);
      await waitForBatch(world, project, batch.id, (seen) => seen.status === 'EXECUTED');
      assert.equal(await tokenSupply(world, project.mint), supply - 7_000_000n);
    },
  );

  it('deletes sessions, challenges and counts whose time is over, whoever opened them', async () => {
    const [hash, wallet, over] = [new Uint8Array(32), SOMEBODY, new Date(0)];
    await insertSession(world.db, { hash, wallet, expiresAt: over });
    await insertChallenge(world.db, { nonce: 'of a stranger', wallet, message: '', expiresAt: over });
    await world.db.insertInto('rate_limits').values({ key: 'console:1.2.3.4', points: 1, expire: 0n }).execute();
    await world.restart({ LOG_LEVEL: 'fatal' });
    const countLeft = async () => {
      const isOver = [
        world.db.selectFrom('sessions').select('wallet').where('expires_at', '<=', over).execute(),
        world.db.selectFrom('sign_in_challenges').select('wallet').where('expires_at', '<=', over).execute(),
        world.db.selectFrom('rate_limits').select('key').where('expire', '<=', 0n).execute(),
      ];
      return (await Promise.all(isOver)).flat().length;
    };
    await waitUntil('what has expired to be deleted', countLeft, (left) => left === 0);
  });

  it('can run as two parts: HTTP that knows only the signers’ addresses, and a worker without HTTP', async () => {
    const project = await createProject(world);
    const { operator, company } = await findMultisig(world, project);
    const http = await startPart('http', { OPERATOR_ADDRESS: operator, COMPANY_ADDRESS: company });
    try {
      assert.ok(http.url);
      const batch = await setUpBatch({ url: http.url }, project, [burnPipeline()]);
      const { status } = requireOk(await executeSigned({ url: http.url }, project, batch));
      assert.equal(status, 'EXECUTED', 'the worker of the other process has executed it');
    } finally {
      await http.stop();
    }
  });

  it('fails to start with the reason: a used port, one key for both signers, missing or broken keys', async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'flywheel-start-'));
    t.after(() => rm(directory, { recursive: true }));
    const [one, two] = [join(directory, 'one.json'), join(directory, 'two.json')];
    const [operator, company] = [await createSignerFile(one), await createSignerFile(two)];
    const addresses = { OPERATOR_ADDRESS: operator, COMPANY_ADDRESS: company };

    const { port } = new URL(world.url);
    const used = new RegExp(
      `^PORT ${port} is in use by another process \\(EADDRINUSE\\)\\. Set PORT to a free port, and FLYWHEEL_URL `,
    );
    await assert.rejects(startPart('http', { ...addresses, PORT: port }), isConfigError(used));
    await assert.rejects(
      startPart('worker', { OPERATOR_SIGNER: one, COMPANY_SIGNER: two, METRICS_PORT: port }),
      isConfigError(/^METRICS_PORT \d+ is in use/),
    );
    const both = { OPERATOR_SIGNER: one, COMPANY_SIGNER: one };
    await assert.rejects(startPart('worker', both), isConfigError(/are the same key/));
    await assert.rejects(
      startPart('worker', addresses),
      isConfigError(/^OPERATOR_SIGNER is not set; this process signs/),
    );
    const twice = { OPERATOR_SIGNER: one, COMPANY_SIGNER: two, OPERATOR_SIGNER_PREVIOUS: one };
    await assert.rejects(startPart('worker', twice), isConfigError(/^OPERATOR_SIGNER_PREVIOUS holds .*remove it/));
    await assert.rejects(
      startPart('worker', { ...twice, OPERATOR_SIGNER_PREVIOUS: two }),
      isConfigError(/is a key of the operator and of the company approver/),
    );
    const others = { OPERATOR_SIGNER: one, COMPANY_SIGNER: two, OPERATOR_ADDRESS: company, COMPANY_ADDRESS: operator };
    await assert.rejects(startPart('worker', others), isConfigError(new RegExp(`^OPERATOR_SIGNER holds ${operator}`)));
    const missing = { OPERATOR_SIGNER: join(directory, 'none.json'), COMPANY_SIGNER: two };
    await assert.rejects(startPart('worker', missing), /none\.json/);
    await writeFile(join(directory, 'broken.json'), '[1,2,3]');
    const broken = { OPERATOR_SIGNER: one, COMPANY_SIGNER: join(directory, 'broken.json') };
    await assert.rejects(startPart('worker', broken), /broken\.json/);
  });

  it('does not serve strangers on a cluster that is not local, unless what they may lock is set', async (t) => {
    const mainnet = createHttpServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"jsonrpc":"2.0","id":"0","result":"5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"}');
    });
    await new Promise<void>((resolve) => mainnet.listen(0, '127.0.0.1', resolve));
    t.after(() => mainnet.close());
    const { port } = mainnet.address() as AddressInfo; // it listens on TCP
    const addresses = {
      OPERATOR_ADDRESS: SOMEBODY,
      COMPANY_ADDRESS: SOMEBODY_ELSE,
      DATABASE_URL: 'postgres://127.0.0.1:9/none',
    };
    const refused = isConfigError(
      /^REGISTRATION is open .*Set REGISTRATION to approval, .* or set MAX_LOCKED_LAMPORTS_UNADMITTED/,
    );
    const there = { SOLANA_RPC_URL: `http://127.0.0.1:${port}` };
    for (const cluster of [
      { SOLANA_RPC_URL: 'https://rpc.example', SOLANA_CLUSTER_IS_LOCAL: '' },
      // A tunnel to a private cluster, which this process does not know as a local one.
      { SOLANA_RPC_URL: world.localnet.url, SOLANA_CLUSTER_IS_LOCAL: '' },
      there,
    ]) {
      const part = { ...addresses, ...cluster };
      await assert.rejects(startPart('http', part), refused);
      // Each goes on to the database, which does not answer.
      await assert.rejects(startPart('http', { ...part, REGISTRATION: 'approval' }), /ECONNREFUSED/);
      const bounded = { ...part, MAX_LOCKED_LAMPORTS_UNADMITTED: '1000000000' };
      await assert.rejects(startPart('http', bounded), /ECONNREFUSED/);
    }
  });

  it('ends a start at once that waits for its first nonce', async (t) => {
    const { environment, db } = await prepareWorker(t);
    const stopping = new AbortController();
    const starting = startPart('worker', environment, stopping.signal);
    await waitUntil(
      'the refill of the pool to begin',
      () => findNonces(db, 'creating'),
      (planned) => planned.length > 0,
    );
    stopping.abort();
    await assert.rejects(starting, /abort/i);
  });

  it('leaves nothing that keeps the process alive if it is told to stop before its worker starts', async (t) => {
    const { environment } = await prepareWorker(t);
    assert.equal(await runWorker(environment, 'AbortSignal.abort()'), 'AbortError\n');
  });

  it('leaves nothing that keeps the process alive if its database is lost before the first nonce', async (t) => {
    const { environment, db } = await prepareWorker(t);
    const proxy = await openDatabaseProxy(environment.DATABASE_URL);
    t.after(() => proxy.stop());
    const ended = runWorker({ ...environment, DATABASE_URL: proxy.url }, 'undefined');
    await waitUntil(
      'the refill of the pool to begin',
      () => findNonces(db, 'creating'),
      (planned) => planned.length > 0,
    );
    proxy.cut();
    assert.match(await ended, /Error/);
  });

  /** Runs a process that starts a worker with this signal, until it ends by itself. @returns the name of the error, a line. */
  async function runWorker(environment: Readonly<Record<string, string>>, signal: string): Promise<string> {
    const program = `
      import { startApp } from './src/app.ts';
      import { parseConfig } from './src/config.ts';
      import { createLog } from './src/log.ts';
      const start = startApp(parseConfig(process.env), new Set(['worker']), createLog('fatal'), ${signal});
      await start.catch(({ name }) => console.log(name));
    `;
    const env = { ...process.env, ...configured(environment) };
    const options = { cwd: join(import.meta.dirname, '../..'), env, timeout: 60_000 };
    return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], options)).stdout;
  }

  /** Gives a worker a database and keys of its own. Its operator has no SOL, so that no nonce account can be created. */
  async function prepareWorker(t: TestContext) {
    const directory = await mkdtemp(join(tmpdir(), 'flywheel-start-'));
    const database = await openTestDatabase();
    const db = openDb({ connectionString: database.url }, createLog('error'));
    await migrate(db);
    t.after(async () => {
      await closeDb(db);
      await database.close();
      await rm(directory, { recursive: true });
    });
    const [OPERATOR_SIGNER, COMPANY_SIGNER] = [join(directory, 'one.json'), join(directory, 'two.json')];
    for (const path of [OPERATOR_SIGNER, COMPANY_SIGNER]) await createSignerFile(path);
    return { db, environment: { DATABASE_URL: database.url, OPERATOR_SIGNER, COMPANY_SIGNER } };
  }

  async function readiness() {
    const { status, body } = await send(world.url, 'GET', '/health/ready');
    const checks: Record<string, { readonly status: string }> = body.checks;
    const statuses = Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, check.status]));
    return [status, body.status, statuses];
  }

  /** Waits until a bundle of the execution is recorded, which happens before it is sent. */
  async function untilSent(batchId: string): Promise<void> {
    for (;;) {
      const row = await world.db
        .selectFrom('bundles')
        .select('id')
        .where('batch_id', '=', batchId)
        .where('phase', '=', 'execution')
        .executeTakeFirst();
      if (row) return;
    }
  }

  /** Starts another process's part of the same service. */
  function startPart(role: Role, environment: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<App> {
    const config = parseConfig(configured(environment));
    return startApp(config, new Set([role]), createLog(config.logLevel), signal);
  }

  function configured(environment: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return {
      PORT: '0',
      LOG_LEVEL: 'fatal',
      RATE_LIMIT_GET: '100000/1',
      DATABASE_URL: world.databaseUrl,
      SOLANA_RPC_URL: world.localnet.url,
      SOLANA_CLUSTER_IS_LOCAL: '1',
      FLYWHEEL_DATA_DIR: tmpdir(),
      ...environment,
    };
  }
});

function isConfigError(message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof ConfigError, String(error));
    assert.match(error.message, message);
    return true;
  };
}
