import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '@flywheel/localnet';
import { waitUntil } from '@flywheel/testing/batches';
import { addColumnToEveryTable, openEmptyDatabase, type TestDatabase } from '@flywheel/testing/postgres';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { ROOT, type ServiceProcess } from '@flywheel/testing/service-process';
import type { World } from '@flywheel/testing/world';
import { rightsOf } from '../../src/store/grants.ts';
import { MIGRATIONS } from '../../src/store/migrate.ts';
import type { Rights } from '../../src/store/rights.ts';
import { type SoakBatch, VAULT_BASE_UNITS } from '../soak/load.ts';
import { assertExact, awaitRest } from '../soak/soak.ts';
import { openWebhookWitness, type WebhookWitness, WITNESS_ENVIRONMENT } from '../soak/webhook-witness.ts';
import { openProcessWorld, type ProcessWorld } from './fleet.ts';
import { findReleaseIssue, PREVIOUS_RELEASE, type ReleaseSources, unpackPreviousRelease } from './previous-release.ts';
import { createRepeatingClient } from './repeating-client.ts';

const PROJECTS = 2;
const REST_SECONDS = 120;
const DRAIN_MS = 200;
const ROLES = ['serve', 'work'] as const;
/** Processes that are replaced together. */
type Steps = readonly (readonly (typeof ROLES)[number][])[];
const ONE_BY_ONE: Steps = [['work'], ['serve'], ['work'], ['serve']];
/** Starts take most of the test's time. */
const IN_PAIRS: Steps = [ROLES, ROLES];

/** Rights that this release has taken back, and why processes of the previous one do not need them. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'work: delete on webhook_deliveries': 'workers of 0.2.0 drop partitions through a function',
};

const issue = await findReleaseIssue();

describe(`processes of release ${PREVIOUS_RELEASE.name} and of this one`, { skip: issue ?? false }, () => {
  let previous: ReleaseSources;
  let database: TestDatabase;
  let processes: ProcessWorld;
  let witness: WebhookWitness;
  let hasNewColumns = false;
  const over = new AbortController();
  const logged: string[] = [];
  const running = { serve: [] as ServiceProcess[], work: [] as ServiceProcess[] };

  before(async () => {
    previous = await unpackPreviousRelease();
    database = await openEmptyDatabase();
    const openDatabase = async () => database;
    processes = await openProcessWorld({ ...WITNESS_ENVIRONMENT }, { openDatabase });
    witness = await openWebhookWitness(seededRandom(1));
  });
  after(async () => {
    over.abort();
    await processes?.stop();
    await witness?.close();
    await previous?.remove();
  });

  it('replace each other under load, forward, back and forward again, and lose nothing', async (test) => {
    for (const command of [...ROLES, ...ROLES]) running[command].push(await start(command, previous.root));
    // Requests go to the processes in turn, as a load balancer sends them.
    let requests = 0;
    const nextUrl = () => {
      requests += 1;
      return running.serve[requests % running.serve.length]?.url ?? assert.fail('Nothing serves.');
    };
    const world: World = Object.create(processes.world, { url: { get: nextUrl } });

    const projects: TestProject[] = [];
    for (let i = 0; i < PROJECTS; i += 1) {
      projects.push(await createProject(world, { vaultBaseUnits: VAULT_BASE_UNITS, decimals: 6 }));
    }
    for (const project of projects) await witness.follow(world, project);
    const client = createRepeatingClient(nextUrl, over.signal);
    const batches: SoakBatch[] = [];
    const ending = new AbortController();
    const load = Promise.all(
      projects.map(async (project) => {
        while (!ending.signal.aborted) {
          const batch = await client.runBatch(project);
          batches.push(batch);
          await client.awaitExecuted(batch);
        }
      }),
    );
    const replaceAll = async (root: string, steps: Steps) => {
      for (const commands of steps) {
        await Promise.all(commands.map((command) => replaceOne(command, root)));
        const count = batches.length;
        await waitUntil(
          'a batch that is executed meanwhile',
          async () => batches.length,
          (now) => now > count,
        );
      }
    };
    try {
      await Promise.race([load, rollAll(test, replaceAll)]);
    } finally {
      ending.abort();
    }
    await load;
    await awaitRest(world, REST_SECONDS);
    await assertExact(world, { projects, batches });
    await witness.assertDelivered(world, batches);
    client.assertRetryable();
    assert.deepEqual(logged, []);
    test.diagnostic(`${batches.length} batches; repeated: ${JSON.stringify(Object.fromEntries(client.errors))}`);
  });

  async function rollAll(test: TestContext, replaceAll: (root: string, steps: Steps) => Promise<void>): Promise<void> {
    const began = performance.now();
    const roll = async (direction: string, root: string, steps: Steps) => {
      await replaceAll(root, steps);
      test.diagnostic(`${direction} after ${Math.round((performance.now() - began) / 1_000)} s`);
    };
    await roll('forward', ROOT, ONE_BY_ONE);
    await roll('back', previous.root, IN_PAIRS);
    await roll('forward again', ROOT, IN_PAIRS);
  }

  async function replaceOne(command: 'serve' | 'work', root: string): Promise<void> {
    const next = await start(command, root);
    // The first process of this release has migrated: a later release may add to every table.
    if (!hasNewColumns) await addColumnToEveryTable(database.db);
    hasNewColumns = true;
    running[command].push(next);
    const replaced = running[command].shift();
    // A load balancer leaves a process that stops a moment for the requests that it has sent there.
    if (command === 'serve') await sleep(DRAIN_MS);
    assert.equal(await replaced?.stop(), 0);
  }

  it('have the same rights, or those that the previous release does not use are taken back', async () => {
    const old: typeof import('../../src/store/grants.ts') = await import(
      join(previous.root, 'apps/service/src/store/grants.ts')
    );
    const missing = ROLES.flatMap((role) => {
      const now = rightsOf(role);
      return [...old.rightsOf(role)].flatMap(([table, rights]) => {
        const kept = new Set(listRights(now.get(table) ?? {}));
        return listRights(rights)
          .filter((each) => !kept.has(each))
          .map((each) => `${role}: ${each} on ${table}`);
      });
    });
    assert.deepEqual(missing.toSorted(), Object.keys(EXCEPTIONS).toSorted());
  });

  it('work with the schema, which requires the last migration of the previous release', async () => {
    const files = await readdir(join(previous.root, 'apps/service/migrations'));
    const names = files.map((file) => basename(file, '.ts')).toSorted();
    assert.deepEqual(
      names,
      Object.keys(MIGRATIONS).slice(0, names.length),
      'no migration of a release changes its name',
    );
    const required = await database.db.selectFrom('schema_compatibility').select('required_migration').execute();
    assert.deepEqual(required, [{ required_migration: names.at(-1) }]);
  });

  function start(command: 'serve' | 'work', root: string): Promise<ServiceProcess> {
    const onLogLine = (line: string) => logged.push(`${root === ROOT ? 'new' : 'old'} ${command}: ${line}`);
    return processes.start(command, { root, onLogLine });
  }
});

function listRights({ select, insert, update, delete: remove, maintain, execute }: Rights): string[] {
  const some = (right: string, columns: readonly string[] | 'all' = []) =>
    columns === 'all' ? [right] : columns.map((column) => `${right} (${column})`);
  return [
    ...(select ? ['select'] : []),
    ...some('insert', insert),
    ...some('update', update),
    ...(remove ? ['delete'] : []),
    ...(maintain ? ['maintain'] : []),
    ...(execute ? ['execute'] : []),
  ];
}
