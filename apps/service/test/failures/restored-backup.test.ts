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
 * These are the guarantees of docs/operating.md for a restored database. It knows less than the chain, and the chain
 * decides.
 */
describe('a database restored from yesterday’s backup', () => {
  let world: World;
  let project: TestProject;
  before(async () => {
    // A pool of three lends nonces again that were used after the backup.
    world = await openWorld({ NONCE_POOL_SIZE: '3' });
    project = await createProject(world, { burnLimit: '100' });
  });
  after(() => world.stop());

  it('executes nothing twice, loses only the batches that it does not contain, and continues', async () => {
    const finalized = await setUpBatch(world, project, [burnPipeline(1)]);
    const executed = await setUpBatch(world, project, [burnPipeline(2)]);
    const yesterday = await backUp();
    const supply = await tokenSupply(world, project.mint);

    // After the backup, both batches are executed and two more are created.
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
    // Neither the wallet's later signature, sent again, nor a new one burns anything again.
    assert.equal(requireOk(await executeSigned(world, project, finalized, WAIT)).status, 'EXECUTED');
    await executeSigned(world, project, executed, WAIT);
    await waitForBatch(world, project, executed.id, ({ status }) => status === 'EXECUTED');
    assert.equal(await tokenSupply(world, project.mint), supply - 12_000_000n);

    // The next batch gets an index that the chain holds for a lost batch; after that the service's indices follow the
    // chain.
    const refused = await openBatch(world, project, [burnPipeline(8)]);
    const { initResult } = await waitForBatch(world, project, refused.id, ({ status }) => status === 'FAILED');
    assert.match(initResult?.failedTxMsg ?? '', /index|other content/i);
    const next = await openBatch(world, project, [burnPipeline(16)]);
    await waitForBatch(world, project, next.id, ({ status }) => status === 'FINALIZED');
    // Its nonce may have been used after the backup; the approval is then a rebuilt one.
    const { proposalApproveTx } = requireOk(await getBatch(world.url, project.apiKey, next.id, '?include=approval'));
    const signedTx = await signWith(project.wallet, proposalApproveTx);
    const answer = await execute(world.url, project.apiKey, next.id, signedTx, WAIT);
    assert.equal(requireOk(answer).status, 'EXECUTED');
    assert.equal(await tokenSupply(world, project.mint), supply - 28_000_000n);
  });

  const WAIT = { prefer: 'wait=60' };

  /** Copies the database while nothing runs. @returns the copy's DATABASE_URL. */
  async function backUp(): Promise<string> {
    const url = new URL(world.databaseUrl);
    const name = url.pathname.slice(1);
    await world.app.stop();
    url.pathname = '/postgres';
    const client = new pg.Client({ connectionString: url.href });
    await client.connect();
    const quoted = (text: string) => client.escapeIdentifier(text);
    // PostgreSQL copies only a database without connections.
    await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
    await client.query(`create database ${quoted(`${name}_yesterday`)} template ${quoted(name)} strategy file_copy`);
    await client.end();
    await sql`select 1`.execute(world.db).catch(() => undefined);
    await world.restart();
    url.pathname = `/${name}_yesterday`;
    return url.href;
  }
});
