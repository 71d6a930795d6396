import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { decodeMultisig, proposalAddress, transactionAddress } from '@flywheel/squads';
import { assertError, rewindBatch, waitUntil } from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline, execute, getBatch, init, send } from '@flywheel/testing/client';
import { onlyLocal } from '@flywheel/testing/cluster';
import { countOpenJobs, makeDue } from '@flywheel/testing/jobs';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { type Address, address, generateKeyPairSigner, signature } from '@solana/kit';
import { sql } from 'kysely';
import { findJobs } from '../src/store/jobs/job-records.ts';

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.stop());

describe('an executed batch', () => {
  it('is closed: its rent returns, and its ledger equals the balance changes of its transactions', async () => {
    const project = await createProject(world);
    const recipient = await generateKeyPairSigner();
    const { id, proposalApproveTx } = await initialize(project, [airdropPipeline(recipient.address), burnPipeline()]);
    await executed(project, id, proposalApproveTx);
    const { ledger } = await until(project, id, ({ ledger }) => ledger.isComplete);
    assert.ok(BigInt(ledger.rentOutLamports) > 4_906_800n, ledger.rentOutLamports);
    assert.equal(ledger.rentBackLamports, ledger.rentOutLamports);
    assert.equal(ledger.vaultRentLamports, '2039280');
    const spent = await Promise.all(
      ledger.entries.map((entry: { signature: string }) => spentBy(world.operator.address, entry.signature)),
    );
    assert.equal(sum(spent), BigInt(ledger.operatorNetLamports));
    const fees = BigInt(ledger.feeLamports) + BigInt(ledger.tipLamports);
    assert.equal(BigInt(ledger.operatorNetLamports), fees);
    assert.equal(await accountsOnChain(project, 1n), 0);
    assert.equal(await countOpenJobs(world, 'expire', id), 0);
  });

  it('cannot be cancelled', async () => {
    const project = await createProject(world);
    const { id, proposalApproveTx } = await initialize(project, [burnPipeline()]);
    await executed(project, id, proposalApproveTx);
    const { status, body } = await cancel(project, id);
    assert.equal(status, 409);
    assert.equal(body.error, 'ERR_BATCH_NOT_CANCELLABLE');
  });
});

describe('a cancelled batch', () => {
  it('ends at once, returns its limits, is never executed, and is closed on chain', async () => {
    const project = await createProject(world, { burnLimit: '10' });
    const pipelines = [burnPipeline(10)];
    const { id, proposalApproveTx } = await initialize(project, pipelines);
    await until(project, id, ({ status }) => status === 'FINALIZED');
    assert.deepEqual(await scheduledFor(id), ['expire']);
    const cancelled = requireOk(await cancel(project, id));
    assert.deepEqual(cancelled, { batchId: id, status: 'FAILED', rest: { pipelines } });
    assert.deepEqual(await scheduledFor(id), [], 'the expiry of an ended batch is not listed');
    assert.deepEqual(requireOk(await cancel(project, id)), cancelled, 'repeating answers the same');

    const refused = await execute(world.url, project.apiKey, id, await signWith(project.wallet, proposalApproveTx));
    assert.equal(refused.status, 409);
    assert.equal(refused.body.error, 'ERR_BATCH_NOT_EXECUTABLE');
    assert.match(refused.body.message, /cancelled/);

    const next = await initialize(project, [burnPipeline(10)]);
    await executed(project, next.id, next.proposalApproveTx);
    const batch = await until(project, id, ({ ledger }) => ledger.isComplete);
    assert.equal(batch.executeResult.totalFailed, 1);
    assert.equal(batch.executeResult.failedOnTransactionIndex, undefined);
    assert.equal(batch.ledger.rentBackLamports, batch.ledger.rentOutLamports);
    assert.equal(await countOpenJobs(world, 'expire', id), 0);
  });

  it(
    'leaves no gap: its index, which never came on chain, is burned when a later batch needs it',
    onlyLocal('fail calls'),
    async () => {
      const project = await createProject(world);
      // Setup cannot build a transaction until the batch is cancelled.
      world.localnet.faults.set({ method: 'getLatestBlockhash', kind: 'error', status: 500 });
      const first = await initialize(project, [burnPipeline()]);
      const cancelled = cancel(project, first.id);
      await until(project, first.id, ({ status }) => status === 'FAILED');
      world.localnet.faults.clear();
      requireOk(await cancelled);
      await waitUntil(
        'its expiry to be dropped',
        () => countOpenJobs(world, 'expire', first.id),
        (count) => count === 0,
      );
      const second = await initialize(project, [burnPipeline()]);
      await executed(project, second.id, second.proposalApproveTx);
      assert.equal(await transactionIndex(project), 2n);

      // The rows of a process that died after the burn had landed.
      await world.db.updateTable('batches').set({ closed_at: null }).where('id', '=', first.id).execute();
      const sent = { state: 'sent' as const, landed_signatures: [], landed_slot: null, settled_at: null };
      await world.db.updateTable('bundles').set(sent).where('batch_id', '=', first.id).execute();
      await world.db.deleteFrom('ledger_entries').where('batch_id', '=', first.id).execute();
      await makeDue(world, 'close', first.id);
      const { ledger } = await until(project, first.id, ({ ledger }) => ledger.isComplete);
      assert.notEqual(ledger.feeLamports, '0');
    },
  );
});

