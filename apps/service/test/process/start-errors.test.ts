import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startLocalnet } from '@flywheel/localnet';
import { randomAddress } from '@flywheel/testing/records';
import { withAdmin } from '../../src/admin.ts';
import { type Role, startApp } from '../../src/app.ts';
import { ConfigError, parseConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';

/** Port 9 is the discard protocol, which no machine serves. */
const NOWHERE = 'postgres://fw:secret@127.0.0.1:9/fw';

describe('flywheel start', () => {
  it('names LOCALNET_PORT if another process uses the port', async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const used =
      /^LOCALNET_PORT \d+ is in use by another process \(EADDRINUSE\)\. Set LOCALNET_PORT to a free port, and SOLANA_RPC_URL /;
    await assert.rejects(start(await makeFolder(t), { LOCALNET_PORT: String(address.port) }), isConfigError(used));
  });

  it('names FLYWHEEL_DATA_DIR if another start uses the directory', async (t) => {
    const folder = await makeFolder(t);
    const other = await startLocalnet({ stateDirectory: join(folder, 'localnet'), squadsProgram: 'emulation' });
    t.after(() => other.stop());
    const used =
      /^The ledger in .* another process using it\? Stop the other .* or set FLYWHEEL_DATA_DIR to another one\.$/;
    await assert.rejects(start(folder), isConfigError(used));
  });

  it('names FLYWHEEL_DATA_DIR if it is below a file', async () => {
    const below = join(import.meta.filename, 'data');
    const impossible = /^The data directory cannot be created: ENOTDIR.*\. Set FLYWHEEL_DATA_DIR to another one\.$/;
    await assert.rejects(start(below), isConfigError(impossible));
  });

  it('creates a data directory that only its owner can open, and leaves one that exists as it is', async (t) => {
    const folder = await makeFolder(t);
    const [created, existing] = [join(folder, 'created'), join(folder, 'existing')];
    await mkdir(existing);
    await chmod(existing, 0o755);
    for (const [path, mode] of [
      [created, 0o700],
      [existing, 0o755],
    ] as const) {
      // It is refused after the directory is created.
      await assert.rejects(start(path, { FLYWHEEL_SQUADS_PROGRAM: join(folder, 'missing') }));
      assert.equal((await stat(path)).mode & 0o777, mode, path);
    }
  });

  it('names FLYWHEEL_SQUADS_PROGRAM if the file cannot be read', async (t) => {
    const folder = await makeFolder(t);
    const missing = join(folder, 'missing');
    const unreadable =
      /^The Squads program .*missing cannot be read: ENOENT.*\. Set FLYWHEEL_SQUADS_PROGRAM to the deployed program, or to emulation\.$/;
    await assert.rejects(start(folder, { FLYWHEEL_SQUADS_PROGRAM: missing }), isConfigError(unreadable));
  });
});

describe('every other process of the database', () => {
  it('refuses to begin with an empty one if DATABASE_URL is forgotten', async (t) => {
    const folder = await makeFolder(t);
    // docs/tutorial.md writes one, before or without `npm start`.
    await writeFile(join(folder, 'wallet.json'), '[]');
    const forgotten =
      /^DATABASE_URL is not set, and there is no database in .*\. Set DATABASE_URL, or set FLYWHEEL_DATA_DIR /;
    for (const FLYWHEEL_DATA_DIR of [folder, join(folder, 'missing'), join(import.meta.filename, 'data')]) {
      const admin = withAdmin({ FLYWHEEL_DATA_DIR }, async () => undefined);
      await assert.rejects(admin, isConfigError(forgotten), FLYWHEEL_DATA_DIR);
    }
    const [OPERATOR_ADDRESS, COMPANY_ADDRESS] = [randomAddress(), randomAddress()];
    const cluster = { SOLANA_RPC_URL: 'http://127.0.0.1:9', REGISTRATION: 'approval' };
    for (const role of ['http', 'worker'] as const) {
      const started = start(folder, { ...cluster, OPERATOR_ADDRESS, COMPANY_ADDRESS }, [role]);
      await assert.rejects(started, isConfigError(forgotten), role);
    }
    assert.deepEqual(await readdir(folder), ['wallet.json']);
  });

  it('names DATABASE_URL if nothing answers there, without its password', async () => {
    const away =
      /^The database of DATABASE_URL does not answer: connect ECONNREFUSED 127\.0\.0\.1:9\. Check that PostgreSQL runs /;
    const error = await withAdmin({ DATABASE_URL: NOWHERE }, async () => undefined).catch((each: unknown) => each);
    assert.ok(isConfigError(away)(error));
    assert.doesNotMatch(String(error), /secret/);
  });
});

function start(
  folder: string,
  environment: Readonly<Record<string, string>> = {},
  roles: readonly Role[] = ['localnet'],
) {
  const own = { LOG_LEVEL: 'silent', FLYWHEEL_SQUADS_PROGRAM: 'emulation', LOCALNET_PORT: '0' };
  const config = parseConfig({ ...own, FLYWHEEL_DATA_DIR: folder, ...environment });
  return startApp(config, new Set(roles), createLog(config.logLevel));
}

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'flywheel-start-errors-'));
  t.after(() => rm(folder, { recursive: true }));
  return folder;
}

function isConfigError(message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof ConfigError, String(error));
    assert.match(error.message, message);
    return true;
  };
}
