import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { assertError, executeSigned, rewindBatch, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { approveForCompany } from '@flywheel/testing/decisions';
import { startTestJobs } from '@flywheel/testing/jobs';
import { createProject, requireOk, signIn } from '@flywheel/testing/project';
import { approve, rotateWallet, waitForWithdrawal } from '@flywheel/testing/treasury';
import { openConsoleWorld } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';
import { isClosed } from '../../src/store/batches/ends.ts';

const PAGE = new URL('../../../../docs/operating.md', import.meta.url);

test('a database from before a replacement approves nothing of the project until its row is corrected as the guide says', async (t) => {
  const { world, project, multisig, old, to } = await replaceWallet(t);
  await world.app.stop();
  await world.db.updateTable('flywheels').set({ wallet: old }).where('multisig', '=', multisig).execute();
  await world.db.updateTable('projects').set({ wallet: old }).where('id', '=', project.projectId).execute();
  await world.restart();
  const stale = await setUpBatch(world, project, [burnPipeline()]);
  assertError(await executeSigned(world, project, stale), 409, 'ERR_BATCH_WOULD_FAIL');
  assertError(
    await rotateWallet(world, project, to),
    409,
    'ERR_ROTATION_REFUSED',
    /is a member of the multisig already/,
  );

  await world.app.stop();
  const [, documented = ''] = /```sql\n(update flywheels [\s\S]*?)```/.exec(await readFile(PAGE, 'utf8')) ?? [];
  const statements = documented.replaceAll('<new wallet>', to.address).replaceAll('<multisig>', multisig);
  assert.doesNotMatch(statements, /<|^$/);
  await sql.raw(statements).execute(world.db);
  await world.restart();
  const moved = { ...project, wallet: to, cookie: await signIn(world.url, to) };
  const batch = await setUpBatch(world, moved, [burnPipeline()]);
  assert.equal(requireOk(await executeSigned(world, moved, batch, { prefer: 'wait=60' })).status, 'EXECUTED');
});

test('a replacement that a restored database has as open ends executed, also after the row was corrected', async (t) => {
  const { world, multisig, batchId } = await replaceWallet(t);
  await waitUntil(
    'the closing',
    () => isClosed(world.db, batchId),
    (closed) => closed,
  );
  await rewindBatch(world, batchId);
  const jobs = await startTestJobs({ poolConfig: { connectionString: world.databaseUrl } });
  await jobs.enqueue(world.db, { type: 'expire', batchId, multisig });
  await jobs.stop();
  const read = () =>
    world.db.selectFrom('batches').select('status').where('id', '=', batchId).executeTakeFirstOrThrow();
  await waitUntil('the end', read, ({ status }) => status === 'EXECUTED');
});

/** Opens a world and replaces the wallet of a project in it. */
async function replaceWallet(t: TestContext) {
  const { world, company } = await openConsoleWorld();
  t.after(() => world.stop());
  const project = await createProject(world);
  const { address: multisig, wallet: old } = await findMultisig(world, project);
  const to = await generateKeyPairSigner();
  const { batchId } = requireOk(await rotateWallet(world, project, to));
  await waitForWithdrawal(world, project, batchId, ({ batch }) => batch.status === 'FINALIZED');
  requireOk(await approve(world, project, batchId));
  requireOk(await approveForCompany(world, company, batchId));
  const read = () => findMultisig(world, project);
  await waitUntil('the replacement', read, ({ wallet }) => wallet === to.address);
  return { world, project, multisig, old, to, batchId };
}
