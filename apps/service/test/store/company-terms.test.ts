import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MAX_BASE_UNITS } from '@flywheel/protocol';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { newProject, storeProject } from '@flywheel/testing/records';
import type { Project } from '../../src/model/project.ts';
import { findTerms, lockTerms, recordFirstTerms, termsOf, updateTerms } from '../../src/store/company/terms.ts';
import { countBatch, recordSetupDay, uncountBatch } from '../../src/store/company/totals.ts';

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
