import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { later, NOW, newProject, randomAddress } from '@flywheel/testing/records';
import { insertProject } from '../../src/store/projects/projects.ts';
import { completeRegistration, findRegistration, insertRegistration } from '../../src/store/projects/registrations.ts';
import { deleteExpired } from '../../src/store/service-state.ts';

const { db } = await openTestDatabase();

test('a registration is read by its own wallet as it was stored', async () => {
  const registration = await storeRegistration();
  assert.deepEqual(await findRegistration(db, registration.id, registration.wallet), registration);
  assert.equal(await findRegistration(db, registration.id, randomAddress()), null);
  assert.equal(await findRegistration(db, randomUUID(), registration.wallet), null);
});

test('two simultaneous confirmations create one project, in either order', async () => {
  for (const claimsFirst of [true, false]) {
    const registration = await storeRegistration();
    const { flywheel } = newProject();
    const confirm = () =>
      db.transaction().execute(async (trx) => {
        const project = newProject({ flywheel: { id: randomUUID(), multisig: flywheel.multisig } });
        if (!claimsFirst) await insertProject(trx, project, NOW);
        assert.ok(await completeRegistration(trx, registration.id, project.id), 'claimed already');
        if (claimsFirst) await insertProject(trx, project, NOW);
      });
    const [one, two] = await Promise.allSettled([confirm(), confirm()]);
    assert.deepEqual([one.status, two.status].toSorted(), ['fulfilled', 'rejected']);
    assert.equal(await findRegistration(db, registration.id, registration.wallet), null);
  }
});

test('a claim without its project is rejected at the end of the transaction', async () => {
  const registration = await storeRegistration();
  const claiming = db.transaction().execute((trx) => completeRegistration(trx, registration.id, randomUUID()));
  await assert.rejects(claiming, /foreign key/);
  assert.deepEqual(await findRegistration(db, registration.id, registration.wallet), registration);
});

test('a registration that was not paid is deleted after an hour, and no other', async () => {
  const [unpaid, paid] = [await storeRegistration(), await storeRegistration()];
  const project = newProject();
  await db.transaction().execute(async (trx) => {
    assert.ok(await completeRegistration(trx, paid.id, project.id));
    await insertProject(trx, project, NOW);
  });
  await deleteExpired(db, later(3_599_999));
  assert.deepEqual(await findRegistration(db, unpaid.id, unpaid.wallet), unpaid);
  await deleteExpired(db, later(3_600_000));
  assert.equal(await findRegistration(db, unpaid.id, unpaid.wallet), null);
  const kept = db.selectFrom('registrations').select('id').where('project_id', '=', project.id);
  assert.deepEqual(await kept.execute(), [{ id: paid.id }]);
});

test('pending registrations of one network are bounded, whichever wallets begin them', async () => {
  const network = '2001:db8:0:1::/64';
  const bounds = { max: { wallet: 2, address: 3 }, unpaidSince: new Date(NOW.getTime() - 1), untilAdmitted: true };
  const reached = { of: 'address', pending: 3, max: 3, untilAdmitted: true };
  const attempts = await Promise.all(
    Array.from({ length: 5 }, () => insertRegistration(db, newRegistration(network), [bounds])),
  );
  assert.deepEqual(
    attempts.filter((attempt) => attempt !== null),
    [reached, reached],
  );
  assert.equal(await insertRegistration(db, newRegistration('192.0.2.1'), [bounds]), null);
  const nextBounds = { ...bounds, unpaidSince: NOW };
  assert.equal(await insertRegistration(db, newRegistration(network), [nextBounds]), null);
});

async function storeRegistration() {
  const { network, ...registration } = newRegistration('192.0.2.7');
  assert.equal(await insertRegistration(db, { ...registration, network }, []), null);
  return registration;
}

function newRegistration(network: string) {
  const { wallet, token, flywheel } = newProject();
  return {
    id: randomUUID(),
    wallet,
    network,
    request: {
      mint: token.mint,
      burnLimit: '1',
      airdropLimit: '0.5',
      scopes: ['burn' as const],
      proofTypes: [{ type: 'WATCH_AD', description: 'zero \u0000' }],
      approvalMode: 'automatic' as const,
    },
    token,
    multisig: flywheel.multisig,
    createKey: randomAddress(),
    message: new Uint8Array(randomBytes(300)),
    lastValidBlockHeight: 2n ** 62n,
    createdAt: NOW,
  };
}