describe('an index that is burned', () => {
  it('is checked later by a job that comes with the row of its bundle', onlyLocal('fail calls'), async (t) => {
    t.after(() => world.localnet.faults.clear());
    const project = await createProject(world);
    world.localnet.faults.set({ method: 'getLatestBlockhash', kind: 'error', status: 500 });
    const first = await initialize(project, [burnPipeline()]);
    const cancelled = cancel(project, first.id);
    await waitUntil(
      'its closing, which finds nothing on chain',
      () => findJobs(world.db, { withCompleted: true }),
      (jobs) =>
        jobs.some(({ batchId, type, state }) => batchId === first.id && type === 'close' && state === 'completed'),
    );
    const second = await initialize(project, [burnPipeline()]);
    await waitUntil(
      'a setup that could not build the burn',
      () => findJobs(world.db, { withCompleted: false }),
      (jobs) => jobs.some(({ batchId, type, error }) => batchId === second.id && type === 'setup' && error !== null),
    );
    assert.equal(await countOpenJobs(world, 'close', first.id), 0);
    world.localnet.faults.clear();
    requireOk(await cancelled);
    await until(project, second.id, ({ status }) => status === 'FINALIZED');
    assert.equal(await countOpenJobs(world, 'close', first.id), 1);
  });
});

describe('a batch that is cancelled while no node answers', () => {
  it(
    'ends when the chain can be read: a restored database may not know that it was executed',
    onlyLocal('fail calls'),
    async () => {
      const project = await createProject(world);
      const { id } = await initialize(project, [burnPipeline()]);
      await until(project, id, ({ status }) => status === 'FINALIZED');
      world.localnet.faults.set({ method: 'getMultipleAccounts', kind: 'error', status: 500 });
      const cancelled = cancel(project, id);
      await waitUntil(
        'the job that cancels it',
        () => findJobs(world.db, { withCompleted: false }),
        (jobs) => jobs.some(({ batchId, type }) => batchId === id && type === 'cancel'),
      );
      world.localnet.faults.clear();
      await until(project, id, ({ status }) => status === 'FAILED');
      requireOk(await cancelled);
    },
  );
});

describe('cancel and execute', () => {
  it('that repeat an end count the pipelines that they read, and an end itself is never refused', async () => {
    const project = await createProject(world);
    const pipelines = Array.from({ length: 900 }, () => burnPipeline());
    const { id } = await initialize(project, pipelines);
    assert.equal(requireOk(await cancel(project, id)).rest.pipelines.length, 900);
    const repeated = await Promise.all(Array.from({ length: 10 }, () => cancel(project, id)));
    const refused = repeated.filter(({ status }) => status !== 200);
    assert.ok(refused.length > 0 && refused.length <= 7, `${refused.length} are refused`);
    for (const answer of refused) assertError(answer, 429, 'ERR_RATE_LIMITED', /^The limit of 2500 pipelines in 10 s/);
    const { id: next } = await initialize(project, [burnPipeline()]);
    requireOk(await cancel(project, next));
  });

  it('from the console count as operations that make much work', async () => {
    const project = await createProject(world);
    const { id } = await initialize(project, [burnPipeline()]);
    const path = `/console/api/projects/${project.projectId}/batches/${id}/cancel`;
    const answer = await send(world.url, 'POST', path, { headers: { cookie: project.cookie }, body: {} });
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"heavy"/);
  });
});

describe('a batch that is cancelled when a restored database knows of no setup', () => {
  it('ends as the chain shows: EXECUTED if it was executed, FAILED if its index holds another batch', async () => {
    const project = await createProject(world);
    await sql`
      create function put_off() returns trigger language plpgsql as
        $$ begin new.start_after = now() + interval '1 day'; return new; end $$
    `.execute(world.db);
    await sql`
      create trigger put_off before insert on jobs.job for each row when (new.data->>'type' = 'close')
        execute function put_off()
    `.execute(world.db);
    const [first, second] = [
      await initialize(project, [burnPipeline(1)]),
      await initialize(project, [burnPipeline(2)]),
    ];
    for (const { id, proposalApproveTx } of [first, second]) await executed(project, id, proposalApproveTx);
    const [own, other] = [first.id, second.id];
    for (const id of [own, other]) await rewindBatch(world, id);
    const messageOf = (id: string) =>
      world.db.selectFrom('pipelines').select('vault_message').where('batch_id', '=', id).executeTakeFirstOrThrow();
    await world.db
      .updateTable('pipelines')
      .set(await messageOf(own))
      .where('batch_id', '=', other)
      .execute();

    assert.equal((await cancel(project, own)).body.error, 'ERR_BATCH_NOT_CANCELLABLE');
    const { status, initResult } = await until(project, own, ({ executeResult }) => executeResult !== undefined);
    assert.deepEqual([status, initResult.totalFailed], ['EXECUTED', 0]);
    assert.equal(requireOk(await cancel(project, other)).status, 'FAILED');
    await sql`drop function put_off cascade`.execute(world.db);
  });
});

