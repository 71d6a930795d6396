import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { NOW, newProject, randomAddress } from '@flywheel/testing/records';
import { insertProject } from '../../src/store/projects/projects.ts';
import { completeRegistration, findRegistration, insertRegistration } from '../../src/store/projects/registrations.ts';

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

async function storeRegistration() {
  const { wallet, token, flywheel } = newProject();
  const registration = {
    id: randomUUID(),
    wallet,
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
  await insertRegistration(db, registration);
  return registration;
}
