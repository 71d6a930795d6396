import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { assertError, executeSigned, setUpBatch } from '@flywheel/testing/batches';
import { burnPipeline, send } from '@flywheel/testing/client';
import type { GatedWorld } from '@flywheel/testing/gate';
import { createManualProject, openCompanyWorld } from '../company/operators.ts';

const MEMO = { type: 'A', payload: '{}', actions: [{ action: 'MEMO' as const, message: 'hello' }] };

const MAX_AT_ONCE = 8;
/** Checks of a project that may be in progress, and those that may wait for their turn. */
const PLACES = MAX_AT_ONCE + 50;

let world: GatedWorld;
before(async () => {
  ({ world } = await openCompanyWorld());
});
after(() => world.stop());

it('checks before execution are bounded for a project, and those beyond are refused while repeated requests join', async () => {
  const project = await createManualProject(world, { vaultBaseUnits: 1n });
  const stored = await setUpBatch(world, project, [MEMO]);
  assert.equal((await executeSigned(world, project, stored)).status, 202);
  const batch = await setUpBatch(world, project, [burnPipeline()]);
  let checks = 0;
  let refusals = 0;
  const decided = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  world.gate.intercept('simulateTransaction', async (_, pass) => {
    checks += 1;
    if (checks > MAX_AT_ONCE) decided.resolve();
    await released.promise;
    return pass();
  });
  const path = `/console/api/projects/${project.projectId}/batches/${batch.id}/execute`;
  const options = { headers: { cookie: project.cookie }, body: { signedTx: batch.signedTx } };
  const requests = Array.from({ length: PLACES + 2 }, async () => {
    const answer = await send(world.url, 'POST', path, options);
    if (answer.status === 429) refusals += 1;
    if (refusals === 2) decided.resolve();
    return answer;
  });
  await decided.promise;
  assert.ok(checks <= MAX_AT_ONCE, `${checks} checks are in progress`);
  assert.equal((await executeSigned(world, project, stored)).status, 202, 'a repeated request');
  released.resolve();
  const answers = await Promise.all(requests);
  for (const answer of answers) {
    if (answer.status === 429) assertError(answer, 429, 'ERR_TOO_MANY_AT_ONCE', /^8 checks before execution are in/);
    else assertError(answer, 409, 'ERR_VAULT_UNDERFUNDED');
  }
  assert.equal(answers.filter(({ status }) => status === 429).length, 2);
});
