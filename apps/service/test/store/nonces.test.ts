import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import {
  ANY_SLOTS,
  NOW,
  RESERVED,
  randomAddress,
  randomNonce,
  storeBatch,
  storeNonces,
  storeProject,
} from '@flywheel/testing/records';
import { type Address, generateKeyPairSigner, type Nonce } from '@solana/kit';
import { getNonceEncoder, NonceState, NonceVersion, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { sql } from 'kysely';
import { planShare, refillNonces } from '../../src/batches/jobs/nonce-pool.ts';
import type { Project } from '../../src/model/project.ts';
import { createChain } from '../../src/solana/chain.ts';
import { endBatch } from '../../src/store/batches/batches.ts';
import { deleteAdmission, insertAdmission } from '../../src/store/company/changes.ts';
import type { Db } from '../../src/store/db.ts';
import {
  dissolveShares,
  findNonceDemand,
  isRefillDue,
  reportWaiters,
  retireAvailable,
} from '../../src/store/nonce-demand.ts';
import {
  findNonceSlot,
  findNonces,
  forgetNonces,
  leaseNonce,
  planNonces,
  type ReadSlots,
  setNonceAuthority,
  setNoncesAvailable,
  setNoncesFinalized,
  updateNonceValue,
  withholdNonces,
} from '../../src/store/nonces.ts';

const addressOf = async () => randomAddress();
/** A plan for what all projects share, without a maximum. */
const UNBOUNDED = { max: Number.POSITIVE_INFINITY, share: null };

test('nonces are leased once: of 20 simultaneous batches and 10 nonces, ten batches get none, without waiting', async () => {
  const { db } = await openTestDatabase();
  await storeNonces(db, 10);
  const projects = await Promise.all(Array.from({ length: 20 }, () => storeProject(db)));
  const results = await Promise.allSettled(projects.map((project) => storeBatch(db, project)));
  const leased = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.nonce.address] : []));
  assert.equal(leased.length, 10);
  assert.equal(new Set(leased).size, 10);
  assert.equal((await findNonces(db, 'leased')).length, 10);
  assert.equal((await findNonces(db, 'available')).length, 0);
});

test('a batch leases nonces of the operator of its multisig only, or of none that is known', async () => {
  const { db } = await openTestDatabase();
  const project = await storeProject(db);
  await storeNonces(db, 1);
  const { operator } = project.flywheel.multisig;
  const other = randomAddress();
  for (const authority of [operator, other]) await planNonces(db, { ...UNBOUNDED, target: 1, authority, addressOf });
  const [own] = await findNonces(db, 'creating', operator);
  const [foreign] = await findNonces(db, 'creating', other);
  assert.ok(own && foreign);
  for (const { address } of [own, foreign]) await setNonceAvailable(db, address, randomNonce(), ANY_SLOTS);
  const leased = [await storeBatch(db, project), await storeBatch(db, project)].map(({ nonce }) => nonce.address);
  assert.ok(leased.includes(own.address));
  assert.deepEqual(
    (await findNonces(db, 'available')).map(({ address }) => address),
    [foreign.address],
  );
  await assert.rejects(storeBatch(db, project), /too few nonces/);
});

test('nonces of an operator are withheld only while no project has it', async () => {
  const { db } = await openTestDatabase();
  const { operator } = (await storeProject(db)).flywheel.multisig;
  const other = randomAddress();
  for (const authority of [operator, other]) {
    await planNonces(db, { ...UNBOUNDED, target: 1, authority, addressOf });
    const [nonce] = await findNonces(db, 'creating', authority);
    assert.ok(nonce && (await setNonceAvailable(db, nonce.address, randomNonce(), ANY_SLOTS)));
    await withholdNonces(db, authority);
  }
  assert.equal((await findNonces(db, 'available', operator)).length, 1);
  assert.equal((await findNonces(db, 'refreshing', other)).length, 1);
});

test('a nonce that a fork may take away is leased after all others', async () => {
  const { db } = await openTestDatabase();
  const project = await storeProject(db);
  const { operator: authority } = project.flywheel.multisig;
  const values = new Map<Address, Nonce>();
  await planNonces(db, { ...UNBOUNDED, target: 2, authority, addressOf });
  for (const { address } of await findNonces(db, 'creating', authority)) values.set(address, randomNonce());
  await setNoncesAvailable(db, values, ANY_SLOTS);
  const [, final] = [...values];
  assert.ok(final);
  await setNoncesFinalized(db, new Map([final]));
  assert.equal((await storeBatch(db, project)).nonce.address, final[0]);
  assert.notEqual((await storeBatch(db, project)).nonce.address, final[0]);
});

