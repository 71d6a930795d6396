import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { storeProject } from '@flywheel/testing/records';
import { queueEvent, storeEndpoint } from '@flywheel/testing/webhook-deliveries';
import { claimDueDeliveries, readDeliveryLag } from '../../src/store/webhooks/due-deliveries.ts';
import { reportUnsent } from '../../src/webhooks/start-webhooks.ts';

const MINUTE_MS = 60_000;
const { db } = await openTestDatabase();
const inMinutes = (minutes: number) => new Date(Date.now() + minutes * MINUTE_MS);
const readMinutes = async (minutes: number) => Math.round((await readDeliveryLag(db, inMinutes(minutes))) / 60);

describe('webhooks that no worker sends', () => {
  it('show for how long one has been due, counted from the last attempt at its endpoint', async () => {
    const project = await storeProject(db);
    const endpointId = await storeEndpoint(db, project, 'http://one.example');
    assert.equal(await readMinutes(10), 0);
    for (let queued = 0; queued < 3; queued += 1) await queueEvent(db, project);
    assert.equal(await readMinutes(10), 10);
    // Its receiver hangs: two are attempted at once, and the third waits.
    const taken = await claimDueDeliveries(db, { now: inMinutes(9), leasedUntil: inMinutes(10), limit: 10 });
    assert.equal(taken.length, 2);
    assert.equal(await readMinutes(10), 1);
    await db.updateTable('webhook_endpoints').set({ state: 'disabled' }).where('id', '=', endpointId).execute();
    assert.equal(await readMinutes(10), 0);
  });

  it('are a warning of a worker that starts without a key, if projects have some', async () => {
    const logged: string[] = [];
    const log = {
      info: (_fields: object, message: string) => void logged.push(`info: ${message}`),
      warn: (_fields: object, message: string) => void logged.push(`warn: ${message}`),
    };
    await db.deleteFrom('webhook_endpoints').execute();
    await reportUnsent({ db, log });
    await storeEndpoint(db, await storeProject(db), 'http://one.example');
    await reportUnsent({ db, log });
    assert.deepEqual(
      logged.map((line) => line.slice(0, 27)),
      ['info: webhooks are not sent', 'warn: webhooks are not sent'],
    );
  });
});
