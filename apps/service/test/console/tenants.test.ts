import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { CONSOLE_OPERATIONS, type Operation } from '@flywheel/api';
import { openBatch } from '@flywheel/testing/batches';
import { burnPipeline, send } from '@flywheel/testing/client';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type ConsoleWorld, openConsoleWorld } from '@flywheel/testing/world';

/** Valid input of each operation, so that only the ownership of the project can reject it. */
const BODIES: { readonly [operationId: string]: unknown } = {
  changeLimits: { burnLimit: '1', airdropLimit: '1' },
  changeProofTypes: { proofTypes: [] },
  createKey: {},
  rotateKey: { overlapSeconds: 0 },
  initProjectBatch: { pipelines: [burnPipeline()] },
  previewProjectBatch: { pipelines: [burnPipeline()] },
  executeProjectBatch: { signedTx: 'AAAA' },
  withdraw: { asset: 'SOL', to: '7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe', amount: '1' },
  rotateWallet: { newWallet: '7Fq2JcRzXGqVxvQkLd1ZcLk5yZpZ3vKjz1CqVZ9h9dKe', signature: '1'.repeat(64) },
  createWebhook: { url: 'https://example.com/hook', events: ['batch.executed'] },
  changeWebhook: { state: 'disabled' },
};

interface Row {
  readonly id: string;
  readonly operation: Operation;
}

const ROWS: readonly Row[] = Object.entries(CONSOLE_OPERATIONS).map(([id, operation]) => ({ id, operation }));
const OF_PROJECTS = ROWS.filter(
  ({ operation }) => operation.authentication === 'session' && operation.path.includes('{projectId}'),
);
const OF_THINGS = OF_PROJECTS.filter(({ operation }) => /\{(batch|key)Id\}/.test(operation.path));

let world: World;
let companyCookie: string;
let [mine, theirs]: TestProject[] = [];
let ids: Readonly<Record<string, string>>;
before(async () => {
  ({ world, companyCookie } = (await openConsoleWorld()) satisfies ConsoleWorld);
  [mine, theirs] = [await createProject(world), await createProject(world)];
  const { id: batchId } = await openBatch(world, theirs, [burnPipeline()]);
  const { keys } = requireOk(
    await send(world.url, 'GET', `/console/api/projects/${theirs.projectId}/keys`, {
      headers: { cookie: theirs.cookie },
    }),
  );
  ids = { batchId, keyId: keys[0].keyId, webhookId: randomUUID(), deliveryId: '1' };
});
after(() => world.stop());

describe('every operation on a project', () => {
  it('answers the owner of another project as if the project did not exist', async () => {
    for (const row of OF_PROJECTS) await refused(row, project(theirs), project(mine).cookie, 'ERR_PROJECT_NOT_FOUND');
  });

  it('answers the same to an operator of the company if it changes something', async () => {
    for (const row of OF_PROJECTS.filter(({ operation }) => operation.method !== 'GET')) {
      await refused(row, project(theirs), companyCookie, 'ERR_PROJECT_NOT_FOUND');
    }
  });

  it('does not find another project’s data under the caller’s own project', async () => {
    for (const row of OF_THINGS) {
      await refused(row, project(mine), project(mine).cookie, /^ERR_(BATCH|KEY)_NOT_FOUND$/);
    }
  });

  it('changed nothing in these attempts', async () => {
    const entries = await world.db.selectFrom('audit_log').select('action').execute();
    assert.deepEqual(
      entries.map(({ action }) => action),
      ['project.registered', 'project.registered'],
    );
  });
});

describe('every operation of the company', () => {
  it('rejects everyone who is not its operator', async () => {
    for (const row of ROWS.filter(({ operation }) => operation.authentication === 'company')) {
      await refused(row, project(mine), project(mine).cookie, 'ERR_COMPANY_ONLY');
    }
  });
});

async function refused(
  { id, operation }: Row,
  { projectId }: TestProject,
  cookie: string,
  code: string | RegExp,
): Promise<void> {
  const known = { ...ids, projectId, jobId: randomUUID() };
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => Reflect.get(known, name) ?? 'unknown');
  const headers = { cookie, 'content-type': 'application/json', 'x-idempotency-key': randomUUID() };
  const hasBody = operation.body !== undefined;
  const answer = await send(world.url, operation.method, path, {
    headers,
    ...(hasBody && { body: BODIES[id] ?? {} }),
  });
  const said = `${id}: ${answer.status} ${JSON.stringify(answer.body)}`;
  if (typeof code === 'string') assert.equal(answer.body?.error, code, said);
  else assert.match(answer.body?.error ?? '', code, said);
}

function project(found: TestProject | undefined): TestProject {
  assert.ok(found);
  return found;
}
