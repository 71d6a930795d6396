import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { executeSigned, openBatch, readBatch, setUpBatch, waitForBatch } from '@flywheel/testing/batches';
import { tokenSupply } from '@flywheel/testing/chain';
import { burnPipeline, execute, getBatch } from '@flywheel/testing/client';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { sql } from 'kysely';
import pg from 'pg';

/**
 * What docs/operating.md promises of a database that is restored from yesterday: it knows less than the chain, and the
 * chain decides.
 */
describe('a database restored from yesterday', () => {
  let world: World;
  let project: TestProject;
  before(async () => {
    // So small a pool lends what was used since.
    world = await openWorld({ NONCE_POOL_SIZE: '3' });
    project = await createProject(world, { burnLimit: '100' });
  });
  after(() => world.stop());

  it('executes nothing twice, loses no more than the batches it does not know, and goes on', async () => {
    const finalized = await setUpBatch(world, project, [burnPipeline(1)]);
    const executed = await setUpBatch(world, project, [burnPipeline(2)]);
    const yesterday = await backUp();
    const supply = await tokenSupply(world, project.mint);

    // Today: both are executed, and two are made that the backup will not know.
    for (const batch of [finalized, executed]) {
      assert.equal(requireOk(await executeSigned(world, project, batch, WAIT)).status, 'EXECUTED');
    }
    for (const pipelines of [[burnPipeline(4)], [burnPipeline(5)]]) {
      const unknown = await openBatch(world, project, pipelines);
      assert.equal(requireOk(await executeSigned(world, project, unknown, WAIT)).status, 'EXECUTED');
    }
    assert.equal(await tokenSupply(world, project.mint), supply - 12_000_000n);

    await world.restart({ DATABASE_URL: yesterday });
    assert.equal((await readBatch(world, project, finalized.id)).status, 'FINALIZED');
    // The wallet's signature of today, sent again, and one that is asked for anew: neither burns anything again.
    assert.equal(requireOk(await executeSigned(world, project, finalized, WAIT)).status, 'EXECUTED');
    await executeSigned(world, project, executed, WAIT);
    await waitForBatch(world, project, executed.id, ({ status }) => status === 'EXECUTED');
    assert.equal(await tokenSupply(world, project.mint), supply - 12_000_000n);

    // The next batch is given an index that the chain holds for one we forgot; from then on ours follow the chain’s.
    const refused = await openBatch(world, project, [burnPipeline(8)]);
    const { initResult } = await waitForBatch(world, project, refused.id, ({ status }) => status === 'FAILED');
    assert.match(initResult?.failedTxMsg ?? '', /index|other content/i);
    const next = await openBatch(world, project, [burnPipeline(16)]);
    await waitForBatch(world, project, next.id, ({ status }) => status === 'FINALIZED');
    // The nonce it was given may have been used today: the approval is then a rebuilt one.
    const { proposalApproveTx } = requireOk(await getBatch(world.url, project.apiKey, next.id, '?include=approval'));
    const signedTx = await signWith(project.wallet, proposalApproveTx);
    const answer = await execute(world.url, project.apiKey, next.id, signedTx, WAIT);
    assert.equal(requireOk(answer).status, 'EXECUTED');
    assert.equal(await tokenSupply(world, project.mint), supply - 28_000_000n);
  });

  const WAIT = { prefer: 'wait=60' };

  /** A copy of the database as it is, while nothing runs; answers its DATABASE_URL. */
  async function backUp(): Promise<string> {
    const url = new URL(world.databaseUrl);
    const name = url.pathname.slice(1);
    await world.app.stop();
    url.pathname = '/postgres';
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    const quoted = (text: string) => client.escapeIdentifier(text);
    // Only a database that nobody is connected to can be copied.
    await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    await client.query(`create database ${quoted(`${name}_yesterday`)} template ${quoted(name)} strategy file_copy`);
    await client.end();
    await sql`select 1`.execute(world.db).catch(() => undefined);
    await world.restart();
    url.pathname = `/${name}_yesterday`;
    return url.href;
  }
});
