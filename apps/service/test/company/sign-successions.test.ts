import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSuccessionIssue, writeSuccessionText } from '@flywheel/protocol';
import { openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { NOW } from '@flywheel/testing/records';
import { type Blockhash, generateKeyPairSigner } from '@solana/kit';
import { signSuccessions } from '../../src/company/sign-successions.ts';
import { findKeySuccessions } from '../../src/store/company/key-successions.ts';

const CLUSTER = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d' as Blockhash;

test('a worker has its previous keys name their successors, once, also if the cluster answers late', async (context) => {
  const { db } = await openTestDatabase();
  const [company, next, last, operator] = await Promise.all([1, 2, 3, 4].map(() => generateKeyPairSigner()));
  assert.ok(company && next && last && operator);
  const stopping = new AbortController();
  // Without a pause between them, tries on a database that is closed would never end.
  context.after(() => stopping.abort());
  let answers = 0;
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const chain = {
    genesisHash: async () => {
      answers += 1;
      if (answers === 1) throw new Error('The cluster does not answer.');
      resolve();
      return CLUSTER;
    },
  };
  let now = NOW.getTime();
  const clock = { now: () => new Date(now++), sleep: async () => undefined };
  const deps = { db, chain, clock, log: quietLog };
  const none = { role: 'operator', previous: null, present: operator.address } as const;
  const first = { role: 'company', previous: company, present: next.address } as const;

  await signSuccessions(deps, [none, first], stopping.signal);
  await asked;
  // Every worker signs when it starts; a later rotation adds another one.
  await signSuccessions(deps, [none, first], stopping.signal);
  await signSuccessions(deps, [none, { ...first, previous: next, present: last.address }], stopping.signal);
  // A setting that was left in place after the rotation.
  await signSuccessions(deps, [{ ...first, previous: next }], stopping.signal);

  const stored = await findKeySuccessions(db, CLUSTER);
  assert.deepEqual(
    stored.map(({ role, from, to }) => [role, from, to]),
    [
      ['company', company.address, next.address],
      ['company', next.address, last.address],
    ],
  );
  for (const { signature, ...succession } of stored) {
    assert.equal(await findSuccessionIssue(succession, signature), null, writeSuccessionText(succession));
  }
  assert.deepEqual(await findKeySuccessions(db, company.address), []);
});
