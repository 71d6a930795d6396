import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { MAX_BASE_UNITS, NO_POLICY } from '@flywheel/protocol';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { later, NOW, newProject, randomAddress, storeProject } from '@flywheel/testing/records';
import type { Project } from '../../src/model/project.ts';
import {
  type Change,
  findLastExpiry,
  insertChange,
  insertReview,
  type Review,
} from '../../src/store/company/changes.ts';
import { lockRecordedPause, recordPauses, setProjectPause } from '../../src/store/company/pauses.ts';
import { findVersionsSince, insertPolicy } from '../../src/store/company/policies.ts';
import { useKey } from '../../src/store/company/policy-uses.ts';
import { findTerms, lockTerms, recordFirstTerms, termsOf, updateTerms } from '../../src/store/company/terms.ts';
import { type BatchOnChain, countBatch, recordSetupDay, uncountBatch } from '../../src/store/company/totals.ts';
import {
  countTokenAccounts,
  deleteUses,
  readSignedUse,
  recordTokenAccounts,
  recordUses,
} from '../../src/store/company/uses.ts';

const { db } = await openTestDatabase();

const LIMITS = { burnBaseUnits: 100n, airdropBaseUnits: 50n };
const MOST = { burnBaseUnits: MAX_BASE_UNITS, airdropBaseUnits: MAX_BASE_UNITS };
const [MONDAY, TUESDAY] = ['2026-11-23', '2026-11-24'];

describe('lockTerms', () => {
  const changed = (project: Project): Project => ({
    ...project,
    approvalMode: 'automatic',
    dailyLimits: { burnBaseUnits: 1_000n, airdropBaseUnits: 1_000n },
  });

  it('records the terms of a project once, whatever its row says later', async () => {
    const project = newProject({ approvalMode: 'manual', dailyLimits: LIMITS });
    const { multisig } = project.flywheel;
    assert.equal(await findTerms(db, multisig.address, { isKept: true }), null);
    const first = { mint: project.token.mint, approvalMode: 'manual', ...LIMITS };
    for (const each of [project, changed(project)]) {
      assert.deepEqual(await lockTerms(db, each, { isKept: true }), first);
    }
    const signed = { approvalMode: 'automatic', burnBaseUnits: 7n, airdropBaseUnits: 0n } as const;
    await updateTerms(db, multisig.address, signed);
    assert.deepEqual(await lockTerms(db, project, { isKept: true }), { mint: project.token.mint, ...signed });
  });

  it('follows the project while nobody can sign other terms, but never replaces terms that an operator signed', async () => {
    const project = newProject({ approvalMode: 'manual', dailyLimits: LIMITS });
    const { address: multisig } = project.flywheel.multisig;
    await lockTerms(db, project, { isKept: false });
    await lockTerms(db, changed(project), { isKept: false });
    assert.deepEqual(await findTerms(db, multisig, { isKept: true }), termsOf(changed(project)));
    assert.equal(await findTerms(db, multisig, { isKept: false }), null);
    const signed = { approvalMode: 'manual', burnBaseUnits: 7n, airdropBaseUnits: 0n } as const;
    await updateTerms(db, multisig, signed);
    const locked = await lockTerms(db, changed(project), { isKept: false });
    assert.deepEqual(locked, { mint: project.token.mint, ...signed });
    assert.deepEqual(await findTerms(db, multisig, { isKept: false }), signed);
  });
});

describe('recordFirstTerms', () => {
  it('records the terms of each project once, as it was registered', async () => {
    const project = await storeProject(db, { dailyLimits: LIMITS });
    const { address: multisig } = project.flywheel.multisig;
    await recordFirstTerms(db);
    await db.updateTable('projects').set({ burn_limit: 1_000n }).where('id', '=', project.id).execute();
    await recordFirstTerms(db);
    assert.deepEqual(await findTerms(db, multisig, { isKept: true }), termsOf(project));
  });
});

