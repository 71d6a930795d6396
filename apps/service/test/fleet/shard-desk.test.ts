import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import {
  type AuditEntry,
  askEveryShard,
  type InShard,
  type JobSummary,
  type ProjectSummary,
  SHARD_HEADER,
  type WaitingBatch,
} from '@flywheel/api';
import { assertError, executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, init, send } from '@flywheel/testing/client';
import { approveForCompany, rejectForCompany } from '@flywheel/testing/decisions';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import {
  createProjectIn,
  fillAuditLog,
  mergeCookies,
  openTwoShards,
  type TwoShards,
} from '@flywheel/testing/two-shards';
import type { World } from '@flywheel/testing/world';
import { sql } from 'kysely';
import { runCompany } from './two-shards.ts';

describe('the company’s desk of two shards', WITH_HAPROXY, () => {
  let shards: TwoShards;
  let one: TestProject;
  let two: TestProject;

  before(async () => {
    shards = await openTwoShards();
    one = await createProjectIn(shards.first, shards.proxy);
    two = await createProjectIn(shards.second, shards.proxy);
  });
  after(() => shards?.stop());

  it('has one queue, whose operator decides each batch where its project is', async () => {
    const { proxy, operator } = shards;
    const [approved, rejected] = await openWaiting();
    const sessions = await askEveryShard((named) => openSession(named));
    const cookie = sessions.answers.reduce((jar, { answer }) => mergeCookies(jar, answer.cookie.split('; ')), '');
    const { answers } = await askEveryShard((named) => listWaiting({ cookie, ...named }));
    assert.deepEqual(
      answers.map(({ shard, answer }) => [shard, answer.ids]),
      [
        [1, [approved.one.id, rejected.one.id]],
        [2, [approved.two.id, rejected.two.id]],
      ],
    );
    for (const [shard, number, project] of [
      [shards.first, 1, 'one'],
      [shards.second, 2, 'two'],
    ] as const) {
      // The person was at the other shard last.
      const by = { wallet: operator, cookie: mergeCookies(cookie, [`flywheel_shard=${3 - number}`]) };
      const path = `/console/api/company/batches/${approved[project].id}/review`;
      const review = await send(proxy.url, 'GET', path, { headers: { cookie: by.cookie } });
      assert.equal(requireOk(review).batchId, approved[project].id);
      assert.equal(review.headers.get(SHARD_HEADER), `${number} of 2`);
      assert.deepEqual(review.headers.getSetCookie(), [], 'a batch moves no session to its shard');
      const world = { url: proxy.url, db: shard.db, rpc: shard.rpc };
      requireOk(await approveForCompany(world, by, approved[project].id));
      requireOk(await rejectForCompany(world, by, rejected[project].id, 'Not agreed'));
      const { owner } = approved[project];
      await waitForBatch(proxy, owner, approved[project].id, ({ status }) => status === 'EXECUTED');
      await waitForBatch(proxy, owner, rejected[project].id, ({ status }) => status === 'FAILED');
    }
    const unknown = `/console/api/company/batches/${randomUUID()}/review`;
    assertError(await send(proxy.url, 'GET', unknown, { headers: { cookie } }), 404, 'ERR_BATCH_NOT_FOUND');
    assert.deepEqual(
      (await askEveryShard((named) => listWaiting({ cookie, ...named }))).answers.map(({ answer }) => answer.ids),
      [[], []],
    );
  });

  it('is one to flywheel company', async () => {
    const run = (...words: string[]) => runCompany(shards, words);
    const [approved, rejected] = await openWaiting();
    const asked = [approved.one, rejected.one, approved.two, rejected.two];
    const { batches } = JSON.parse((await run('pending', '--json')).stdout);
    assert.deepEqual(
      batches.map(({ id }: WaitingBatch) => id),
      asked.map(({ id }) => id),
    );
    const { projects } = JSON.parse((await run('projects', '--json')).stdout);
    for (const { owner } of asked) assert.ok(projects.some(({ id }: ProjectSummary) => id === owner.projectId));
    for (const { words, batch, status } of [
      { words: ['approve', approved.two.id], batch: approved.two, status: 'EXECUTED' },
      { words: ['reject', rejected.two.id, '--reason', 'Not agreed'], batch: rejected.two, status: 'FAILED' },
    ]) {
      const shown = await run(...words);
      const [, content = ''] = /--content ([0-9a-f]{64})\./.exec(shown.stderr) ?? [];
      const decided = await run(...words, '--content', content);
      assert.equal(decided.exitCode, 0, shown.stderr + decided.stderr);
      await waitForBatch(shards.proxy, batch.owner, batch.id, (seen) => seen.status === status);
    }
    const terms = await run('terms', approved.two.owner.projectId);
    assert.match(terms.stdout, /^Approval: manual\n/, terms.stderr);
    const { totals, shards: each } = JSON.parse((await run('status', '--json')).stdout);
    assert.deepEqual(
      [totals.projects, totals.operator.address, each.map(({ shard }: { readonly shard: number }) => shard)],
      [projects.length, shards.first.operator.address, [1, 2]],
    );
    assert.equal((await run('pause', '--all', '--yes')).stdout, 'All projects are paused.\n');
    const shown = await run('status');
    assert.match(shown.stdout, /\nSHARD +PROJECTS .*PAUSED\n1 .* since 20.*Z\n2 .* since 20.*Z\n$/s, shown.stderr);
    for (const [project] of placed()) {
      await waitUntil(
        'the refusal',
        () => tryInit(project),
        ({ body }) => body.error === 'ERR_PAUSED',
      );
    }
    assert.equal((await run('resume', '--all', '--yes')).exitCode, 0);
    for (const [project] of placed()) await untilOpen(project);
  });

  it('resumes all projects of each shard that accepts it, and says which has not', async () => {
    const run = (...words: string[]) => runCompany(shards, words);
    assert.equal((await run('pause', '--all', '--yes')).exitCode, 0);
    const { db } = shards.first;
    await sql`
      create function refuse_change() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$
    `.execute(db);
    await sql`
      create trigger refuse_change before insert on company_changes for each row execute function refuse_change()
    `.execute(db);
    const resumed = await run('resume', '--all', '--yes');
    await sql`drop function refuse_change cascade`.execute(db);
    assert.equal(resumed.exitCode, 1, resumed.stdout);
    assert.match(
      resumed.stderr,
      /ERR_SHARDS_LEFT {2}Shard 1 is left out: .* (Resumed|Signed): shard 2\..* Repeat the command\./,
    );
    await untilOpen(two);
    assert.equal((await tryInit(one)).body.error, 'ERR_PAUSED');
    const repeated = await run('resume', '--all', '--yes');
    assert.equal(repeated.exitCode, 0, repeated.stderr);
    await untilOpen(one);
  });

  it('has one audit log and one list of jobs, and retries a job where it is', async () => {
    const run = async (...words: string[]) => JSON.parse((await runCompany(shards, [...words, '--json'])).stdout);
    for (const [, shard] of placed()) await fillAuditLog(shard, shards.operator);
    let pages = 0;
    const entries: InShard<AuditEntry>[] = [];
    for (let cursor: string[] = []; ; ) {
      const page = await run('audit', ...cursor);
      entries.push(...page.entries);
      pages += 1;
      if (page.nextCursor === undefined) break;
      cursor = ['--cursor', page.nextCursor];
    }
    assert.ok(pages > 2);
    assert.deepEqual(
      entries.map(({ at }) => at),
      entries.map(({ at }) => at).toSorted((a, b) => b.localeCompare(a)),
    );
    const stored = [];
    for (const [, shard, number] of placed()) {
      const rows = await shard.db.selectFrom('audit_log').select('id').execute();
      stored.push(...rows.map(({ id }) => `${number} ${id}`));
    }
    assert.deepEqual(entries.map(({ shard, id }) => `${shard} ${id}`).toSorted(), stored.toSorted());
    const wrong = await runCompany(shards, ['audit', '--cursor', 'e1']);
    assert.match(wrong.stderr, /ERR_USAGE {2}e1 is not a cursor of this log\. Begin without --cursor\./);

    for (const [, shard, number] of placed()) {
      const jobId = await failJob(shard);
      const { jobs } = await run('jobs');
      assert.equal(jobs.find(({ id }: InShard<JobSummary>) => id === jobId)?.shard, number);
      assert.deepEqual(await run('retry', jobId), { jobId });
      const isRunAgain = async () => (await run('jobs')).jobs.every(({ id }: InShard<JobSummary>) => id !== jobId);
      await waitUntil('the end of the job', isRunAgain, (isOver) => isOver);
    }
    const unknown = await runCompany(shards, ['retry', randomUUID()]);
    assert.match(unknown.stderr, /ERR_JOB_NOT_FOUND/);
  });

  it('shows a batch to the company only, and to a session of its own shard', async () => {
    const { proxy, operator, first, second } = shards;
    const batches = await second.db
      .selectFrom('batches')
      .select('id')
      .where('project_id', '=', two.projectId)
      .execute();
    const atFirst = await signIn(proxy.url, operator, undefined, { [SHARD_HEADER]: '1' });
    assert.match(atFirst, /^flywheel_session_1=[^;]+$/, 'a named shard moves no session');
    for (const { id } of batches) {
      const path = `/console/api/company/batches/${id}/review`;
      const read = (cookie: string) => send(proxy.url, 'GET', path, { headers: { cookie } });
      assertError(await read(two.cookie), 403, 'ERR_COMPANY_ONLY');
      assertError(await read(one.cookie), 401, 'ERR_UNAUTHORIZED');
      assertError(await read(atFirst), 401, 'ERR_UNAUTHORIZED');
      // Without the proxy, as a client of the other shard.
      const own = await signIn(first.url, operator);
      assertError(await send(first.url, 'GET', path, { headers: { cookie: own } }), 404, 'ERR_BATCH_NOT_FOUND');
    }
    assert.ok(batches.length > 0);
  });

  function tryInit({ apiKey }: TestProject) {
    return init(shards.proxy.url, apiKey, [burnPipeline()]);
  }

  /** Waits until a project is not paused. */
  async function untilOpen(project: TestProject) {
    const { body } = await waitUntil(
      'the end of the pause',
      () => tryInit(project),
      ({ status }) => status === 200,
    );
    const path = `/v1/flywheel/batch/${body.batch.id}/cancel`;
    requireOk(await send(shards.proxy.url, 'POST', path, { key: project.apiKey, body: {} }));
  }

  /** Creates a manual project in each shard, with two batches that wait for the company. */
  async function openWaiting() {
    const waiting = [];
    for (const shard of [shards.first, shards.second]) {
      const owner = await createProjectIn(shard, shards.proxy, { approvalMode: 'manual' });
      waiting.push(await ask(owner), await ask(owner));
    }
    const [approvedOne, rejectedOne, approvedTwo, rejectedTwo] = waiting;
    if (!approvedOne || !rejectedOne || !approvedTwo || !rejectedTwo) throw new Error('Four batches wait.');
    return [
      { one: approvedOne, two: approvedTwo },
      { one: rejectedOne, two: rejectedTwo },
    ] as const;
  }

  /** Has a project ask the company for a batch. */
  async function ask(owner: TestProject) {
    const batch = await setUpBatch(shards.proxy, owner, [burnPipeline()]);
    const { status, body } = await executeSigned(shards.proxy, owner, batch);
    assert.equal(status, 202, JSON.stringify(body));
    return { id: batch.id, owner };
  }

  async function openSession(named: Readonly<Record<string, string>>) {
    const { url } = shards.proxy;
    const cookie = await signIn(url, shards.operator, undefined, named);
    const { headers } = await send(url, 'GET', '/console/api/session', { headers: { cookie, ...named } });
    return { cookie, headers: Object.fromEntries(headers) };
  }

  async function listWaiting(given: Readonly<Record<string, string>>) {
    const answer = await send(shards.proxy.url, 'GET', '/console/api/company/waiting', { headers: given });
    const { batches }: { readonly batches: readonly WaitingBatch[] } = requireOk(answer);
    return { ids: batches.map(({ id }) => id), headers: Object.fromEntries(answer.headers) };
  }

  function placed(): readonly (readonly [TestProject, World, 1 | 2])[] {
    return [
      [one, shards.first, 1],
      [two, shards.second, 2],
    ];
  }
});

/** Has a job of a shard count as failed: one that has closed a batch, of a project without another job. */
async function failJob({ db }: World): Promise<string> {
  const { rows } = await waitUntil(
    'a project without jobs',
    () =>
      sql<{ id: string }>`
        update jobs.job set state = 'failed' where id = (
          select id from jobs.job as done where data->>'type' = 'close' and state = 'completed' and not exists (
            select from jobs.job as other
            where other.singleton_key = done.singleton_key and other.state in ('active', 'retry', 'failed')
          ) limit 1
        ) returning id
      `.execute(db),
    ({ rows: found }) => found.length === 1,
  );
  return rows[0]?.id ?? '';
}
