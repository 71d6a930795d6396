import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntil } from '@flywheel/testing/batches';
import { countLockWaits, openTestDatabase } from '@flywheel/testing/postgres';
import { NOW, randomAddress } from '@flywheel/testing/records';
import type { Address } from '@solana/kit';
import { findNonWallets, recordNonWallets } from '../../src/store/non-wallets.ts';

const { db } = await openTestDatabase();

test('checks that find the same new programs at once record them, in whichever order their requests name them', async () => {
  const programs = Array.from({ length: 3 }, randomAddress);
  const [, shared] = programs;
  assert.ok(shared);
  const record = (seen: readonly Address[]) =>
    recordNonWallets(
      db,
      seen.map((address) => ({ address, kind: 'program' })),
      NOW,
    );
  // Holds the one in the middle until both have begun.
  const first = await db.startTransaction().execute();
  await recordNonWallets(first, [{ address: shared, kind: 'program' }], NOW);
  const recording = Promise.all([record(programs), record(programs.toReversed())]);
  await waitUntil(
    'both locks',
    () => countLockWaits(db),
    (count) => count === 2,
  );
  await first.rollback().execute();
  await recording;
  assert.deepEqual(new Set((await findNonWallets(db, programs)).keys()), new Set(programs));
});
