import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { later, NOW, randomAddress } from '@flywheel/testing/records';
import {
  deleteSession,
  findSession,
  insertChallenge,
  insertSession,
  takeChallenge,
} from '../../src/store/projects/sessions.ts';
import { deleteExpired } from '../../src/store/service-state.ts';

const { db } = await openTestDatabase();

test('a challenge is given to one of ten simultaneous requests', async () => {
  const challenge = newChallenge(later(1_000));
  await insertChallenge(db, challenge);
  const taken = await Promise.all(Array.from({ length: 10 }, () => takeChallenge(db, challenge.nonce)));
  assert.deepEqual(
    taken.filter((one) => one !== null),
    [challenge],
  );
});

test('a session is found by its hash until it is deleted', async () => {
  const session = newSession(later(1_000));
  await insertSession(db, session);
  assert.deepEqual(await findSession(db, session.hash), session);
  assert.equal(await findSession(db, newSession(NOW).hash), null);
  await deleteSession(db, session.hash);
  assert.equal(await findSession(db, session.hash), null);
});

test('expired sessions and challenges are deleted, and no others', async () => {
  const [over, open] = [newSession(NOW), newSession(later(1))];
  const [lapsed, valid] = [newChallenge(NOW), newChallenge(later(1))];
  for (const session of [over, open]) await insertSession(db, session);
  for (const challenge of [lapsed, valid]) await insertChallenge(db, challenge);
  await deleteExpired(db, NOW);
  assert.equal(await findSession(db, over.hash), null);
  assert.deepEqual(await findSession(db, open.hash), open);
  assert.equal(await takeChallenge(db, lapsed.nonce), null);
  assert.deepEqual(await takeChallenge(db, valid.nonce), valid);
});

function newChallenge(expiresAt: Date) {
  return { nonce: randomBytes(16).toString('hex'), wallet: randomAddress(), message: 'line\nline', expiresAt };
}

function newSession(expiresAt: Date) {
  return { hash: new Uint8Array(randomBytes(32)), wallet: randomAddress(), expiresAt };
}
