import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Admin } from '@flywheel/service';
import { waitUntil } from '@flywheel/testing/batches';
import { clearJobs, type Job, type Jobs, setJobs, startTestJobs } from '@flywheel/testing/jobs';
import { openTestDatabase, type TestDatabase } from '@flywheel/testing/postgres';
import { endBatch, RESERVED, randomAddress, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { parseDocument, runCommand } from './run-command.ts';

type JobRecord = Awaited<ReturnType<Admin['listJobs']>>[number];

describe('flywheel jobs', () => {
  let database: TestDatabase;
  let queue: Jobs;
  let env: Record<string, string>;

  before(async () => {
    database = await openTestDatabase();
    queue = await startTestJobs(database);
    env = { DATABASE_URL: database.url };
  });
  beforeEach(() => clearJobs(database.db));
  after(async () => {
    await queue.stop();
  });

  it('prints a sentence if there are no jobs', async () => {
    assert.equal((await runCommand(['jobs'], env)).stdout, 'No pending or running jobs.\n');
    assert.equal((await runCommand(['jobs', '--stuck'], env)).stdout, 'No stuck jobs.\n');
    assert.deepEqual(parseDocument(await runCommand(['jobs', '--json'], env)), { jobs: [] });
  });

  it('lists a pending job, and --stuck does not retry it', async () => {
    const batchId = await enqueue({ startAfter: new Date(Date.now() + 3_600_000) });
    const { stdout } = await runCommand(['jobs'], env);
    assert.match(stdout, /^JOB +TYPE +STATE +FAILED +AGE +BATCH\n/);
    assert.match(stdout, new RegExp(`setup +pending, due in (59 min|1 h) +0 +\\d+ s +${batchId}`));
    assert.match(stdout, /1 job, none stuck\.\n$/);
    assert.deepEqual(await retryStuck(), { retried: [], left: [] });
  });

  for (const problem of ['failed', 'abandoned', 'failing', 'unattended'] as const) {
    it(`lists a stuck job (${problem}), and a worker runs it after flywheel jobs retry`, async () => {
      const batchId = await enqueue();
      await setJobs(database.db, problem, 'the node said no');
      const [job, ...others] = await listStuck();
      assert.deepEqual([job?.batchId, job?.problem, job?.error, others], [batchId, problem, 'the node said no', []]);
      const { stdout } = await runCommand(['jobs'], env);
      assert.match(stdout, /the node said no\n1 job, 1 stuck\. To run them now: flywheel jobs retry --stuck\n$/);
      assert.deepEqual(await retryStuck(), { retried: [job?.id], left: [] });
      assert.equal(await ranBatch(), batchId);
    });
  }

  it('lists an unattended job behind the expiry of its batch, which waits for its time', async () => {
    const job = { batchId: randomUUID(), multisig: randomAddress() };
    const startAfter = new Date(Date.now() + 3_600_000);
    await queue.enqueue(database.db, { ...job, type: 'expire' }, { startAfter });
    await queue.enqueue(database.db, { ...job, type: 'execute' }, { startAfter: new Date(Date.now() - 120_000) });
    const stuck = await listStuck();
    assert.deepEqual(
      stuck.map(({ type, problem }) => [type, problem]),
      [['execute', 'unattended']],
    );
  });

  it('does not list the expiry of a batch that has ended', async () => {
    const project = await storeProject(database.db);
    await storeNonces(database.db, 2);
    const [open, ended] = [await storeBatch(database.db, project), await storeBatch(database.db, project)];
    await endBatch(database.db, ended.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, new Date());
    const startAfter = new Date(Date.now() + 3_600_000);
    for (const batch of [open, ended]) {
      const job: Job = { type: 'expire', batchId: batch.id, multisig: randomAddress() };
      await queue.enqueue(database.db, job, { startAfter });
    }
    const { jobs } = parseDocument<{ jobs: JobRecord[] }>(await runCommand(['jobs', '--json'], env));
    assert.deepEqual(
      jobs.map(({ batchId }) => batchId),
      [open.id],
    );
  });

  it('does not retry a job that is running, completed or missing, and reports it', async () => {
    await enqueue();
    await setJobs(database.db, 'running');
    const listed = parseDocument<{ jobs: JobRecord[] }>(await runCommand(['jobs', '--json'], env));
    const running = listed.jobs[0]?.id ?? '';
    const missing = randomUUID();
    const { exitCode, stdout, stderr } = await runCommand(['jobs', 'retry', running, missing, '--json'], env);
    assert.deepEqual(JSON.parse(stdout), { retried: [], left: [running, missing] });
    const { error, message } = JSON.parse(stderr);
    assert.deepEqual([exitCode, error], [1, 'ERR_JOB_NOT_FOUND']);
    assert.match(message, /^2 jobs were not retried/);
    await setJobs(database.db, 'completed');
    assert.deepEqual(parseDocument(await runCommand(['jobs', '--json'], env)), { jobs: [] });
    const all = parseDocument<{ jobs: JobRecord[] }>(await runCommand(['jobs', '--completed', '--json'], env));
    assert.deepEqual(
      all.jobs.map(({ id, state, problem }) => [id, state, problem]),
      [[running, 'completed', null]],
    );
  });

  it('rejects invalid job ids, and a retry without ids', async () => {
    for (const words of [['retry', 'x'], ['retry'], ['retry', randomUUID(), '--stuck']]) {
      const { exitCode, stderr } = await runCommand(['jobs', ...words], env);
      assert.notEqual(exitCode, 0);
      assert.match(stderr, /flywheel jobs lists the ids/);
    }
  });

  async function enqueue(options: { readonly startAfter?: Date } = {}): Promise<string> {
    const job: Job = { type: 'setup', batchId: randomUUID(), multisig: randomAddress() };
    await queue.enqueue(database.db, job, options);
    return job.batchId;
  }

  async function listStuck(): Promise<JobRecord[]> {
    return parseDocument<{ jobs: JobRecord[] }>(await runCommand(['jobs', '--stuck', '--json'], env)).jobs;
  }

  async function retryStuck(): Promise<unknown> {
    return parseDocument(await runCommand(['jobs', 'retry', '--stuck', '--json'], env));
  }

  /** The batch of the first job that a worker, started now, is given. */
  async function ranBatch(): Promise<string> {
    const worker = await startTestJobs(database);
    const ran: string[] = [];
    await worker.work(
      async (job) => {
        if ('batchId' in job) ran.push(job.batchId);
      },
      { maxBatches: 16 },
    );
    try {
      const [first] = await waitUntil(
        'a job',
        async () => ran,
        ({ length }) => length > 0,
      );
      assert.ok(first);
      return first;
    } finally {
      await worker.stop();
    }
  }
});
