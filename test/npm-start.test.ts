import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

describe('npm start', () => {
  it('prints its address, answers, and stops in order on SIGTERM', async (t) => {
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
      stdio: ['ignore', 'pipe', 'inherit'],
      // A process group of its own, so that the test can end what outlives npm, and nothing else.
      detached: true,
    });
    t.after(() => killGroup(npm));
    const [line] = await once(createInterface(npm.stdout), 'line');
    const { url, rpcUrl, program } = JSON.parse(line);
    assert.equal(program, 'emulation');
    assert.equal((await fetch(`${url}/health/ready`)).status, 200);

    npm.kill('SIGTERM');
    assert.deepEqual(await once(npm, 'exit'), [0, null]);
    // npm must pass on the signal: a service that outlives it would keep ports and data directory.
    for (const address of [url, rpcUrl]) await assert.rejects(fetch(address), address);
  });
});

function killGroup({ pid, stdout }: ChildProcess): void {
  stdout?.destroy();
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // An empty group means that everything has ended, as it should.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
