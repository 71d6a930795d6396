import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, readBatch, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig, land } from '@flywheel/testing/chain';
import { burnPipeline, preview } from '@flywheel/testing/client';
import { type GatedWorld, openGatedWorld } from '@flywheel/testing/gate';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import {
  advanceWithBundles,
  finalizeSlots,
  pauseSlots,
  REAL_FINALITY,
  resumeSlots,
  setUpAndPause,
} from '@flywheel/testing/slots';
import { locateBatch, proposalReject } from '../../src/squads/instructions.ts';

const WAIT = { prefer: 'wait=60' };

describe('the limits of a project', () => {
  let world: GatedWorld;
  before(async () => {
    world = await openGatedWorld({ MAX_OPEN_BATCHES: '1' }, REAL_FINALITY);
  });
  after(() => world.stop());

  it('return after FAILED only when the cluster has finalized the cause', async () => {
    const project = await createProject(world, { burnLimit: '1' });
    const batch = await setUpBatch(world, project, [burnPipeline(1)]);
    const located = locateBatch(await findMultisig(world, project), batch.batchIndex);
    await land(world, project.wallet, [proposalReject(located, project.wallet.address)]);
    await pauseSlots(world);
    const { promise: isWaiting, resolve } = Promise.withResolvers<void>();
    let finalizedReads = 0;
    world.gate.intercept('getEpochInfo', (_call, pass) => {
      finalizedReads += 1;
      // The worker reads the finalized block again and again while it waits.
      if (finalizedReads === 5) resolve();
      return pass();
    });
    const answer = executeSigned(world, project, batch, WAIT);
    await isWaiting;
    assert.equal((await readBatch(world, project, batch.id)).status, 'FINALIZED');
    assert.deepEqual(await exceeded(project), ['ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', 'ERR_TOO_MANY_OPEN_BATCHES']);

    await finalizeSlots(world);
    await resumeSlots(world);
    assert.equal((await answer).body.error, 'ERR_BATCH_NOT_EXECUTABLE');
    assert.equal((await readBatch(world, project, batch.id)).status, 'FAILED');
    assert.deepEqual(await exceeded(project), []);
  });

  it('count an EXECUTED batch as open, and keep its accounts, until its execution is finalized', async () => {
    const project = await createProject(world, { burnLimit: '2' });
    const batch = await setUpAndPause(world, project, [burnPipeline(1)]);
    const answer = executeSigned(world, project, batch, WAIT);
    assert.equal(requireOk(await advanceWithBundles(world, batch.id, answer)).status, 'EXECUTED');
    assert.deepEqual(await exceeded(project), ['ERR_TOO_MANY_OPEN_BATCHES']);
    assert.deepEqual(await closings(batch.id), []);

    await resumeSlots(world);
    await finalizeSlots(world);
    await waitUntil(
      'the end to be final',
      () => exceeded(project),
      (codes) => codes.length === 0,
    );
    await waitUntil(
      'the closing',
      () => closings(batch.id),
      (bundles) => bundles.length > 0,
    );
  });

  /** Codes of the limits that a batch which burns one token would exceed. */
  async function exceeded({ apiKey }: TestProject): Promise<string[]> {
    const answer = await preview(world.url, apiKey, [burnPipeline(1)]);
    const codes: string[] = requireOk(answer).problems.map(({ code }: { code: string }) => code);
    return codes.filter((code) => /LIMIT|OPEN/.test(code));
  }

  function closings(batchId: string) {
    return world.db
      .selectFrom('bundles')
      .select('id')
      .where('batch_id', '=', batchId)
      .where('phase', '=', 'close')
      .execute();
  }
});
