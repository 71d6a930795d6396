import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type CompanyOverview, headersFor, type InShard, SHARD_HEADER, type WaitingBatch } from '@flywheel/api';
import { decodeMultisig } from '@flywheel/squads';
import { assertError, executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig } from '@flywheel/testing/chain';
import { burnPipeline, getBatch, init, send } from '@flywheel/testing/client';
import { approveForCompany } from '@flywheel/testing/decisions';
import { WITH_HAPROXY } from '@flywheel/testing/haproxy';
import { requireOk, signIn, type TestProject } from '@flywheel/testing/project';
import { approve, rotateOperator, waitForWithdrawal } from '@flywheel/testing/treasury';
import { createProjectIn, openTwoShards, restartShard, type TwoShards } from '@flywheel/testing/two-shards';
import type { World } from '@flywheel/testing/world';
import { type Address, createKeyPairSignerFromBytes, fetchEncodedAccount } from '@solana/kit';
import { systemClock as clock } from '../../src/clock.ts';
import { type MoveStep, moveProject } from '../../src/projects/move-project.ts';
import { createSignerFile } from '../../src/solana/signer.ts';
import { runCommand, runCompany } from './two-shards.ts';

const OPERATOR_LAMPORTS = 100_000_000_000n;

describe('two shards behind one URL, one of which is changed or down', WITH_HAPROXY, () => {
  let shards: TwoShards;
  let directory: string;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'flywheel-faults-'));
    shards = await openTwoShards();
  });
  after(async () => {
    await shards?.stop();
    await rm(directory, { recursive: true });
  });

  it('refuse what a project between them is asked for until it has arrived, wherever the proxy asks first', async () => {
    const { first, second, proxy, operator } = shards;
    const { id, owner } = await createWaiting(second);
    const move = { from: second.db, to: first.db, clock };
    const interrupt = async (step: MoveStep) => {
      if (step === 'departed') throw new Error(step);
    };
    await assert.rejects(moveProject(move, owner.projectId, interrupt), { message: 'departed' });
    const sessions = await Promise.all(
      ['1', '2'].map((shard) => signIn(proxy.url, operator, undefined, { [SHARD_HEADER]: shard })),
    );
    const headers = { cookie: sessions.join('; ') };
    const review = (batchId: string) =>
      send(proxy.url, 'GET', `/console/api/company/batches/${batchId}/review`, { headers });
    const readProject = () => send(proxy.url, 'GET', `/console/api/projects/${owner.projectId}`, { headers });
    // The proxy forgets the shard that it remembers with the first 503.
    for (let i = 0; i < 2; i += 1) {
      const answers = [await getBatch(proxy.url, owner.apiKey, id), await readProject(), await review(id)];
      for (const answer of answers) assertError(answer, 503, 'ERR_PROJECT_MOVING');
    }
    await moveProject(move, owner.projectId, async () => undefined);
    for (const answer of [await getBatch(proxy.url, owner.apiKey, id), await readProject(), await review(id)]) {
      requireOk(answer);
    }
    assertError(await review(randomUUID()), 404, 'ERR_BATCH_NOT_FOUND');
  });

  it('find a project where it has moved to while the shard that it has left, which the proxy remembers, is down', async () => {
    const { first, second, proxy } = shards;
    const [moved, stayed] = [await createProjectIn(second, proxy), await createProjectIn(second, proxy)];
    const readBatch = ({ apiKey }: TestProject) => getBatch(proxy.url, apiKey, randomUUID());
    const readSettings = ({ projectId, cookie }: TestProject) =>
      send(proxy.url, 'GET', `/console/api/projects/${projectId}/settings`, { headers: { cookie } });
    for (const project of [moved, stayed]) {
      assert.equal((await readBatch(project)).status, 404);
      requireOk(await readSettings(project));
    }
    const move = { from: second.db, to: first.db, clock };
    await moveProject(move, moved.projectId, async () => undefined);
    await second.app.stop();
    await waitUntil(
      'the answer of the other shard',
      () => readBatch(moved),
      ({ status }) => status === 404,
    );
    // Sessions do not move.
    assert.equal((await readSettings(moved)).status, 401);
    for (let i = 0; i < 2; i += 1) {
      for (const answer of [await readBatch(stayed), await readSettings(stayed)]) {
        assertError(answer, 503, 'ERR_INTERNAL', /^Shard 2 /);
      }
    }
    await restartShard(shards, second);
    assert.equal((await readBatch(stayed)).status, 404);
    // The second shard is left without projects of its operator, who is replaced.
    await moveProject(move, stayed.projectId, async () => undefined);
  });

  it('work on after the operator of the second is replaced there', async () => {
    const { first, second, proxy, operator } = shards;
    const { address: next, file } = await createKey('next-operator.json');
    await first.localnet.bank.airdrop(next, OPERATOR_LAMPORTS);
    const staying = await createProjectIn(first, proxy);
    const project = await createProjectIn(second, proxy, { approvalMode: 'manual' });
    const decider = { wallet: operator, cookie: await signIn(proxy.url, operator, undefined, { [SHARD_HEADER]: '2' }) };
    const { OPERATOR_SIGNER: old = '' } = second.environment;
    await restartShard(shards, second, { OPERATOR_SIGNER: file, OPERATOR_SIGNER_PREVIOUS: old });

    const rotation = requireOk(await rotateOperator(proxy, project, decider.cookie));
    assert.deepEqual([rotation.from, rotation.to], [first.operator.address, next]);
    const { batchId } = rotation;
    await waitForWithdrawal(proxy, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
    requireOk(await approve(proxy, project, batchId));
    const world = { url: proxy.url, db: second.db, rpc: second.rpc };
    requireOk(await approveForCompany(world, decider, batchId));
    await waitForWithdrawal(proxy, project, batchId, ({ batch }) => batch.status === 'EXECUTED');
    const isMoved = (authorities: readonly (Address | null)[]) => authorities.join() === next;
    await waitUntil('the nonces of the second shard to be moved', () => readAuthorities(second), isMoved);
    // From here on the second shard does not have the old key.
    await restartShard(shards, second, { OPERATOR_SIGNER: file });

    const batch = await setUpBatch(proxy, project, [burnPipeline()]);
    assert.equal((await executeSigned(proxy, project, batch)).status, 202);
    requireOk(await approveForCompany(world, decider, batch.id));
    await waitForBatch(proxy, project, batch.id, ({ status }) => status === 'EXECUTED');
    assert.deepEqual(await readOperators(second, project), [next, next]);
    assert.deepEqual(await readOperators(first, staying), [first.operator.address, first.operator.address]);
    const other = await setUpBatch(proxy, staying, [burnPipeline()]);
    assert.equal(requireOk(await executeSigned(proxy, staying, other)).status, 'EXECUTED');
  });

  it('serve a wallet with projects in both, also in the shard to which the proxy does not lead it', async () => {
    const { first, second, proxy } = shards;
    const { file, wallet } = await createWallet('wallet.json');
    const [one, two] = [
      await createProjectIn(first, proxy, { wallet }),
      await createProjectIn(second, proxy, { wallet }),
    ];
    const environment = { XDG_STATE_HOME: directory };
    const run = (...words: string[]) => runCommand(shards, [...words, '--wallet', file], environment);
    for (const owner of [one, two]) {
      const batch = await setUpBatch(proxy, owner, [burnPipeline()]);
      const words = ['approve', batch.id, '--project', owner.projectId, '--trust', owner.vaultAddress];
      const shown = await run(...words);
      const [, content = ''] = /--content ([0-9a-f]{64})\./.exec(shown.stderr) ?? [];
      const approved = await run(...words, '--content', content);
      assert.equal(approved.exitCode, 0, shown.stderr + approved.stderr);
      await waitForBatch(proxy, owner, batch.id, ({ status }) => status === 'EXECUTED');
      // The batch alone leads to its project, and an API key to its own.
      const open = await setUpBatch(proxy, owner, [burnPipeline()]);
      const cancelled = await run('cancel', open.id, '--trust', owner.vaultAddress);
      assert.equal(cancelled.exitCode, 0, cancelled.stderr);
    }
    const unnamed = await run('project', 'show');
    assert.equal(unnamed.exitCode, 2);
    for (const { projectId } of [one, two]) assert.match(unnamed.stderr, new RegExp(projectId));
  });

  for (const number of [1, 2] as const) {
    it(`answer what names no project also while shard ${number} is down and has answered last`, async () => {
      const { first, second, proxy, operator } = shards;
      const [down, up] = number === 1 ? [first, second] : [second, first];
      const other = number === 1 ? 2 : 1;
      const owner = await createProjectIn(down, proxy);
      const last = `flywheel_shard=${number}`;
      const sessionAt = async (shard: number) => {
        const cookie = await signIn(proxy.url, operator, undefined, headersFor(shard));
        return `${last}; ${cookie}`;
      };
      const [atDown, atUp] = [await sessionAt(number), await sessionAt(other)];
      const read = (path: string, cookie: string, headers = {}) =>
        send(proxy.url, 'GET', path, { headers: { cookie, ...headers } });
      const session = '/console/api/session';
      await down.app.stop();
      const answered = await waitUntil(
        'the answer of the other shard',
        () => read('/console/api/environment', last),
        ({ status }) => status === 200,
      );
      assert.equal(answered.headers.get(SHARD_HEADER), `${other} of 2`);
      assert.deepEqual(answered.headers.getSetCookie(), [], 'no session is moved');
      assert.equal((await read('/health/live', last)).status, 200);
      assert.equal(requireOk(await read(session, `${atDown}; ${atUp}`)).wallet, operator.address);
      // The other shard would say that there is no session.
      assertError(await read(session, atDown), 503, 'ERR_INTERNAL', new RegExp(`^Shard ${number} `));
      for (const answer of [
        await read(session, atUp, headersFor(number)),
        await getBatch(proxy.url, owner.apiKey, randomUUID()),
        await read(`/console/api/projects/${owner.projectId}`, atUp),
      ]) {
        assertError(answer, 503, 'ERR_INTERNAL');
      }
      assert.equal((await getBatch(proxy.url, (await createProjectIn(up, proxy)).apiKey, randomUUID())).status, 404);

      await restart(down);
      assert.equal((await read('/console/api/environment', last)).headers.get(SHARD_HEADER), `${number} of 2`);
    });

    it(`let the company work in the other while shard ${number} is down`, async () => {
      const { first, second, proxy } = shards;
      const [down, up] = number === 1 ? [first, second] : [second, first];
      const [stopped, served] = [await createWaiting(down), await createWaiting(up)];
      await down.app.stop();
      const [pending, listed, projects, status, jobs, audit, paused] = await Promise.all([
        runCompany(shards, ['pending', '--json']),
        runCompany(shards, ['pending']),
        runCompany(shards, ['projects', '--json']),
        runCompany(shards, ['status', '--json']),
        runCompany(shards, ['jobs', '--json']),
        runCompany(shards, ['audit', '--json']),
        runCompany(shards, ['pause', '--all', '--yes', '--json']),
      ]);
      const { batches, missingShards } = JSON.parse(pending.stdout);
      assert.ok(batches.some(({ id }: WaitingBatch) => id === served.id));
      assert.ok(batches.every(({ id }: WaitingBatch) => id !== stopped.id));
      assert.deepEqual(missingShards, [number]);
      const isNoted = new RegExp(`^Shard ${number} is left out: Shard ${number} of this service does not answer\\.`);
      assert.match(listed.stderr, isNoted);
      assert.equal(listed.stderr.split('left out').length, 2, 'one note');
      for (const { stdout } of [projects, status, jobs, audit]) {
        assert.deepEqual(JSON.parse(stdout).missingShards, [number]);
      }
      const others = JSON.parse(status.stdout).shards.map(({ shard }: InShard<CompanyOverview>) => shard);
      assert.deepEqual(others, [number === 1 ? 2 : 1]);
      assert.equal(paused.exitCode, 1);
      assert.match(paused.stderr, /ERR_SHARDS_LEFT/);
      assert.match(paused.stderr, /The other shards have done it\. Repeat the command\./);
      const isPaused = async ({ apiKey }: TestProject) =>
        /PAUSED/.test((await init(proxy.url, apiKey, [burnPipeline()])).body.error ?? '');
      assert.equal(await isPaused(served.owner), true);

      await restart(down);
      assert.equal(await isPaused(stopped.owner), false, 'it was down');
      const repeated = await runCompany(shards, ['pause', '--all', '--yes']);
      assert.equal(repeated.stdout, 'All projects are paused.\n', repeated.stderr);
      assert.equal(await isPaused(stopped.owner), true);
      const resumed = await runCompany(shards, ['resume', '--all', '--yes']);
      assert.equal(resumed.exitCode, 0, resumed.stderr);
    });
  }

  it('say which does not answer, and what to do, if none does', async () => {
    const { first, second } = shards;
    await Promise.all([first.app.stop(), second.app.stop()]);
    const { exitCode, stderr } = await runCompany(shards, ['pending']);
    assert.equal(exitCode, 1);
    assert.match(stderr, /does not answer\. Try again in 2 s\./);
  });

  /** Starts a shard again. The operator of the second was replaced. */
  async function restart(shard: World) {
    const changes = { OPERATOR_SIGNER: join(directory, 'next-operator.json') };
    await restartShard(shards, shard, shard === shards.second ? changes : {});
  }

  /** Has a manual project in a shard ask the company for a batch. */
  async function createWaiting(shard: World) {
    const owner = await createProjectIn(shard, shards.proxy, { approvalMode: 'manual' });
    const batch = await setUpBatch(shards.proxy, owner, [burnPipeline()]);
    assert.equal((await executeSigned(shards.proxy, owner, batch)).status, 202);
    return { id: batch.id, owner };
  }

  async function createKey(name: string) {
    const file = join(directory, name);
    return { address: await createSignerFile(file), file };
  }

  async function createWallet(name: string) {
    const { file } = await createKey(name);
    const bytes = Uint8Array.from(JSON.parse(await readFile(file, 'utf8')));
    return { file, wallet: await createKeyPairSignerFromBytes(bytes) };
  }
});

async function readAuthorities({ db }: World): Promise<(Address | null)[]> {
  const rows = await db.selectFrom('nonces').select('authority').distinct().execute();
  return rows.map(({ authority }) => authority);
}

/** Reads the operator of a project in the database, and on chain who gets the rent back. */
async function readOperators(shard: World, project: TestProject): Promise<(Address | null)[]> {
  const { address, operator } = await findMultisig(shard, project);
  const account = await fetchEncodedAccount(shard.rpc, address);
  assert.ok(account.exists);
  return [operator, decodeMultisig(account).rentCollector];
}
