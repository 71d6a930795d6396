import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { openTestDatabase } from '@flywheel/testing/postgres';
import {
  NOW,
  RESERVED,
  randomAddress,
  randomNonce,
  storeBatch,
  storeNonces,
  storeProject,
} from '@flywheel/testing/records';
import { endBatch } from '../../src/store/batches/batches.ts';
import { findNonces, forgetNonces, leaseNonce, planNonces, setNonceAvailable } from '../../src/store/nonces.ts';

const addressOf = async () => randomAddress();

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

test('a lease of a failed transaction is rolled back', async () => {
  const { db } = await openTestDatabase();
  await storeNonces(db, 1);
  const failing = db.transaction().execute(async (trx) => {
    assert.ok(await leaseNonce(trx, randomUUID()));
    throw new Error('later failure');
  });
  await assert.rejects(failing, /later failure/);
  assert.equal((await findNonces(db, 'available')).length, 1);
});

test('a lease without its batch is rejected at the end of the transaction', async () => {
  const { db } = await openTestDatabase();
  await storeNonces(db, 1);
  const failing = db.transaction().execute((trx) => leaseNonce(trx, randomUUID()));
  await assert.rejects(failing, /foreign key/);
});

test('a leased nonce is free again only with a new value', async () => {
  const { db } = await openTestDatabase();
  await storeNonces(db, 1);
  const batch = await storeBatch(db, await storeProject(db));
  const value = randomNonce();
  assert.equal(await setNonceAvailable(db, batch.nonce.address, value), false);
  await endBatch(db, batch.id, { event: 'ENDED_UNEXECUTED', released: RESERVED }, NOW);
  assert.deepEqual(
    (await findNonces(db, 'refreshing')).map((nonce) => nonce.value),
    [batch.nonce.value],
  );
  assert.equal(await setNonceAvailable(db, batch.nonce.address, value), true);
  assert.equal(await setNonceAvailable(db, batch.nonce.address, randomNonce()), false);
  assert.deepEqual(
    (await findNonces(db, 'available')).map((nonce) => nonce.value),
    [value],
  );
});

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
  const plans = await Promise.all([1, 2, 3].map(() => planNonces(db, { target: 4, addressOf })));
  assert.equal(plans.flat().length, 4);
  const creating = await findNonces(db, 'creating');
  assert.equal(creating.length, 4);
  assert.equal(new Set(creating.map(({ seed }) => seed)).size, 4);
  for (const { seed } of creating) assert.match(seed, /^[0-9a-f]{32}$/);

  for (const { address } of creating) await setNonceAvailable(db, address, randomNonce());
  await storeBatch(db, await storeProject(db));
  assert.equal((await planNonces(db, { target: 4, addressOf })).length, 1);
  assert.deepEqual(await planNonces(db, { target: 4, addressOf }), []);
});
