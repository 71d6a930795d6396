import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { NO_POLICY, toPolicyJson } from '@flywheel/protocol';
import { TEST_ROLES } from '@flywheel/testing/postgres';
import { createProject } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type RawBuilder, sql } from 'kysely';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { takeOnRole } from '../../src/store/roles.ts';
import { countRefusals, type Operator, openCompanyWorld, setPause } from './operators.ts';

describe('changes by the company that no operator can have made', () => {
  let world: World;
  let operator: Operator;
  let serve: Db;
  before(async () => {
    const opened = await openCompanyWorld({ LOG_LEVEL: 'silent', METRICS_PORT: '0' });
    world = opened.world;
    [operator] = opened.operators;
    const poolConfig = takeOnRole({ connectionString: world.databaseUrl }, TEST_ROLES.DATABASE_SERVE_ROLE);
    serve = openDb(poolConfig, { error: () => undefined });
  });
  after(async () => {
    await closeDb(serve);
    await world.stop();
  });

  it('are refused one by one, and hold up no decision about another project', async () => {
    const [{ projectId }, other] = await Promise.all([createProject(world), createProject(world)]);
    await setPause(world, operator, other, true);
    const policy = toPolicyJson(NO_POLICY);
    const rules = (json: unknown) => sql`${projectId}, ${JSON.stringify(json)}, 1, null`;
    const ids = [
      await insertChange(rules({}), 'tomorrow'),
      await insertChange(rules({ ...policy, personPerDay: 'x' }), 'tomorrow'),
      await insertChange(rules(policy), 'infinity'),
      await insertChange(sql`${projectId}, null, null, 'infinity'`, 'tomorrow'),
    ];
    await setPause(world, operator, other, false);
    const rows = await world.db
      .selectFrom('company_reviews')
      .select(['change_id', 'issue'])
      .where('change_id', 'in', ids)
      .orderBy('change_id')
      .execute();
    const [empty, amount, endless, pause] = rows.map(({ issue }) => issue ?? '');
    assert.match(empty ?? '', /^The record of a change by the company is damaged: policy\./);
    assert.match(amount ?? '', /policy\.personPerDay/);
    assert.match(endless ?? '', /^It cannot be applied: /);
    assert.match(pause ?? '', /paused_at/);
    assert.equal(await countRefusals(world, 'change'), 3);
  });

  /** Stores a change as a thief with the rights of `serve` may. @param values project, rules, version, start of the pause. */
  async function insertChange(values: RawBuilder<unknown>, expiresAt: string): Promise<bigint> {
    const { rows } = await sql<{ id: bigint }>`
      insert into company_changes
        (project_id, policy, policy_version, paused_at, operator, nonce, expires_at, signed_message, signature, requested_at)
      values (${values}, ${operator.address}, gen_random_uuid()::text, ${expiresAt}::timestamptz, 'x',
        sha256(gen_random_uuid()::text::bytea), now())
      returning id
    `.execute(serve);
    const [row] = rows;
    assert.ok(row);
    return row.id;
  }
});
