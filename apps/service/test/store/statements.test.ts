import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { addColumnToEveryTable, openTestDatabase, quietLog } from '@flywheel/testing/postgres';
import { DAY, NOW, storeProject } from '@flywheel/testing/records';
import { generateKeyPairSigner } from '@solana/kit';
import { sql } from 'kysely';
import { findAuditEntries } from '../../src/store/audit.ts';
import { findBundles, findSentBundles } from '../../src/store/batches/bundles.ts';
import { readCapUse } from '../../src/store/batches/cap-use.ts';
import { lockUnadmittedSetups, readSetupUse } from '../../src/store/batches/exposure.ts';
import { findLedgerEntries } from '../../src/store/batches/ledger.ts';
import { takeBatchIndex } from '../../src/store/batches/new-batches.ts';
import { findUnreviewedChanges } from '../../src/store/company/changes.ts';
import { closeDb, openDb } from '../../src/store/db.ts';
import { rightsOf } from '../../src/store/grants.ts';
import { findKeyHolders } from '../../src/store/key-holders.ts';
import { findRegistration } from '../../src/store/projects/registrations.ts';
import { findSession, takeChallenge } from '../../src/store/projects/sessions.ts';
import { findDeliveries, repeatDelivery } from '../../src/store/webhooks/deliveries.ts';
import { findEndpoint, findEndpoints } from '../../src/store/webhooks/endpoints.ts';

const { db, poolConfig } = await openTestDatabase();
const SOURCE = fileURLToPath(new URL('../../src/', import.meta.url));
const TABLES = [...rightsOf('work').keys()].filter((name) => /^[\w.]+$/.test(name)).join('|');

/** A statement that reads or returns all columns that a table has, and so others after a migration. */
const ALL_COLUMNS = new RegExp(
  String.raw`selectAll\(|returningAll\(|\breturning \*|\bselect \* from "?(?:${TABLES})\b|\b(?:${TABLES})\.\*`,
  'i',
);

describe('statements of the service', () => {
  it('name their columns', async () => {
    const found: string[] = [];
    for await (const file of glob('**/*.ts', { cwd: SOURCE })) {
      const lines = (await readFile(join(SOURCE, file), 'utf8')).split('\n');
      lines.forEach((line, i) => {
        if (ALL_COLUMNS.test(line)) found.push(`${file}:${i + 1}: ${line.trim()}`);
      });
    }
    assert.deepEqual(found, []);
  });

  it('that are prepared go on after a migration has added a column to every table', async () => {
    const single = openDb({ ...poolConfig, max: 1 }, quietLog);
    const id = randomUUID();
    const { address } = await generateKeyPairSigner();
    const now = new Date();
    const key = { prefix: 'prefix', hash: new Uint8Array(32) };
    const request = { name: 'get', limit: { requests: 1, seconds: 1 }, now } as const;
    const runAll = async () => {
      await findSession(single, key.hash);
      await takeChallenge(single, id);
      await findRegistration(single, id, address);
      await findUnreviewedChanges(single);
      await findAuditEntries(single, { projectId: id, below: null, limit: 1 });
      await findEndpoint(single, id, id);
      await findEndpoints(single, id);
      await findDeliveries(single, id, { state: undefined, below: null, limit: 1 });
      await repeatDelivery(single, id, 1n, now);
      await findLedgerEntries(single, id);
      await findBundles(single, id);
      await findSentBundles(single, id);
      await findKeyHolders(single, key, { ...request, batchIds: [null] });
      await findKeyHolders(single, key, { ...request, batchIds: [id] });
    };
    // A statement gets its name with the third use.
    for (let i = 0; i < 4; i += 1) await runAll();
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from pg_prepared_statements`.execute(
      single,
    );
    assert.ok((rows[0]?.count ?? 0) >= 14);
    await addColumnToEveryTable(db);
    await runAll();
    await closeDb(single);
  });

  it('of a new batch and its setup are not planned again with each use', async () => {
    const single = openDb({ ...poolConfig, max: 1 }, quietLog);
    const { id: projectId, flywheel } = await storeProject(db);
    const { address } = flywheel.multisig;
    const ofBatch = { multisig: address, kind: 'pipelines', keyId: null, isAdmitted: false } as const;
    for (let use = 0; use < 12; use += 1) {
      await single.transaction().execute(async (trx) => {
        await takeBatchIndex(trx, flywheel.id);
        await readCapUse(trx, { ...ofBatch, projectId, proofHashes: [], uses: [], day: DAY, now: NOW });
      });
      await single.transaction().execute(async (trx) => {
        await lockUnadmittedSetups(trx);
        await readSetupUse(trx, { batchId: randomUUID(), projectId: null, day: DAY });
      });
    }
    // PostgreSQL plans the first five uses by their values, before it compares.
    const often = sql`select statement from pg_prepared_statements where custom_plans > 5`;
    assert.deepEqual((await often.execute(single)).rows, []);
    await closeDb(single);
  });
});
