import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertError, waitUntil } from '@flywheel/testing/batches';
import { burnPipeline, init, preview } from '@flywheel/testing/client';
import { countLockWaits } from '@flywheel/testing/postgres';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type ConsoleWorld, openConsoleWorld } from '@flywheel/testing/world';
import { address } from '@solana/kit';
import { insertAuditEntry } from '../../src/store/audit.ts';
import { replaceProofTypes } from '../../src/store/projects/proof-types.ts';
import { insertManyChanges } from '../many-changes.ts';

let world: World;
let ask: ConsoleWorld['ask'];
before(async () => {
  ({ world, ask } = await openConsoleWorld());
});
after(() => world.stop());

const at = ({ projectId }: TestProject, path: string) => `/projects/${projectId}${path}`;
const get = (of: TestProject, path: string) => ask('GET', at(of, path), of.cookie);
const put = (of: TestProject, path: string, body: unknown) => ask('PUT', at(of, path), of.cookie, body);
const historyOf = async (of: TestProject) => requireOk(await get(of, '/history')).entries;

/** A worker records the company's terms right after the registration. */
async function untilTermsAreRecorded({ multisig }: TestProject): Promise<void> {
  const read = () =>
    world.db.selectFrom('company_terms').select('mint').where('multisig', '=', address(multisig)).execute();
  await waitUntil('the terms', read, ({ length }) => length === 1);
}

const SMALL = { decimals: 2, burnLimit: '10', airdropLimit: '0.5' } as const;

