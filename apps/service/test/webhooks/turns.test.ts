import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { storeProject } from '@flywheel/testing/records';
import { queueEvent, startTestDelivering, storeEndpoint } from '@flywheel/testing/webhook-deliveries';
import { openReceiver } from '@flywheel/testing/webhook-receiver';
import type { Db } from '../../src/store/db.ts';
import { refuseWork, resumeWork } from '../../src/store/shards/departure.ts';
import { claimDueDeliveries } from '../../src/store/webhooks/due-deliveries.ts';

const MINUTE_MS = 60_000;
/** Their attempts, two of each, are more than a worker begins at a time. */
const HANGING = 40;

/** Stores a project with an endpoint for which events wait. @returns the endpoint's id. */
async function storeBusy(db: Db, url: string, events: number): Promise<string> {
  const project = await storeProject(db);
  const endpointId = await storeEndpoint(db, project, url);
  for (let i = 0; i < events; i += 1) await queueEvent(db, project);
  return endpointId;
}

describe('the endpoints of all projects', () => {
  it('take turns, and one for which there was no place is the next', async () => {
    const { db } = await openTestDatabase();
    const now = Date.now();
    const endpoints: string[] = [];
    for (let place = 0; place < 3; place += 1) {
      const id = await storeBusy(db, 'http://one.example', 2);
      const last_attempt_at = new Date(now + place - MINUTE_MS);
      await db.updateTable('webhook_endpoints').set({ last_attempt_at }).where('id', '=', id).execute();
      endpoints.push(id);
    }
    const turns: string[][] = [];
    for (let turn = 1; turn <= endpoints.length; turn += 1) {
      const at = new Date(now + turn * MINUTE_MS);
      const leasedUntil = new Date(now + 60 * MINUTE_MS);
      const claimed = await claimDueDeliveries(db, { now: at, leasedUntil, limit: 2 });
      turns.push(claimed.map(({ endpointId }) => endpointId));
    }
    assert.deepEqual(
      turns,
      endpoints.map((id) => [id, id]),
    );
  });

  it('are served while the receivers of many hang', async () => {
    const database = await openTestDatabase();
    await using hanging = await openReceiver(() => undefined);
    await using quick = await openReceiver();
    for (let i = 0; i < HANGING; i += 1) await storeBusy(database.db, hanging.url, 2);
    const worker = startTestDelivering(database, { timeoutMs: 5 * MINUTE_MS });
    await hanging.until(HANGING);
    await storeBusy(database.db, quick.url, 20);
    await quick.until(20);
    await hanging.until(2 * HANGING);
    assert.equal(hanging.open(), 2 * HANGING);
    await hanging.close();
    await worker.stop();
  });

  it('begin no attempt while their project refuses work before a move: it leaves when none is under way', async () => {
    const { db } = await openTestDatabase();
    const [leaving, other] = [await storeProject(db), await storeProject(db)];
    for (const project of [leaving, other]) {
      await storeEndpoint(db, project, 'http://one.example');
      await queueEvent(db, project);
    }
    const claim = async () => {
      const now = new Date();
      const claimed = await claimDueDeliveries(db, {
        now,
        leasedUntil: new Date(now.getTime() + MINUTE_MS),
        limit: 10,
      });
      return claimed.map(({ payload }) => JSON.parse(payload).data.projectId);
    };
    await refuseWork(db, leaving.id, 30);
    assert.deepEqual(await claim(), [other.id]);
    await resumeWork(db, leaving.id);
    assert.deepEqual(await claim(), [leaving.id]);
  });
});