describe('countBatch', () => {
  it('counts a batch while its day fits both limits, and a kind that it does not have never exceeds one', async () => {
    const { address: multisig } = newProject().flywheel.multisig;
    const count = async (batchIndex: bigint, burnBaseUnits: bigint, airdropBaseUnits = 0n, day = MONDAY) => {
      await recordSetupDay(db, { multisig, batchIndex }, day);
      return countBatch(db, { multisig, batchIndex }, { burnBaseUnits, airdropBaseUnits }, LIMITS);
    };
    assert.equal(await count(1n, 60n, 50n), true);
    assert.equal(await count(1n, 60n, 50n), true, 'again');
    assert.equal(await count(2n, 41n), false);
    assert.equal(await count(2n, 40n, 1n), false);
    assert.equal(await count(3n, 100n, 50n, TUESDAY), true);
    assert.equal(await count(2n, 40n), true);
    await countBatch(db, { multisig, batchIndex: 2n }, { burnBaseUnits: 500n, airdropBaseUnits: 0n }, null);
    assert.equal(await count(4n, 1n), false);
    assert.equal(await count(4n, 0n, 0n), true);
    await uncountBatch(db, { multisig, batchIndex: 2n });
    assert.equal(await count(4n, 41n), false, 'the others still count');
    assert.equal(await count(4n, 40n), true);
    assert.equal(await count(1n, 60n, 50n, TUESDAY), true, 'its day stays the one of its first setup');
  });

  it('counts amounts up to the largest of a token account', async () => {
    const { address: multisig } = newProject().flywheel.multisig;
    const count = async (batchIndex: bigint, limits: typeof LIMITS | null) => {
      await recordSetupDay(db, { multisig, batchIndex }, MONDAY);
      return countBatch(db, { multisig, batchIndex }, MOST, limits);
    };
    assert.equal(await count(1n, MOST), true);
    assert.equal(await count(2n, MOST), false);
    assert.equal(await count(2n, null), true);
  });
});

describe('readSignedUse', () => {
  it('sums up the other batches of the day and of the multisig alone', async () => {
    const [multisig, another] = [randomAddress(), randomAddress()];
    const paid = (amount: bigint) => [{ kind: 'recipient', subject: 'alice', amount }] as const;
    const sign = async (batch: BatchOnChain, day: string, amount: bigint) => {
      await recordSetupDay(db, batch, day);
      await countBatch(db, batch, { burnBaseUnits: 1n, airdropBaseUnits: amount }, null);
      await recordUses(db, batch, day, paid(amount));
    };
    await sign({ multisig, batchIndex: 1n }, MONDAY, 5n);
    await sign({ multisig, batchIndex: 2n }, MONDAY, 7n);
    await sign({ multisig, batchIndex: 3n }, TUESDAY, 100n);
    await sign({ multisig: another, batchIndex: 4n }, MONDAY, 1_000n);
    const read = async (batchIndex: bigint) => {
      const { movedBaseUnits, uses } = await readSignedUse(db, { multisig, batchIndex }, MONDAY, paid(1n));
      return [movedBaseUnits, uses.get(useKey(paid(1n)[0]))];
    };
    assert.deepEqual(
      [await read(1n), await read(9n)],
      [
        [8n, 7n],
        [14n, 12n],
      ],
    );
    await recordUses(db, { multisig, batchIndex: 1n }, MONDAY, paid(50n));
    assert.deepEqual(await read(9n), [14n, 12n], 'what is counted stays');
    await deleteUses(db, { multisig, batchIndex: 1n });
    assert.deepEqual(await read(9n), [14n, 7n]);
  });
});

describe('countTokenAccounts', () => {
  it('counts those of the other batches for which the company has signed on the day', async () => {
    const [multisig, another] = [randomAddress(), randomAddress()];
    await recordTokenAccounts(db, { multisig, batchIndex: 1n }, MONDAY, 2);
    await recordTokenAccounts(db, { multisig, batchIndex: 2n }, MONDAY, 3);
    await recordTokenAccounts(db, { multisig: another, batchIndex: 1n }, MONDAY, 100);
    const ads = { kind: 'type', subject: 'WATCH_AD', amount: 1_000n } as const;
    await recordUses(db, { multisig, batchIndex: 1n }, MONDAY, [ads]);
    const count = (batchIndex: bigint, day: string) => countTokenAccounts(db, { multisig, batchIndex }, day);
    assert.deepEqual([await count(2n, MONDAY), await count(9n, MONDAY), await count(9n, TUESDAY)], [2, 5, 0]);
    // Its next attempt is on the next day, and one of the accounts exists by then.
    await recordTokenAccounts(db, { multisig, batchIndex: 1n }, TUESDAY, 1);
    assert.deepEqual([await count(9n, MONDAY), await count(9n, TUESDAY)], [3, 1]);
    const { uses } = await readSignedUse(db, { multisig, batchIndex: 9n }, MONDAY, [ads]);
    assert.equal(uses.get(useKey(ads)), 1_000n);
  });
});

