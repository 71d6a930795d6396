import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const FLYWHEEL = fileURLToPath(new URL('../bin/flywheel.js', import.meta.url));
/** The oldest version that the launcher supports. */
const OLDEST_NODE_MAJOR = 20;
const PINNED_NODE_MAJOR = 24;
const oldNode = findOldNode();

describe('the launcher', { skip: oldNode === null && 'no Node older than the pinned one is on the PATH' }, () => {
  it('runs the sources with the pinned Node if an older one starts it', async () => {
    const { exitCode, stdout } = await run(['--version']);
    assert.equal(exitCode, 0);
    assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
  });

  it('passes exit code, stdin and stderr through', async () => {
    const { exitCode, stdout, stderr } = await run(
      [
        'sign',
        '--wallet',
        '/nowhere.json',
        '--multisig',
        'So11111111111111111111111111111111111111112',
        '--batch-index',
        '1',
        '--json',
      ],
      'AAAA',
    );
    assert.deepEqual([exitCode, stdout], [1, '']);
    assert.equal(JSON.parse(stderr).error, 'ERR_WALLET');
  });

  it('forwards SIGTERM, so that a cluster stops cleanly', async () => {
    const cluster = start(['localnet', 'start', '--port', '0', '--json']);
    const [line] = await once(cluster.stdout, 'data');
    const { rpcUrl, program } = JSON.parse(String(line));
    assert.equal(program, 'emulation');
    cluster.kill('SIGTERM');
    const [exitCode] = await once(cluster, 'exit');
    assert.equal(exitCode, 0);
    await assert.rejects(fetch(rpcUrl), 'nothing listens there');
  });
});

function start(words: readonly string[]) {
  const env = { ...process.env, FLYWHEEL_SQUADS_PROGRAM: 'emulation' };
  return spawn(oldNode ?? process.execPath, [FLYWHEEL, ...words], { env, stdio: ['pipe', 'pipe', 'pipe'] });
}

async function run(words: readonly string[], input = '') {
  const child = start(words);
  child.stdin.end(input);
  const [stdout, stderr, [exitCode]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { exitCode, stdout, stderr };
}

/** A Node on the PATH that is older than the pinned one, as on a machine that has just cloned the project. */
function findOldNode(): string | null {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  const isOld = (path: string) => {
    if (!existsSync(path)) return false;
    const major = Number(execFileSync(path, ['-p', 'process.versions.node.split(".")[0]'], { encoding: 'utf8' }));
    return major >= OLDEST_NODE_MAJOR && major < PINNED_NODE_MAJOR;
  };
  return candidates.find(isOld) ?? null;
}
