import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

describe('npm start', () => {
  it('prints its address, answers, and stops in order on SIGTERM', async (t) => {
    const { npm, ready } = await start(t);
    const { url, rpcUrl, program } = ready;
    assert.equal(program, 'emulation');
    assert.equal((await fetch(`${url}/health/ready`)).status, 200);

    npm.kill('SIGTERM');
    assert.deepEqual(await once(npm, 'exit'), [0, null]);
    // npm must pass on the signal: a service that outlives it would keep ports and data directory.
    for (const address of [url, rpcUrl]) await assert.rejects(fetch(address), address);
  });

  it('ends with the reason when its embedded PostgreSQL ends', async (t) => {
    const { npm, ready, dataDirectory } = await start(t);
    const stderr = text(npm.stderr);
    const directory = (await readFile(join(dataDirectory, 'database-directory'), 'utf8')).trim();
    const [pid] = (await readFile(join(directory, 'database', 'postmaster.pid'), 'utf8')).split('\n');
    process.kill(Number(pid), 'SIGKILL');
    const [code] = await once(npm, 'exit');
    assert.notEqual(code, 0);
    assert.match(
      await stderr,
      /ERR_DATABASE_LOST {2}The embedded PostgreSQL in \S+ has ended; its log is server\.log there\./,
    );
    await assert.rejects(fetch(`${ready.url}/health/live`));
  });

  async function start(t: TestContext) {
    const dataDirectory = await mkdtemp(join(tmpdir(), 'flywheel-start-'));
    t.after(() => rm(dataDirectory, { recursive: true, force: true }));
    const npm = spawn('npm', ['start', '--silent'], {
      cwd: ROOT,
      env: {
        ...process.env,
        FLYWHEEL_DATA_DIR: dataDirectory,
        PORT: '0',
        LOCALNET_PORT: '0',
        FLYWHEEL_SQUADS_PROGRAM: 'emulation',
        LOG_LEVEL: 'error',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, so that the test can end what outlives npm, and nothing else.
      detached: true,
    });
    t.after(() => killGroup(npm));
    const [line] = await once(createInterface(npm.stdout), 'line');
    return { npm, ready: JSON.parse(line), dataDirectory };
  }
});

function killGroup({ pid, stdout, stderr }: ChildProcess): void {
  stdout?.destroy();
  stderr?.destroy();
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // An empty group means that everything has ended, as it should.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
