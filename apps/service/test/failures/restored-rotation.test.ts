import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { assertError, executeSigned, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { approveForCompany } from '@flywheel/testing/decisions';
import { createProject, requireOk, signIn } from '@flywheel/testing/project';
import { approve, rotateWallet, waitForWithdrawal } from '@flywheel/testing/treasury';
import { openConsoleWorld } from '@flywheel/testing/world';
import { generateKeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';

const PAGE = new URL('../../../../docs/operating.md', import.meta.url);

test('a database from before a replacement approves nothing of the project until its row is corrected as the guide says', async (t) => {
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