describe('findVersionsSince', () => {
  it('lists every version that was in force since then, and the present one in any case', async () => {
    const multisig = randomAddress();
    const apply = (version: number, appliedAt: Date, of = multisig) =>
      insertPolicy(db, of, { version, mint: randomAddress(), policy: NO_POLICY, operator: randomAddress(), appliedAt });
    for (const version of [1, 2, 3]) await apply(version, later(version * 1_000));
    await apply(9, later(500), randomAddress());
    const find = async (ms: number) => (await findVersionsSince(db, multisig, later(ms))).map(({ version }) => version);
    assert.deepEqual(await find(0), [3, 2, 1]);
    assert.deepEqual(await find(1_999), [3, 2, 1]);
    assert.deepEqual(await find(2_000), [3, 2]);
    assert.deepEqual([await find(3_000), await find(9_000)], [[3], [3]]);
  });
});

describe('findLastExpiry', () => {
  it('is that of a change of terms or of an admission which a worker has applied, of the project alone', async () => {
    const [project, another] = [await storeProject(db), await storeProject(db)];
    const store = async (change: Change, expiresAt: Date, review: Review | null) => {
      const signed = { operator: randomAddress(), signedMessage: randomBytes(8), signature: randomBytes(64) };
      const id = await insertChange(db, { ...signed, change, nonce: randomUUID(), expiresAt }, NOW);
      if (review !== null) await insertReview(db, id ?? assert.fail(), review, NOW);
    };
    const applied = () => ({ nonce: randomUUID() });
    const terms = { approvalMode: 'manual', ...LIMITS } as const;
    const { id: projectId } = project;
    assert.equal(await findLastExpiry(db, projectId), null);
    await store({ type: 'terms', projectId, from: terms, to: terms }, later(2), applied());
    await store({ type: 'admission', projectId, terms: null }, later(1), applied());
    // None of these may keep a later decision of an operator from being applied.
    await store({ type: 'terms', projectId, from: terms, to: terms }, later(90), { issue: 'No operator signed it.' });
    await store({ type: 'terms', projectId, from: terms, to: terms }, later(90), null);
    await store({ type: 'resume', projectId, pausedAt: NOW }, later(90), applied());
    await store({ type: 'policy', projectId, version: 1, policy: NO_POLICY }, later(90), applied());
    await store({ type: 'admission', projectId: another.id, terms: null }, later(90), applied());
    assert.deepEqual(await findLastExpiry(db, projectId), later(2));
    await store({ type: 'admission', projectId, terms }, later(3), applied());
    assert.deepEqual(await findLastExpiry(db, projectId), later(3));
  });
});

describe('recordPauses', () => {
  it('replaces the start of a pause by a later one, and by no earlier one that an old decision could end', async () => {
    const project = await storeProject(db);
    const { address: multisig } = project.flywheel.multisig;
    const pause = async (since: Date) => {
      await setProjectPause(db, project.id, null);
      await setProjectPause(db, project.id, { since, reason: null });
      await recordPauses(db);
      return lockRecordedPause(db, multisig);
    };
    assert.deepEqual([await pause(later(5)), await pause(later(1))], [later(5), later(5)]);
    assert.deepEqual(await pause(later(9)), later(9));
    await setProjectPause(db, project.id, { since: later(11), reason: 'Another incident.' });
    await recordPauses(db);
    assert.deepEqual(await lockRecordedPause(db, multisig), later(11), 'no decision about the pause before ends it');
    await setProjectPause(db, project.id, null);
    await recordPauses(db);
    assert.deepEqual(await lockRecordedPause(db, multisig), later(11), 'no row ends it');
  });
});