describe('a batch that is never approved', () => {
  it('expires: it is FAILED, its limits return, and it is closed on chain', async () => {
    await world.restart({ BATCH_EXPIRY_SECONDS: '1' });
    const project = await createProject(world, { burnLimit: '1' });
    const { id } = await initialize(project, [burnPipeline(1)]);
    const { executeResult } = await until(project, id, ({ status }) => status === 'FAILED');
    assert.equal(executeResult.failedTxMsg, 'The batch expired.');
    await world.restart();
    // On a busy machine it expires before it is set up: then the next batch uses up its index.
    await initialize(project, [burnPipeline(1)]);
    await until(project, id, ({ ledger }) => ledger.isComplete);
  });
});

describe('GET /v1/flywheel/batches', () => {
  it('pages through a project’s batches, newest first, optionally of one status', async () => {
    const project = await createProject(world);
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.unshift((await initialize(project, [burnPipeline()])).id);
    const first = requireOk(await list(project, '?limit=2'));
    assert.deepEqual(
      first.batches.map(({ id }: { id: string }) => id),
      ids.slice(0, 2),
    );
    const second = requireOk(await list(project, `?limit=2&cursor=${first.nextCursor}`));
    assert.deepEqual(
      second.batches.map(({ id }: { id: string }) => id),
      ids.slice(2),
    );
    assert.equal('nextCursor' in second, false);
    const { vaultAddress } = project;
    assert.deepEqual(requireOk(await list(project, '?status=EXECUTED')), { batches: [], vaultAddress });
    assert.equal((await list(project, '?cursor=nonsense')).status, 400);
    assert.equal((await list(project, '?limit=101')).status, 400);
  });
});

async function initialize(project: TestProject, pipelines: readonly unknown[]) {
  const { batch, proposalApproveTx } = requireOk(await init(world.url, project.apiKey, pipelines));
  return { id: batch.id as string, proposalApproveTx: proposalApproveTx as string };
}

async function executed(project: TestProject, id: string, proposalApproveTx: string): Promise<void> {
  const answer = await execute(world.url, project.apiKey, id, await signWith(project.wallet, proposalApproveTx));
  assert.equal(requireOk(answer).status, 'EXECUTED');
}

function cancel(project: TestProject, id: string) {
  return send(world.url, 'POST', `/v1/flywheel/batch/${id}/cancel`, { key: project.apiKey, body: {} });
}

function list(project: TestProject, query: string) {
  return send(world.url, 'GET', `/v1/flywheel/batches${query}`, { key: project.apiKey });
}

// biome-ignore lint/suspicious/noExplicitAny: the wire’s batch, inspected by each test.
async function until(project: TestProject, id: string, isAwaited: (batch: any) => boolean): Promise<any> {
  const read = async () => requireOk(await getBatch(world.url, project.apiKey, id, '?include=ledger'));
  return waitUntil(`batch ${id}`, read, isAwaited);
}

async function spentBy(account: Address, text: string): Promise<bigint> {
  const found = await world.rpc
    .getTransaction(signature(text), { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 1 })
    .send();
  const index = found?.transaction.message.accountKeys.indexOf(account) ?? -1;
  const [before, after] = [found?.meta?.preBalances[index], found?.meta?.postBalances[index]];
  if (before === undefined || after === undefined) throw new Error(`${text} does not name ${account}.`);
  return before - after;
}

/** Counts the batch's own accounts that are still on chain. */
async function accountsOnChain({ multisig }: TestProject, batchIndex: bigint): Promise<number> {
  const addresses = await Promise.all(
    [transactionAddress, proposalAddress].map((of) => of(address(multisig), batchIndex)),
  );
  const { value } = await world.rpc.getMultipleAccounts(addresses, { encoding: 'base64' }).send();
  return value.filter((account) => account !== null).length;
}

async function transactionIndex({ multisig }: TestProject): Promise<bigint> {
  const { value } = await world.rpc.getAccountInfo(address(multisig), { encoding: 'base64' }).send();
  assert.ok(value);
  const data = Buffer.from(value.data[0], 'base64');
  return decodeMultisig({ address: address(multisig), programAddress: value.owner, data }).transactionIndex;
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}

async function scheduledFor(id: string): Promise<string[]> {
  const jobs = await findJobs(world.db, { withCompleted: false });
  return jobs.filter(({ batchId, type }) => batchId === id && type === 'expire').map(({ type }) => type);
}
