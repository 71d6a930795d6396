import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { outliveStreams } from '../src/outlive-streams.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FLYWHEEL = fileURLToPath(new URL('../bin/flywheel.js', import.meta.url));
/** The oldest version that the launcher supports. */
const OLDEST_NODE_MAJOR = 20;
const PINNED_NODE_MAJOR = 24;
const oldNode = findOldNode();

const NO_OLD_NODE = 'no Node older than the pinned one is on the PATH';

describe('the launcher', { skip: oldNode === null && NO_OLD_NODE }, () => {
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
        '--skip-verification',
        '--json',
      ],
      'AAAA',
    );
    assert.deepEqual([exitCode, stdout], [2, '']);
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

it('the launcher keeps compiled sources in the user’s cache, unless NODE_DISABLE_COMPILE_CACHE is set', async (t) => {
  const caches = await mkdtemp(join(tmpdir(), 'flywheel-cache-'));
  t.after(() => rm(caches, { recursive: true }));
  const environment = { ...process.env, NODE_COMPILE_CACHE: '', XDG_CACHE_HOME: caches };
  const startWith = (more: Readonly<Record<string, string>>) =>
    execFileSync(process.execPath, [FLYWHEEL, '--version'], { env: { ...environment, ...more }, encoding: 'utf8' });
  assert.match(startWith({ NODE_DISABLE_COMPILE_CACHE: '1' }), /^\d+\.\d+\.\d+\n$/);
  assert.equal(existsSync(join(caches, 'flywheel/node')), false);
  startWith({});
  assert.equal((await readdir(join(caches, 'flywheel/node'))).length, 1, 'a folder for this version of Node');
  // A cache that cannot be written is none.
  const file = join(caches, 'file');
  await writeFile(file, '');
  assert.match(startWith({ XDG_CACHE_HOME: file }), /^\d+\.\d+\.\d+\n$/);
});

it('the launcher goes on with its work when the reader of stderr has closed the pipe', async () => {
  const child = spawn(process.execPath, [FLYWHEEL, 'batches', '--url', 'nowhere'], {
    env: { ...process.env, FLYWHEEL_API_KEY: 'key' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stderr.destroy();
  const [exitCode] = await once(child, 'exit');
  assert.equal(exitCode, 2, 'the exit code of the usage error that cannot be written, not that of a crash');
});

it('the launcher says in one error that a result cannot be written', { skip: !existsSync('/dev/full') }, async () => {
  const full = await open('/dev/full', 'w');
  const { status, stderr } = spawnSync(process.execPath, [FLYWHEEL, 'completion', 'bash'], {
    stdio: ['ignore', full.fd, 'pipe'],
    encoding: 'utf8',
  });
  await full.close();
  assert.match(stderr, /^✗ ERR_FILE {2}Cannot write to stdout: ENOSPC.*only its result is lost\.\n$/);
  assert.equal(status, 1);
});

it('a result that cannot be written and is shown only once names the command that replaces it', async () => {
  const stdout = new Writable({
    write: (_chunk, _encoding, done) => done(new Error('ENOSPC: no space left on device')),
  });
  const stderr = new PassThrough();
  const io = { stdout, stderr, env: {}, exitCode: 0 };
  outliveStreams(['register', '--wallet', 'wallet.json', '--json'], io);
  stdout.write('{}');
  // `once` of node:events would reject with the error.
  await new Promise((resolve) => stdout.once('close', resolve));
  const { error, message } = JSON.parse(String(stderr.read()));
  assert.equal(error, 'ERR_FILE');
  assert.match(message, /ENOSPC.* its API key is lost: create a new one with flywheel keys create\./);
  assert.equal(io.exitCode, 1);
});

it('an example says in one line how to run it if an argument is missing or wrong', () => {
  for (const words of [
    ['csv-airdrop.ts'],
    ['verify-proof.ts', 'signature', '1'.repeat(32), 'WATCH_AD', '{}'],
    ['webhook-receiver.ts', '0'],
  ]) {
    const [name = '', ...options] = words;
    const env = { ...process.env, WEBHOOK_SECRET: '' };
    const { status, stderr } = spawnSync(process.execPath, [`examples/${name}`, ...options], {
      cwd: ROOT,
      env,
      encoding: 'utf8',
    });
    assert.match(stderr, new RegExp(`^Usage: .*examples/${name} <.*\\n$`));
    assert.equal(status, 2);
  }
});

it('npx node runs an example in a terminal that has Node 20', { skip: oldNode === null && NO_OLD_NODE }, async () => {
  const path = [dirname(oldNode ?? ''), '/usr/bin', '/bin'].join(delimiter);
  const env = { PATH: path, HOME: process.env.HOME, SOLANA_RPC_URL: 'http://127.0.0.1:9' };
  const words = ['node', 'examples/verify-proof.ts', '1'.repeat(64), '1'.repeat(32), 'WATCH_AD', '{}'];
  const example = spawn('npx', words, { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'pipe'] });
  // Its own error, from a node that does not answer: the program and everything that it imports was loaded.
  assert.match(await text(example.stderr), /127\.0\.0\.1:9 is unreachable/);
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
