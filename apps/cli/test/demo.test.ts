import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { InitBatchRequest } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { makeTemporaryFolder } from './wallet-files.ts';

const FLYWHEEL = fileURLToPath(new URL('../bin/flywheel.js', import.meta.url));
const REWARDS = fileURLToPath(new URL('../../../examples/rewards.json', import.meta.url));

describe('flywheel demo', () => {
  it('executes every pipeline of the rewards file, verifies it on chain and leaves nothing behind', async () => {
    await using folder = await makeTemporaryFolder();
    const { exitCode, stdout, stderr } = await finish(startDemo(['--json'], folder.path));
    assert.equal(exitCode, 0, stderr);
    assert.equal(stderr, '');

    const { pipelines } = InitBatchRequest.parse(JSON.parse(await readFile(REWARDS, 'utf8')));
    const { batch, results, verification } = JSON.parse(stdout);
    assert.equal(batch.status, 'EXECUTED');
    assert.equal(results.totalSuccessful, pipelines.length);
    assert.deepEqual([verification.ok, verification.problems], [true, []]);
    assert.equal(verification.proofs.length, pipelines.length);
    assert.ok(verification.recipients.some(({ isNew }: { isNew: boolean }) => isNew));
    assert.ok(verification.recipients.some(({ isNew }: { isNew: boolean }) => !isNew));
    assert.deepEqual(await readdir(folder.path), []);
  });

  it('removes everything when it is interrupted', async () => {
    await using folder = await makeTemporaryFolder();
    const demo = startDemo([], folder.path);
    // The first line of progress: the service runs.
    demo.stderr?.once('data', () => demo.kill('SIGINT'));
    const { exitCode, stdout, stderr } = await finish(demo);
    assert.equal(exitCode, 130);
    assert.equal(stdout, '');
    assert.match(stderr, /✗ ERR_INTERRUPTED {2}Interrupted by SIGINT\.\n$/);
    assert.deepEqual(await readdir(folder.path), []);
  });

  it('says at once that it stops when it is interrupted while it starts, which takes seconds', async () => {
    await using folder = await makeTemporaryFolder();
    const demo = startDemo([], folder.path);
    const finished = finish(demo);
    await waitUntil(
      'the directory of the demo',
      () => readdir(folder.path),
      ({ length }) => length > 0,
    );
    demo.kill('SIGINT');
    const { exitCode, stderr } = await finished;
    assert.match(stderr, /^Stopping: .*\n✗ Start database, cluster and service .*\n✗ ERR_INTERRUPTED /);
    assert.equal(exitCode, 130);
    assert.deepEqual(await readdir(folder.path), []);
  });

  it('rejects a file that is not an init request before it starts anything', async () => {
    await using folder = await makeTemporaryFolder();
    const file = await folder.write('request.json', '{"pipelines":[{"type":"A"}]}');
    const { exitCode, stderr } = await finish(startDemo(['--json', '--file', file], folder.path));
    assert.equal(exitCode, 2);
    const { error, message } = JSON.parse(stderr);
    assert.equal(error, 'ERR_FILE');
    assert.match(message, /: pipelines\[0\]\.payload: /);
    assert.deepEqual(await readdir(folder.path), ['request.json']);
  });
});

/** With a directory of its own for temporary files, so that what is left there is the demo’s. */
function startDemo(options: readonly string[], temporaryDirectory: string): ChildProcess {
  const env = { ...process.env, TMPDIR: temporaryDirectory, NO_COLOR: '1', FLYWHEEL_SQUADS_PROGRAM: 'emulation' };
  return spawn(process.execPath, [FLYWHEEL, 'demo', ...options], { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function finish(demo: ChildProcess) {
  assert.ok(demo.stdout && demo.stderr);
  const [stdout, stderr, [exitCode]] = await Promise.all([text(demo.stdout), text(demo.stderr), once(demo, 'exit')]);
  return { exitCode, stdout, stderr };
}
