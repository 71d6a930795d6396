import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, setUpBatch, waitForBatch, waitUntil } from '@flywheel/testing/batches';
import { findMultisig, land, readBatchOnChain, tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline } from '@flywheel/testing/client';
import { openGatedWorld } from '@flywheel/testing/gate';
import { makeDue, startTestJobs } from '@flywheel/testing/jobs';
import { TEST_ROLES } from '@flywheel/testing/postgres';
import { createProject } from '@flywheel/testing/project';
import { REAL_FINALITY } from '@flywheel/testing/slots';
import type { World } from '@flywheel/testing/world';
import { address, addSignersToInstruction } from '@solana/kit';
import { sql } from 'kysely';
import { loadSigner } from '../../src/solana/signer.ts';
import { locateBatch, proposalApprove } from '../../src/squads/instructions.ts';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { takeOnRole } from '../../src/store/roles.ts';
import { openCompanyWorld } from './operators.ts';

describe('a batch that ended after its approval had landed', () => {
  let world: World;
  let serve: Db;
  before(async () => {
    const open: typeof openGatedWorld = (environment) => openGatedWorld(environment, REAL_FINALITY);
    ({ world } = await openCompanyWorld({ LOG_LEVEL: 'silent' }, open));
    serve = openDb(takeOnRole({ connectionString: world.databaseUrl }, TEST_ROLES.DATABASE_SERVE_ROLE), {
      error: () => undefined,
    });
  });
  after(async () => {
    await closeDb(serve);
    await world.stop();
  });

  it('still counts: Squads executes it for whoever opens it again', async () => {
    const project = await createProject(world, { burnLimit: '10', airdropLimit: '10' });
    const supply = await tokenSupply(world, project.mint);
    const first = await setUpBatch(world, project, [burnPipeline(10)]);
    // The votes are newer than what is finalized.
    await waitUntil(
      'the setup to be final',
      () => readBatchOnChain(world, project, first.batchIndex, 'finalized').catch(() => null),
      (seen) => seen?.proposal.status === 'Active',
    );
    // As after a bundle with the approval alone: the votes of both are on chain, and the batch is counted.
    const company = await loadSigner(world.environment.COMPANY_SIGNER ?? '');
    const located = locateBatch(await findMultisig(world, project), first.batchIndex);
    const votes = [project.wallet, company].map((signer) =>
      addSignersToInstruction([signer], proposalApprove(located, signer.address)),
    );
    await land(world, project.wallet, votes);
    await sql`update company_totals set burned = 10000000 where multisig = ${project.multisig}`.execute(world.db);
    await makeDue(world, 'expire', first.id);
    await waitForBatch(world, project, first.id, ({ status }) => status === 'FAILED');
    await waitUntil(
      'the company’s vote against it',
      () => readBatchOnChain(world, project, first.batchIndex),
      ({ proposal }) => proposal.cancelled.length === 1,
    );
    const second = await setUpBatch(world, project, [burnPipeline(10)]);
    assert.equal((await executeSigned(world, project, second, { prefer: 'wait=0' })).status, 202);
    await waitUntil(
      'the second batch',
      () => readRow(second.id),
      ({ ended_at, company_asked_at }) => ended_at !== null || company_asked_at !== null,
    );
    // What follows needs only the rights of serve.
    await sql`
      update batches set status = 'FINALIZED', ended_at = null, end_cause = null, end_finalized_at = null,
        execute_result = null, signed_tx = ${first.signedTx}, signed_at = now()
      where id = ${first.id}
    `.execute(serve);
    const jobs = await startTestJobs({
      poolConfig: takeOnRole({ connectionString: world.databaseUrl }, TEST_ROLES.DATABASE_SERVE_ROLE),
    });
    await jobs.enqueue(serve, { type: 'execute', batchId: first.id, multisig: address(project.multisig) });
    await jobs.stop();
    await waitForBatch(world, project, first.id, ({ status }) => status === 'EXECUTED');
    const burned = supply - (await tokenSupply(world, project.mint));
    assert.ok(burned <= 10_000_000n, `${burned} base units were burned in a day, of 10000000`);
  });

  function readRow(id: string) {
    const columns = world.db.selectFrom('batches').select(['ended_at', 'company_asked_at']);
    return columns.where('id', '=', id).executeTakeFirstOrThrow();
  }
});
