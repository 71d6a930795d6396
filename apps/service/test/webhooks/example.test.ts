import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openTestDatabase } from '@flywheel/testing/postgres';
import { storeProject } from '@flywheel/testing/records';
import {
  queueEvent,
  SECRETS,
  startTestDelivering,
  storeEndpoint,
  untilNewest,
} from '@flywheel/testing/webhook-deliveries';
import { repeatDelivery } from '../../src/store/webhooks/deliveries.ts';
import { findEndpoint, updateEndpoint } from '../../src/store/webhooks/endpoints.ts';

const EXAMPLE = fileURLToPath(new URL('../../../../examples/webhook-receiver.ts', import.meta.url));
const isOver = ({ state }: { readonly state: string }) => state !== 'waiting';

it('the example receiver handles each event once, and rejects events without a valid signature', async () => {
  const database = await openTestDatabase();
  const { db } = database;
  const project = await storeProject(db);
  const endpointId = await storeEndpoint(db, project, 'http://127.0.0.1/');
  const endpoint = await findEndpoint(db, project.id, endpointId);
  assert.ok(endpoint);
  const env = { ...process.env, WEBHOOK_SECRET: SECRETS.show(endpointId, 1) };
  const example = spawn(process.execPath, [EXAMPLE, '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const lines = createInterface(example.stdout)[Symbol.asyncIterator]();
    const nextLine = async () => JSON.parse((await lines.next()).value ?? 'null');
    const { url } = await nextLine();
    await updateEndpoint(db, { ...endpoint, url: `${url}/hook` });
    startTestDelivering(database);

    const { type, timestamp, data } = await queueEvent(db, project);
    assert.deepEqual(await nextLine(), { type, timestamp, ...data });
    const first = await untilNewest(db, endpointId, isOver);
    assert.deepEqual([first.state, first.lastStatus], ['delivered', 204]);
    await repeatDelivery(db, endpointId, first.id, new Date());
    assert.equal((await untilNewest(db, endpointId, ({ attempts }) => attempts === 2)).type, type);
    const second = await queueEvent(db, project);
    assert.equal((await nextLine()).batchId, 'batchId' in second.data && second.data.batchId);

    const rotated = { ...endpoint, url: `${url}/hook`, secretVersion: 2 };
    await updateEndpoint(db, rotated);
    await queueEvent(db, project);
    const refused = await untilNewest(db, endpointId, isOver);
    assert.deepEqual([refused.state, refused.lastStatus], ['failed', 401]);
    assert.match(refused.lastResponse ?? '', /No matching signature/);
  } finally {
    example.kill();
  }
});
