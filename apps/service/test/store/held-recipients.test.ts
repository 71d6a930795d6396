import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiError, isApiError } from '@flywheel/api';
import { airdropPipeline } from '@flywheel/testing/client';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { NOW, randomAddress, storeBatch, storeNonces, storeProject } from '@flywheel/testing/records';
import { holdRecipients, requireRecipients } from '../../src/batches/recipients.ts';

const { db } = await openTestDatabase();
const clock = { now: () => NOW, sleep: async () => undefined };

test('an error about held recipients names five, counts the rest, and has a thousand in its data', async () => {
  await storeNonces(db, 1);
  const project = await storeProject(db);
  const { id } = await storeBatch(db, project);
  const recipient = randomAddress();
  await holdRecipients({ db, clock }, { id, projectId: project.id }, [{ recipient, message: 'it is frozen.' }]);
  const held = Array.from({ length: 1_200 }, () => airdropPipeline(recipient));
  const { context } = await refusalOf(
    requireRecipients({ db, clock }, project, [...held, airdropPipeline(randomAddress())]),
  );
  const { problems, details } = context;
  const sentence = (index: number) =>
    `pipelines[${index}].actions[0].toAddress: ${recipient} stopped batch ${id} on ${NOW.toISOString()}: it is frozen.`;
  assert.deepEqual(problems, [...[0, 1, 2, 3, 4].map(sentence), 'And 1195 more.']);
  assert.equal(details?.length, 1_000);
});

async function refusalOf(promise: Promise<void>): Promise<ApiError<'ERR_RECIPIENT_HELD_BACK'>> {
  try {
    await promise;
  } catch (error) {
    assert.ok(isApiError(error, 'ERR_RECIPIENT_HELD_BACK'), String(error));
    return error;
  }
  throw new Error('The pipelines were not refused.');
}
