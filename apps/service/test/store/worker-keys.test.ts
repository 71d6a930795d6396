import assert from 'node:assert/strict';
import { test } from 'node:test';
import { realClock } from '@flywheel/testing/clock';
import { startTestJobs } from '@flywheel/testing/jobs';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { NOW, randomAddress, storeProject } from '@flywheel/testing/records';
import { moveProject } from '../../src/projects/move-project.ts';
import { insertKeySuccession } from '../../src/store/company/key-successions.ts';
import { findHalt } from '../../src/store/company/pauses.ts';
import { findMissingKey, recordWorkerKeys } from '../../src/store/shards/worker-keys.ts';

const [source, destination] = [await openTestDatabase(), await openTestDatabase()];
const [from, to] = [source.db, destination.db];
const jobs = await startTestJobs(source);
test.after(() => jobs.stop());

test('a project moves only to workers that have the keys of its operator and of its company approver now', async () => {
  const project = await storeProject(from);
  const { operator, company } = project.flywheel.multisig;
  const move = () => moveProject({ from, to, clock: realClock }, project.id, async () => undefined);
  // They had this operator once.
  const succession = {
    genesisHash: 'g',
    role: 'operator',
    from: operator,
    to: randomAddress(),
    signature: 's',
  } as const;
  await insertKeySuccession(to, succession, NOW);
  await assert.rejects(move(), new RegExp(`operator, ${operator}\\. .*as OPERATOR_SIGNER or OPERATOR_SIGNER_PREVIOUS`));
  await recordWorkerKeys(to, [
    { role: 'operator', address: operator },
    { role: 'company', address: randomAddress() },
  ]);
  await assert.rejects(
    move(),
    new RegExp(`company approver, ${company}\\. .*as COMPANY_SIGNER or COMPANY_SIGNER_PREVIOUS`),
  );
  assert.equal(await findHalt(from, project.id), null);
  await recordWorkerKeys(to, [
    { role: 'operator', address: randomAddress() },
    { role: 'operator', address: operator },
    { role: 'company', address: company },
  ]);
  await move();
});

test('the keys of a worker that starts replace those of the one before, also if several start at once', async () => {
  const [before, after] = [randomAddress(), randomAddress()].map((address) => ({ role: 'operator', address }) as const);
  assert.ok(before && after);
  await recordWorkerKeys(to, [before]);
  await Promise.all([1, 2, 3].map(() => recordWorkerKeys(to, [after])));
  assert.deepEqual(await findMissingKey(to, [after, before]), before);
});