test('a lease of a failed transaction is rolled back', async () => {
  const { db } = await openTestDatabase();
  await storeNonces(db, 1);
  const failing = db.transaction().execute(async (trx) => {
    assert.ok(await leaseNonce(trx, { batchId: randomUUID(), flywheelId: randomUUID() }));
    throw new Error('later failure');
  });
  await assert.rejects(failing, /later failure/);
  assert.equal((await findNonces(db, 'available')).length, 1);
});

test('a lease without its batch is rejected at the end of the transaction', async () => {
  const { db } = await openTestDatabase();
  await storeNonces(db, 1);
  const failing = db
    .transaction()
    .execute((trx) => leaseNonce(trx, { batchId: randomUUID(), flywheelId: randomUUID() }));
  await assert.rejects(failing, /foreign key/);
});

test('a leased nonce is free again only with a new value', async () => {
  const { db } = await openTestDatabase();
  await storeNonces(db, 1);
  const batch = await storeBatch(db, await storeProject(db));
  const value = randomNonce();
  assert.equal(await setNonceAvailable(db, batch.nonce.address, value, ANY_SLOTS), false);
  await endBatch(db, batch.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
  assert.deepEqual(
    (await findNonces(db, 'refreshing')).map((nonce) => nonce.value),
    [batch.nonce.value],
  );
  assert.equal(await setNonceAvailable(db, batch.nonce.address, value, ANY_SLOTS), true);
  assert.equal(await setNonceAvailable(db, batch.nonce.address, randomNonce(), ANY_SLOTS), false);
  assert.deepEqual(
    (await findNonces(db, 'available')).map((nonce) => nonce.value),
    [value],
  );
});

test('a nonce’s value is replaced only by the value of a state that is as new', async () => {
  const { db } = await openTestDatabase();
  await storeNonces(db, 1);
  const batch = await storeBatch(db, await storeProject(db));
  const { address } = batch.nonce;
  const moved = randomNonce();
  await updateNonceValue(db, batch.id, moved, { from: 100n, to: 120n });
  assert.equal(await findNonceSlot(db, batch.id), 120n);
  await updateNonceValue(db, batch.id, batch.nonce.value, { from: 119n, to: 130n });
  await endBatch(db, batch.id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
  assert.equal(await setNonceAvailable(db, address, batch.nonce.value, { from: 119n, to: 130n }), false);
  assert.deepEqual(await findNonces(db, 'refreshing'), [
    { address, seed: (await findNonces(db, 'refreshing'))[0]?.seed, value: moved, readSlot: 120n, isFinalized: true },
  ]);
  assert.equal(await setNonceAvailable(db, address, randomNonce(), { from: 120n, to: 130n }), true);
});

test('a refill leaves a used nonce to a later one while the node has not finalized the slot of its value', async () => {
  const { db } = await openTestDatabase();
  await storeNonces(db, 1);
  const operator = await generateKeyPairSigner();
  const { id, nonce } = await storeBatch(db, await storeProject(db));
  await setNonceAuthority(db, nonce.address, { from: null, to: operator.address });
  const leased = randomNonce();
  await updateNonceValue(db, id, leased, { from: 100n, to: 120n });
  await endBatch(db, id, { transition: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
  const cluster = { slot: 119n, value: randomNonce() };
  let left = 0;
  const chain = {
    ...createChain({ rpcUrls: ['http://127.0.0.1:9'] }).view(),
    finalizedBlock: async () => ({ slot: cluster.slot, blockHeight: 1n }),
    accounts: async ([address]: readonly Address[]) =>
      address === undefined ? [] : [nonceAccount(address, operator.address, cluster.value)],
    leaveNode: () => {
      left += 1;
      return null;
    },
  };
  const enqueued: string[] = [];
  const refill = () =>
    refillNonces({
      db,
      chain,
      operator,
      previousOperator: null,
      clock: { now: () => NOW, sleep: async () => undefined },
      noncePool: { size: 1, max: 1, perAdmitted: 0 },
      prices: { maxTipLamports: 0n, maxComputeUnitPrice: 0n },
      log: quietLog,
      signal: new AbortController().signal,
      jobs: {
        enqueue: async (_db, { type }) => void enqueued.push(type),
        enqueueAll: async () => undefined,
      },
    });
  await refill();
  assert.deepEqual([(await findNonces(db, 'available')).length, left, enqueued], [0, 1, ['refill-nonces']]);
  cluster.slot = 120n;
  await refill();
  assert.deepEqual(
    (await findNonces(db, 'available')).map(({ address, value }) => [address, value]),
    [[nonce.address, cluster.value]],
  );
  assert.deepEqual([left, enqueued.length], [1, 1]);
});

function nonceAccount(address: Address, authority: Address, value: Nonce) {
  const data = getNonceEncoder().encode({
    version: NonceVersion.Current,
    state: NonceState.Initialized,
    authority,
    blockhash: value as string as Address,
    lamportsPerSignature: 5_000n,
  });
  return {
    address,
    lamports: 1n,
    programAddress: SYSTEM_PROGRAM_ADDRESS,
    executable: false,
    data: Uint8Array.from(data),
    space: BigInt(data.length),
  };
}

test('a leased nonce is not removed from the pool, so that its batch can still be approved', async () => {
  const { db } = await openTestDatabase();
  await storeNonces(db, 2);
  const { nonce } = await storeBatch(db, await storeProject(db));
  const addresses = [...(await findNonces(db, 'available')), nonce].map(({ address }) => address);
  assert.equal(await forgetNonces(db, addresses), 1);
  assert.deepEqual(
    (await findNonces(db, 'leased')).map(({ address }) => address),
    [nonce.address],
  );
});

test('the plan of a refill fills the pool up to its target, without leased nonces, also in three processes at once', async () => {
  const { db } = await openTestDatabase();
  const project = await storeProject(db);
  const authority = project.flywheel.multisig.operator;
  await Promise.all([1, 2, 3].map(() => planNonces(db, { ...UNBOUNDED, target: 4, authority, addressOf })));
  const creating = await findNonces(db, 'creating');
  assert.equal(creating.length, 4);
  assert.equal(new Set(creating.map(({ seed }) => seed)).size, 4);
  for (const { seed } of creating) assert.match(seed, /^[0-9a-f]{32}$/);

  for (const { address } of creating) await setNonceAvailable(db, address, randomNonce(), ANY_SLOTS);
  await storeBatch(db, project);
  for (const time of ['first', 'second']) {
    await planNonces(db, { ...UNBOUNDED, target: 4, authority, addressOf });
    assert.equal((await findNonces(db, 'creating')).length, 1, `after the ${time} plan`);
  }
  await storeBatch(db, project);
  // The target was decided before the second lease.
  await planNonces(db, { ...UNBOUNDED, target: 4, max: 5, authority, addressOf });
  assert.equal((await findNonces(db, 'creating')).length, 1, 'at the maximum');
});

test('a refill is due when the share of an admitted project runs low, and creates its nonces first', async () => {
  const { db } = await openTestDatabase();
  const admitted = await storeProject(db);
  const { address: share, operator: authority } = admitted.flywheel.multisig;
  await insertAdmission(db, share, NOW);
  const isDue = () => isRefillDue(db, { authority, least: { shared: 2, perAdmitted: 2 } });
  assert.equal(await isDue(), true, 'without a nonce');
  const fill = async (one: Address | null, target: number) => {
    await planNonces(db, { ...UNBOUNDED, target, authority, share: one, addressOf });
    const planned = await findNonces(db, 'creating', authority);
    const values = new Map(planned.map(({ address }) => [address, randomNonce()]));
    await setNoncesAvailable(db, values, ANY_SLOTS);
    await setNoncesFinalized(db, values);
  };
  await fill(share, 4);
  assert.equal(await isDue(), true, 'without one that all share');
  await fill(null, 2);
  assert.equal(await isDue(), false);
  await storeBatch(db, admitted);
  assert.equal(await runsOut(db, admitted), false, 'two would be free, two leased');
  await storeBatch(db, admitted);
  assert.equal(await isDue(), false, 'two are free, two were leased');
  assert.equal(await runsOut(db, admitted), true, 'one would be free, three leased');
  await storeBatch(db, admitted);
  assert.equal(await isDue(), true, 'one is free, three were leased');
  for (const one of [null, share, null])
    await planNonces(db, { ...UNBOUNDED, target: 4, authority, share: one, addressOf });
  const created = new Set((await findNonces(db, 'creating', authority)).slice(0, 3).map(({ address }) => address));
  const { rows } = await sql<{
    address: Address;
  }>`select address from nonces where share = ${share} and state = 'creating'`.execute(db);
  assert.deepEqual(new Set(rows.map(({ address }) => address)), created);
});

test('an admitted project leases from its own share first, and while the others hold all that they can', async () => {
  const { db } = await openTestDatabase();
  const admitted = await storeProject(db);
  const { address: share, operator } = admitted.flywheel.multisig;
  await insertAdmission(db, share, NOW);
  await storeNonces(db, 3);
  await planNonces(db, { ...UNBOUNDED, target: 2, authority: operator, share, addressOf });
  const own = await findNonces(db, 'creating', operator);
  for (const { address } of own) await setNonceAvailable(db, address, randomNonce(), ANY_SLOTS);
  const ownAddresses = new Set(own.map(({ address }) => address));
  const stranger = await storeProject(db);
  for (let i = 0; i < 3; i++) {
    assert.equal(ownAddresses.has((await storeBatch(db, stranger)).nonce.address), false);
    if (i === 0) assert.equal(ownAddresses.has((await storeBatch(db, admitted)).nonce.address), true);
  }
  await assert.rejects(storeBatch(db, stranger), /too few nonces/);
  await storeBatch(db, admitted);
  await assert.rejects(storeBatch(db, admitted), /too few nonces/);
});

test('the demand for nonces is counted by share: what is leased and what waits, without reports of dead processes', async () => {
  const { db } = await openTestDatabase();
  const admitted = await storeProject(db);
  const { address: share, operator } = admitted.flywheel.multisig;
  await insertAdmission(db, share, NOW);
  for (const one of [share, null]) {
    await planNonces(db, { ...UNBOUNDED, target: 3, authority: operator, share: one, addressOf });
    for (const { address } of await findNonces(db, 'creating', operator)) {
      await setNonceAvailable(db, address, randomNonce(), ANY_SLOTS);
    }
  }
  await storeBatch(db, admitted);
  const [alive, dead] = [randomUUID(), randomUUID()];
  await reportWaiters(db, alive, new Map([[share, 5]]));
  await reportWaiters(db, dead, new Map([[share, 7]]));
  await sql`update nonce_waiters set updated_at = now() - interval '1 minute' where process = ${dead}`.execute(db);
  const none = { leased: 0, available: 3, leasedLately: 0, leasedBefore: 0, waiting: 0 };
  const own = { share, leased: 1, available: 2, leasedLately: 1, leasedBefore: 1, waiting: 5 };
  assert.deepEqual(await findNonceDemand(db, operator), [{ share: null, ...none }, own]);
  await sql`update nonce_waiters set updated_at = now() - interval '2 hours' where process = ${dead}`.execute(db);
  await reportWaiters(db, alive, new Map([[share, 5]]));
  const reports = await db.selectFrom('nonce_waiters').select('process').execute();
  assert.deepEqual(reports, [{ process: alive }], 'reports of killed processes do not stay');
  const retire = async () => {
    await retireAvailable(db, { authority: operator, share: null, count: 2 });
    return (await findNonces(db, 'closing')).length;
  };
  assert.equal(await retire(), 0, 'a finalized read could not tell that one of them is closed');
  const free = (await findNonces(db, 'available')).map(({ address }) => [address, randomNonce()] as const);
  await setNoncesFinalized(db, new Map(free));
  assert.equal(await retire(), 2);
  await deleteAdmission(db, share);
  await dissolveShares(db);
  assert.deepEqual(await findNonceDemand(db, operator), [
    { share: null, leased: 1, available: 3, leasedLately: 1, leasedBefore: 1, waiting: 5 },
  ]);
});

test('the plan of a share follows demand between its bounds', () => {
  const pool = { size: 32, max: 100, perAdmitted: 4 };
  const idle = { share: null, leased: 0, available: 32, leasedLately: 0, leasedBefore: 0, waiting: 0 };
  assert.deepEqual(planShare(idle, pool), { free: 32, max: 100, surplus: 0 });
  // Twice as many as the last minute took, and one for each that waits, within the maximum.
  assert.deepEqual(planShare({ ...idle, leased: 20, available: 0, leasedLately: 20, waiting: 10 }, pool), {
    free: 50,
    max: 100,
    surplus: 0,
  });
  assert.equal(planShare({ ...idle, leased: 90, leasedLately: 90, waiting: 50 }, pool).free, 10);
  // After a burst the rest stays for ten minutes, then its rent returns.
  const after = { ...idle, available: 90 };
  assert.equal(planShare({ ...after, leasedBefore: 90 }, pool).surplus, 0);
  assert.equal(planShare(after, pool).surplus, 58);
  assert.equal(planShare({ ...idle, share: randomAddress(), available: 4 }, pool).free, 4);
});

/** Makes one nonce available. @returns false if it was skipped. */
async function setNonceAvailable(db: Db, address: Address, value: Nonce, slots: ReadSlots): Promise<boolean> {
  await setNoncesAvailable(db, new Map([[address, value]]), slots);
  return (await findNonces(db, 'available')).some((nonce) => nonce.address === address && nonce.value === value);
}

/** Checks if one more lease would say that its share runs out. */
async function runsOut(db: Db, { flywheel }: Project): Promise<boolean | undefined> {
  const trx = await db.startTransaction().execute();
  const lease = await leaseNonce(trx, { batchId: randomUUID(), flywheelId: flywheel.id });
  await trx.rollback().execute();
  return lease?.isShareRunningOut;
}