describe('daily limits', () => {
  it('change exactly as entered, apply from the next init on, and are in the audit log', async () => {
    const project = await createProject(world, SMALL);
    await untilTermsAreRecorded(project);
    const limits = { burnLimit: '00012.50', airdropLimit: '184467440737095516.15' };
    const since = requireOk(await put(project, '/limits', limits));
    const exact = { burnLimit: '12.5', airdropLimit: '184467440737095516.15' };
    assert.deepEqual(since, {
      scopes: ['burn', 'airdrop'],
      ...exact,
      proofTypes: [],
      approvalMode: 'automatic',
      companyTerms: { approvalMode: 'automatic', burnLimit: '10', airdropLimit: '0.5' },
    });
    assert.deepEqual(requireOk(await get(project, '/settings')), since);
    requireOk(await init(world.url, project.apiKey, [burnPipeline(12.5)]));
    const over = await init(world.url, project.apiKey, [burnPipeline(0.01)]);
    assertError(over, 400, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED');
    const [entry] = await historyOf(project);
    assert.deepEqual(
      [entry.action, entry.actor, entry.before, entry.after],
      ['limits.changed', project.wallet.address, { burnLimit: '10', airdropLimit: '0.5' }, exact],
    );
  });

  it('can be lowered below what is used: then nothing is left', async () => {
    const project = await createProject(world, SMALL);
    requireOk(await init(world.url, project.apiKey, [burnPipeline(8)]));
    requireOk(await put(project, '/limits', { burnLimit: '5', airdropLimit: '0' }));
    const { limits, attention } = requireOk(await get(project, ''));
    const { cap, used, left } = limits.burn;
    assert.deepEqual({ cap, used, left }, { cap: '5', used: '8', left: '0' });
    assert.deepEqual(
      attention.filter(({ kind }: { kind: string }) => kind === 'LIMIT').length,
      1,
      'a limit of zero is none to watch',
    );
  });

  it('that were lowered also apply to a request that waits for its turn', async () => {
    const project = await createProject(world, SMALL);
    const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = world.db.transaction().execute(async (trx) => {
      await trx
        .selectFrom('flywheels')
        .select('id')
        .where('project_id', '=', project.projectId)
        .forNoKeyUpdate()
        .execute();
      held.resolve();
      await released.promise;
    });
    await held.promise;
    const asked = init(world.url, project.apiKey, [burnPipeline(8)]);
    await waitUntil(
      'init waiting for its turn',
      () => countLockWaits(world.db),
      (waiting) => waiting > 0,
    );
    requireOk(await put(project, '/limits', { burnLimit: '5', airdropLimit: '0' }));
    released.resolve();
    await holding;
    assertError(await asked, 400, 'ERR_FLYWHEEL_DAILY_LIMIT_EXCEEDED', /5/);
  });

  it('are rejected with their position if they are not amounts of this mint, and nothing changes', async () => {
    const project = await createProject(world, SMALL);
    for (const [limits, place] of [
      [{ burnLimit: '1.005', airdropLimit: '1' }, /body\.burnLimit .*2 fraction digits/],
      [{ burnLimit: '1', airdropLimit: '184467440737095516.16' }, /body\.airdropLimit .*exceeds/],
      [{ burnLimit: '-1', airdropLimit: '1' }, /body\.burnLimit/],
      [{ burnLimit: '1e3', airdropLimit: '1' }, /body\.burnLimit/],
      [{ burnLimit: 1, airdropLimit: '1' }, /body\.burnLimit/],
      [{ burnLimit: '1' }, /body\.airdropLimit/],
      [{ burnLimit: '1', airdropLimit: '1', more: 1 }, /body/],
    ] as const) {
      assertError(await put(project, '/limits', limits), 400, 'ERR_INVALID_REQUEST', place);
    }
    assert.equal((await historyOf(project)).length, 1);
  });

  it('that stay the same add no entry to the audit log', async () => {
    const project = await createProject(world, SMALL);
    requireOk(await put(project, '/limits', { burnLimit: '10.00', airdropLimit: '0.5' }));
    assert.deepEqual(
      (await historyOf(project)).map(({ action }: { action: string }) => action),
      ['project.registered'],
    );
  });

  it('are not replaced by a caller who has read others', async () => {
    const project = await createProject(world, SMALL);
    const from = { burnLimit: '10.00', airdropLimit: '0.5' };
    requireOk(await put(project, '/limits', { burnLimit: '11', airdropLimit: '0.5', from }));
    const late = await put(project, '/limits', { burnLimit: '10', airdropLimit: '7', from });
    assertError(late, 409, 'ERR_SETTINGS_CHANGED', /daily limits/);
    const { burnLimit, airdropLimit } = requireOk(await get(project, '/settings'));
    assert.deepEqual([burnLimit, airdropLimit], ['11', '0.5']);
    // The same request once more, after its answer was lost, asks for what is there.
    requireOk(await put(project, '/limits', { burnLimit: '11', airdropLimit: '0.5', from }));
    const invalid = await put(project, '/limits', { ...from, from: { ...from, burnLimit: '1.005' } });
    assertError(invalid, 400, 'ERR_INVALID_REQUEST', /body\.from\.burnLimit/);
  });

  it('changed by two requests at once change one after the other, each recorded with its old value', async () => {
    const project = await createProject(world, SMALL);
    const burnLimits = ['1', '2', '3', '4', '5'];
    await Promise.all(
      burnLimits.map(async (burnLimit) => requireOk(await put(project, '/limits', { burnLimit, airdropLimit: '1' }))),
    );
    const entries = (await historyOf(project)).slice(0, burnLimits.length).reverse();
    assert.deepEqual(entries[0].before.burnLimit, '10');
    for (const [i, entry] of entries.slice(1).entries()) assert.deepEqual(entry.before, entries[i].after);
  });
});

describe('proof types', () => {
  const WATCH = { type: 'WATCH_AD', description: 'A rewarded video', payloadSchema: { required: ['adId'] } };

  it('are replaced together, from the next init on, and recorded', async () => {
    const project = await createProject(world, { proofTypes: [{ type: 'OLD' }] });
    const proofTypes = [WATCH, { type: 'PRODUCT_PURCHASE' }, { type: 'b' }];
    const since = requireOk(await put(project, '/proof-types', { proofTypes: proofTypes.toReversed() }));
    const byType = [{ type: 'PRODUCT_PURCHASE' }, WATCH, { type: 'b' }];
    assert.deepEqual(since.proofTypes, byType);
    assert.deepEqual(requireOk(await get(project, '/settings')).proofTypes, byType);
    requireOk(await init(world.url, project.apiKey, [burnPipeline()]));
    const gone = await init(world.url, project.apiKey, [{ ...burnPipeline(), type: 'OLD' }]);
    assertError(gone, 400, 'ERR_FLYWHEEL_INVALID_PROOF_TYPE');
    const [entry] = await historyOf(project);
    assert.deepEqual(
      [entry.action, entry.before, entry.after],
      ['proof-types.changed', { proofTypes: [{ type: 'OLD' }] }, { proofTypes: byType }],
    );
    requireOk(await put(project, '/proof-types', { proofTypes: [] }));
    requireOk(await init(world.url, project.apiKey, [{ ...burnPipeline(), type: 'ANYTHING' }]));
  });

  it('are not replaced by a caller who has read others', async () => {
    const project = await createProject(world, { proofTypes: [{ type: 'B' }, WATCH] });
    const from = [WATCH, { type: 'B' }];
    requireOk(await put(project, '/proof-types', { proofTypes: [WATCH], from }));
    const stricter = { ...WATCH, payloadSchema: { required: ['adId', 'userId'] } };
    const late = await put(project, '/proof-types', { proofTypes: [...from, { type: 'C' }], from });
    assertError(late, 409, 'ERR_SETTINGS_CHANGED', /proof types/);
    requireOk(await put(project, '/proof-types', { proofTypes: [stricter], from: [WATCH] }));
    const other = await put(project, '/proof-types', { proofTypes: [], from: [WATCH] });
    assertError(other, 409, 'ERR_SETTINGS_CHANGED');
    assert.deepEqual(requireOk(await get(project, '/settings')).proofTypes, [stricter]);
  });

  it('that another process stores apply to the next init and preview', async () => {
    const { projectId, apiKey } = await createProject(world, { proofTypes: [{ type: 'OLD' }] });
    const pipelines = [{ ...burnPipeline(), type: WATCH.type, payload: '{"adId":1}' }];
    const areRefused = async (message: RegExp) => {
      for (const ask of [init, preview]) {
        assertError(await ask(world.url, apiKey, pipelines), 400, 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', message);
      }
    };
    await areRefused(/is not registered; this project has OLD/);
    await replaceProofTypes(world.db, projectId, [{ ...WATCH, payloadSchema: { required: ['userId'] } }]);
    await areRefused(/userId/);
    await replaceProofTypes(world.db, projectId, [WATCH]);
    requireOk(await preview(world.url, apiKey, pipelines));
    requireOk(await init(world.url, apiKey, pipelines));
  });

  it('may have a JSON Schema with numbers of more than 15 digits', async () => {
    const project = await createProject(world);
    const properties = { level: { maximum: Number.MAX_SAFE_INTEGER }, id: { const: 1234567890123456 } };
    const proofTypes = [{ type: 'SCORE', payloadSchema: { properties } }];
    assert.deepEqual(requireOk(await put(project, '/proof-types', { proofTypes })).proofTypes, proofTypes);
    const score = (id: string) => ({ ...burnPipeline(), type: 'SCORE', payload: `{"level":1,"id":${id}}` });
    requireOk(await init(world.url, project.apiKey, [score('1234567890123456')]));
    const other = await init(world.url, project.apiKey, [score('1234567890123457')]);
    assertError(other, 400, 'ERR_FLYWHEEL_INVALID_PROOF_TYPE', /id must be equal to constant/);
    requireOk(await put(project, '/proof-types', { proofTypes: [], from: proofTypes }));
  });

  it('are rejected with their position if one is repeated, malformed or has an invalid JSON Schema', async () => {
    const project = await createProject(world);
    for (const [proofTypes, place] of [
      [[{ type: 'A' }, { type: 'A' }], /body\.proofTypes\[1\] repeats/],
      [[{ type: 'no spaces' }], /body\.proofTypes\[0\]\.type/],
      [[{ type: 'A' }, { type: 'WITHDRAW' }], /body\.proofTypes\[1\]\.type WITHDRAW is reserved/],
      [[{ type: 'ROTATE' }], /body\.proofTypes\[0\]\.type ROTATE is reserved/],
      [[{ type: 'A', payloadSchema: { type: 'no such' } }], /body\.proofTypes\[0\]\.payloadSchema/],
      [[{ type: 'A', description: 'x\u0000' }], /body\.proofTypes\[0\]\.description/],
      ['A', /body\.proofTypes/],
    ] as const) {
      assertError(await put(project, '/proof-types', { proofTypes }), 400, 'ERR_INVALID_REQUEST', place);
    }
  });
});

describe('the proof types of a project', () => {
  it('change a hundred times within 24 hours, because the log keeps every change', async () => {
    const project = await createProject(world, SMALL);
    const { projectId, wallet } = project;
    const hourMs = 3_600_000;
    const log = (at: Date) =>
      insertAuditEntry(world.db, { at, actor: wallet.address, action: 'proof-types.changed', projectId });
    await log(new Date(Date.now() - 25 * hourMs));
    await log(new Date(Date.now() - 23 * hourMs));
    for (let i = 0; i < 98; i++) await log(new Date());
    requireOk(await put(project, '/proof-types', { proofTypes: [{ type: 'HUNDREDTH' }] }));
    const refused = await put(project, '/proof-types', { proofTypes: [{ type: 'MORE' }] });
    assertError(refused, 429, 'ERR_RATE_LIMITED', /limit of 100 requests in 86400 s is reached/);
    const seconds = Number(refused.headers.get('retry-after'));
    assert.ok(seconds > 3_500 && seconds <= 3_600, `${seconds} s`);
    // The same types again are no change, and other settings are counted apart.
    requireOk(await put(project, '/proof-types', { proofTypes: [{ type: 'HUNDREDTH' }] }));
    requireOk(await put(project, '/limits', { burnLimit: '1', airdropLimit: '1' }));
  });
});

describe('the daily limits of a project', () => {
  it('change a thousand times within 24 hours, because the log keeps every change', async () => {
    const project = await createProject(world, SMALL);
    await insertManyChanges(world.db, project, 'limits.changed', 999);
    const limits = { burnLimit: '1', airdropLimit: '1' };
    requireOk(await put(project, '/limits', limits));
    const refused = await put(project, '/limits', { ...limits, burnLimit: '2' });
    assertError(refused, 429, 'ERR_RATE_LIMITED', /limit of 1000 requests in 86400 s is reached/);
    requireOk(await put(project, '/limits', limits));
    assert.equal(requireOk(await get(project, '/settings')).burnLimit, '1');
  });
});

describe('the audit log', () => {
  it('pages newest first through its own project only', async () => {
    const [project, other] = await Promise.all([createProject(world, SMALL), createProject(world, SMALL)]);
    for (const burnLimit of ['1', '2', '3']) {
      requireOk(await put(project, '/limits', { burnLimit, airdropLimit: '0.5' }));
      requireOk(await put(other, '/limits', { burnLimit, airdropLimit: '0.5' }));
    }
    const first = requireOk(await get(project, '/history?limit=3'));
    const second = requireOk(await get(project, `/history?limit=3&cursor=${first.nextCursor}`));
    assert.equal(second.nextCursor, undefined);
    const entries = [...first.entries, ...second.entries];
    assert.deepEqual(
      entries.map(({ action, after }) => [action, after.burnLimit]),
      [
        ['limits.changed', '3'],
        ['limits.changed', '2'],
        ['limits.changed', '1'],
        ['project.registered', '10'],
      ],
    );
    assert.ok(entries.every(({ projectId }) => projectId === project.projectId));
    for (const query of ['cursor=x', 'cursor=e0', 'limit=0', 'limit=101', 'limit=x']) {
      assertError(await get(project, `/history?${query}`), 400, 'ERR_INVALID_REQUEST', /query\./);
    }
  });
});

describe('a page of the audit log', () => {
  it('has fewer entries if they are large, and the next pages have the others', async () => {
    const project = await createProject(world, SMALL);
    const { projectId } = project;
    const names = Array.from({ length: 12 }, (_, i) => `TYPE_${i}`);
    for (const type of names) {
      const after = { proofTypes: [{ type, payloadSchema: { description: 'x'.repeat(200_000) } }] };
      const entry = { actor: project.wallet.address, action: 'proof-types.changed', projectId, after } as const;
      await insertAuditEntry(world.db, { at: new Date(), ...entry });
    }
    const shown: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page = requireOk(await get(project, `/history?limit=100${cursor}`));
      assert.ok(JSON.stringify(page).length < 600_000);
      for (const { after } of page.entries) shown.push(after.proofTypes[0]?.type);
      cursor = page.nextCursor && `&cursor=${page.nextCursor}`;
    }
    assert.deepEqual(shown, [...names.toReversed(), undefined]); // the last one is the registration
  });
});

describe('usage', () => {
  it('has every requested day, oldest first, with the reservations of open batches', async () => {
    const project = await createProject(world, SMALL);
    requireOk(await init(world.url, project.apiKey, [burnPipeline(1.25)]));
    const dayOf = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
    const [today, before] = [dayOf(0), dayOf(2)];
    await world.db
      .insertInto('daily_amounts')
      .values([
        { project_id: project.projectId, day: before, burned: 5n, airdropped: 700n },
        { project_id: project.projectId, day: dayOf(400), burned: 1n, airdropped: 1n },
      ])
      .execute();
    assert.deepEqual(requireOk(await get(project, '/usage?days=3')).days, [
      { day: before, burned: '0.05', airdropped: '7' },
      { day: dayOf(1), burned: '0', airdropped: '0' },
      { day: today, burned: '1.25', airdropped: '0' },
    ]);
    assert.equal(requireOk(await get(project, '/usage')).days.length, 30);
    assert.equal(requireOk(await get(project, '/usage?days=366')).days.length, 366);
    for (const days of ['0', '367', 'x', '-1']) {
      assertError(await get(project, `/usage?days=${days}`), 400, 'ERR_INVALID_REQUEST', /query\.days/);
    }
  });
});
