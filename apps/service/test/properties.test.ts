import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ErrorBody, OPERATIONS, type Operation } from '@flywheel/api';
import { errorsByStatus } from '@flywheel/api/openapi';
import { burnPipeline, send } from '@flywheel/testing/client';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import fc from 'fast-check';

let world: World;
let project: TestProject;
before(async () => {
  world = await openWorld();
  project = await createProject(world);
});
after(() => world.stop());

const RUNS = 300;

/** JSON of any shape and, more often, a request of the right shape with invalid or unusual parts. */
const action = fc.oneof(
  fc.record({
    action: fc.constantFrom('BURN', 'LOCK', 'BUYBACK', 'burn'),
    amount: fc.oneof(fc.double(), fc.jsonValue()),
  }),
  fc.record({ action: fc.constant('AIRDROP'), toAddress: fc.string(), amount: fc.integer() }),
  fc.record({ action: fc.constant('MEMO'), message: fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue()) }),
  fc.jsonValue(),
);
const pipeline = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom('A', 'A_B-1', '', 'ä'),
      payload: fc.oneof(fc.json(), fc.string()),
      actions: fc.array(action),
    },
    { requiredKeys: [] },
  ),
  fc.constant(burnPipeline()),
  fc.jsonValue(),
);
const body = fc.oneof(
  fc.record({ pipelines: fc.oneof(fc.array(pipeline, { maxLength: 4 }), fc.jsonValue()) }),
  fc.record({ batchId: fc.oneof(fc.uuid(), fc.string()), signedTx: fc.oneof(fc.base64String(), fc.string()) }),
  fc.jsonValue(),
);
const headerText = fc.string({ unit: fc.constantFrom(...'abc019-_=;,"/ ') });
const headers = fc.record(
  {
    'x-idempotency-key': fc.oneof(fc.uuid(), headerText),
    prefer: fc.oneof(fc.constantFrom('wait=0', 'respond-async', 'wait=999999999999'), headerText),
    'x-request-id': headerText,
    accept: headerText,
  },
  { requiredKeys: [] },
);
const operation = fc.constantFrom(...Object.values<Operation>(OPERATIONS));

it('the API answers arbitrary JSON and headers with a documented status and {error, message}, never 5xx', async () => {
  let made = await batchCount();
  const property = fc.asyncProperty(operation, body, headers, fc.uuid(), async (row, value, given, id) => {
    const path = row.path.replace('{batchId}', id);
    const sent = row.method === 'GET' ? {} : { text: JSON.stringify(value) };
    // A valid execute would wait; the batch that it names does not exist.
    const answer = await send(world.url, row.method, path, { key: project.apiKey, headers: clean(given), ...sent });
    const documented = [...Object.keys(row.responses).map(Number), ...errorsByStatus(row).keys()];
    assert.ok(documented.includes(answer.status), `${row.path} answered ${answer.status}`);
    assert.ok(answer.status < 500, `${row.path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    if (answer.status >= 400) {
      ErrorBody.strict().parse(answer.body);
      assert.ok(errorsByStatus(row).get(answer.status)?.includes(answer.body.error), answer.body.error);
    }
    if (row.path.endsWith('/init') && answer.status === 200 && !answer.headers.get('idempotency-replayed')) made += 1;
    assert.equal(await batchCount(), made, 'a batch for each init that said so, and no other');
  });
  await fc.assert(property, { numRuns: RUNS });
  await assertNoHalfMadeBatch();
});

/** Removes header values that fetch rejects: those that are missing, or begin or end with white space. */
function clean(given: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [[name, value.trim()]])),
  );
}

async function batchCount(): Promise<number> {
  const { count } = await world.db
    .selectFrom('batches')
    .select((eb) => eb.fn.countAll<bigint>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Asserts that every batch has its pipelines and, while it is open, its nonce. */
async function assertNoHalfMadeBatch(): Promise<void> {
  const batches = await world.db.selectFrom('batches').selectAll().execute();
  for (const { id, pipeline_count, ended_at, nonce_address } of batches) {
    const pipelines = await world.db.selectFrom('pipelines').select('position').where('batch_id', '=', id).execute();
    assert.equal(pipelines.length, pipeline_count);
    if (ended_at !== null) continue;
    const leased = await world.db.selectFrom('nonces').select('address').where('batch_id', '=', id).execute();
    assert.deepEqual(leased, [{ address: nonce_address }]);
  }
}
