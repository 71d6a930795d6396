import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { ProofType } from '@flywheel/api';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { NOW, newProject, randomAddress, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { deleteAdmission, insertAdmission, isAdmitted } from '../../src/store/company/changes.ts';
import { findBeginningFacts } from '../../src/store/company/pauses.ts';
import { findProject, findProjectOfWallet, insertProject, requireProject } from '../../src/store/projects/projects.ts';
import { findProofTypes } from '../../src/store/projects/proof-types.ts';

const { db } = await openTestDatabase();

test('a project is read as it was stored', async () => {
  const types: ProofType[] = [
    { type: 'PRODUCT_PURCHASE' },
    { type: 'WATCH_AD', description: 'An ad, watched.', payloadSchema: { type: 'object', required: ['adId'] } },
  ];
  const { proofTypes, ...project } = newProject({
    scopes: new Set(['airdrop']),
    proofTypes: new Map(types.map((proofType) => [proofType.type, proofType])),
    dailyLimits: { burnBaseUnits: 0n, airdropBaseUnits: 2n ** 64n - 1n },
  });
  await insertProject(db, { ...project, proofTypes }, NOW);
  assert.deepEqual(await findProject(db, project.id), project);
  assert.deepEqual(await findProofTypes(db, project.id), proofTypes);
});

test('a project is admitted from its admission until that is withdrawn', async () => {
  const project = await storeProject(db);
  const { address } = project.flywheel.multisig;
  assert.deepEqual([project.isAdmitted, await isAdmitted(db, address)], [false, false]);
  await insertAdmission(db, address, NOW);
  await insertAdmission(db, address, NOW);
  assert.equal(await isAdmitted(db, address), true);
  assert.deepEqual(await findProject(db, project.id), { ...project, isAdmitted: true });
  await deleteAdmission(db, address);
  assert.deepEqual(await findProject(db, project.id), project);
});

test('a proof type may hold any text of JSON', async () => {
  const payloadSchema = { const: 'zero \u0000, half a pair \ud800' };
  const proofTypes = new Map([['ODD', { type: 'ODD', payloadSchema }]]);
  const { id, flywheel } = await storeProject(db, { proofTypes });
  assert.deepEqual(await findProofTypes(db, id), proofTypes);
  const question = { projectId: id, kind: 'pipelines', idempotencyKey: randomUUID() } as const;
  const beginning = await findBeginningFacts(db, { ...question, multisig: flywheel.multisig.address });
  assert.deepEqual(beginning.proofTypes, proofTypes);
});

test('a project is stored completely or not at all', async () => {
  const project = await storeProject(db);
  const second = newProject({ flywheel: { ...newProject().flywheel, multisig: project.flywheel.multisig } });
  await assert.rejects(insertProject(db, second, NOW), /flywheels_multisig_key/);
  assert.equal(await findProject(db, second.id), null);
});

test('a deleted part of a project is named', async () => {
  const [token, flywheel] = [await storeProject(db), await storeProject(db)];
  await db.updateTable('tokens').set({ archived_at: NOW }).where('project_id', '=', token.id).execute();
  await db.updateTable('flywheels').set({ archived_at: NOW }).where('project_id', '=', flywheel.id).execute();
  assert.equal(await findProject(db, token.id), 'token-gone');
  assert.equal(await findProject(db, flywheel.id), 'flywheel-gone');
  assert.equal(await findProject(db, randomUUID()), null);
  assert.equal(await findProjectOfWallet(db, token.wallet, token.id), null);
});

test('a wallet finds only its own projects', async () => {
  const project = await storeProject(db);
  assert.deepEqual(await findProjectOfWallet(db, project.wallet, project.id), project);
  assert.equal(await findProjectOfWallet(db, randomAddress(), project.id), null);
});

test('a batch can be ended after its project’s token is deleted', async () => {
  await storeNonces(db, 1);
  const project = await storeProject(db);
  const batch = await storeBatch(db, project);
  await db.updateTable('tokens').set({ archived_at: NOW }).where('project_id', '=', project.id).execute();
  assert.deepEqual(await requireProject(db, batch.projectId), project);
});
