import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { executeSigned, type OpenBatch, readBatch, setUpBatch, waitUntil } from '@flywheel/testing/batches';
import { airdropPipeline, burnPipeline } from '@flywheel/testing/client';
import { approveForCompany, setPolicy } from '@flywheel/testing/decisions';
import { type Jobs, startTestJobs } from '@flywheel/testing/jobs';
import { TEST_ROLES } from '@flywheel/testing/postgres';
import { createProject, requireOk, type TestProject } from '@flywheel/testing/project';
import { approve as approveByWallet, setUpWithdrawal } from '@flywheel/testing/treasury';
import type { World } from '@flywheel/testing/world';
import { address, generateKeyPairSigner } from '@solana/kit';
import { type RawBuilder, sql } from 'kysely';
import { findBundles } from '../../src/store/batches/bundles.ts';
import { closeDb, type Db, openDb } from '../../src/store/db.ts';
import { takeOnRole } from '../../src/store/roles.ts';
import { type Operator, openCompanyWorld, setPause } from './operators.ts';
import { type Attack, describePrivilege, makeAttacks, readPrivileges } from './stolen-serve.ts';

/** A batch that the project's wallet has approved, and that a rule keeps from the company's signature. */
interface Target {
  readonly project: TestProject;
  readonly batchId: string;
}

const INSUFFICIENT_PRIVILEGE = '42501';

describe('a thief with the database rights of serve', () => {
  let world: World;
  let operator: Operator;
  let second: Operator;
  let serve: Db;
  let jobs: Jobs;
  let withdrawal: Target;
  let manual: Target;
  let paused: Target;
  let aboveTerms: Target;
  let ofTwo: Target;
  let donor: Target;
  let tables: Awaited<ReturnType<typeof findTables>>;
  const targets = () => [withdrawal, manual, paused, aboveTerms, ofTwo];

  before(async () => {
    const opened = await openCompanyWorld({ LOG_LEVEL: 'silent' });
    world = opened.world;
    [operator, second] = opened.operators;
    const poolConfig = takeOnRole({ connectionString: world.databaseUrl }, TEST_ROLES.DATABASE_SERVE_ROLE);
    serve = openDb(poolConfig, { error: () => undefined });
    jobs = await startTestJobs({ poolConfig });
    [withdrawal, manual, paused, aboveTerms, ofTwo, donor] = await Promise.all([
      openWithdrawal(),
      openManual(),
      openPaused(),
      openAboveTerms(),
      openOfTwo(),
      openManual(),
    ]);
    requireOk(await approveForCompany(world, operator, donor.batchId));
    await waitForStatus(donor, 'EXECUTED');
    await takeSnapshot();
  });
  after(async () => {
    await jobs.stop();
    await closeDb(serve);
    await world.stop();
  });

  it('gets the company’s signature by no statement that serve may run, whichever rule a batch breaks', async (t) => {
    const privileges = await readPrivileges(world.db);
    const rows = { targets: targets().map(({ batchId }) => batchId), donor: donor.batchId };
    const attacks = makeAttacks(privileges, rows);
    const used = new Set<string>();
    const rounds = Map.groupBy(attacks, ({ round }) => round);
    for (const together of rounds.values()) {
      for (const { privileges: accepted } of await tryAll(together)) for (const each of accepted) used.add(each);
    }
    t.diagnostic(`${privileges.length} privileges, ${attacks.length} statements, ${rounds.size} rounds`);
    const unused = [...new Set(privileges.map(describePrivilege))].filter((privilege) => !used.has(privilege));
    assert.deepEqual(unused, [], 'PostgreSQL accepts a use of each privilege that changes rows');
  });

  it('gets it by no statements together, whichever rule a batch breaks', async () => {
    const decided = sql`company_decided_at = now(), company_operator = ${operator.wallet.address}`;
    const ids = sql`${sql.val(targets().map(({ batchId }) => batchId))}::uuid[]`;
    const ofTargets = sql`id = any(${ids})`;
    const unique = () => sql`sha256(gen_random_uuid()::text::bytea)`;
    const copyOfDecision = ({ batchId }: Target) => sql`
      insert into company_decisions
        (batch_id, decision, operator, nonce, expires_at, signed_message, signature, decided_at)
      select ${batchId}, 'approve', operator, gen_random_uuid()::text, expires_at, signed_message, ${unique()}, now()
      from company_decisions where batch_id = ${donor.batchId}
    `;
    const change = (project: TestProject, values: RawBuilder<unknown>) => sql`
      insert into company_changes
        (project_id, paused_at, from_approval_mode, from_burn_limit, from_airdrop_limit,
          to_approval_mode, to_burn_limit, to_airdrop_limit, operator, nonce, expires_at, signed_message, signature, requested_at)
      select id, ${values}, ${operator.address}, gen_random_uuid()::text, now() + interval '1 hour', 'x', ${unique()}, now()
      from projects where id = ${project.projectId}
    `;
    const limits = sql`burn_limit, airdrop_limit`;
    const together: Readonly<Record<string, readonly RawBuilder<unknown>[]>> = {
      'every batch is decided, and no operator has signed': [
        sql`update batches set company_asked_at = now(), ${decided} where ${ofTargets}`,
      ],
      'every batch is decided by the decision about another project’s': [
        ...targets().map(copyOfDecision),
        sql`update batches set company_asked_at = now(), ${decided} where ${ofTargets}`,
      ],
      'no batch was asked for, no project is paused, and every limit is high': [
        sql`update projects set paused_at = null, burn_limit = 1e18, airdrop_limit = 1e18 where wallet <> ''`,
        sql`update company set paused_at = null`,
        sql`update batches set company_asked_at = null where ${ofTargets}`,
        sql`update daily_amounts set burned = 0, airdropped = 0 where day is not null`,
      ],
      'rules that no operator has signed, and an approval in the row of a second operator': [
        sql`
          insert into company_changes
            (project_id, policy, policy_version, operator, nonce, expires_at, signed_message, signature, requested_at)
          values (${ofTwo.project.projectId}, (select policy from company_policies order by version limit 1), 2,
            ${operator.address}, gen_random_uuid()::text, now() + interval '1 hour', 'x', ${unique()}, now())
        `,
        sql`
          insert into company_decisions
            (batch_id, decision, operator, nonce, expires_at, signed_message, signature, decided_at)
          select batch_id, decision, ${second.address}, gen_random_uuid()::text, expires_at, signed_message, ${unique()}, now()
          from company_decisions where batch_id = ${ofTwo.batchId}
        `,
        sql`update batches set company_asked_at = now(), ${decided} where id = ${ofTwo.batchId}`,
      ],
      'terms and an end of the pause that no operator has signed': [
        change(manual.project, sql`null, 'manual', ${limits}, 'automatic', 1e18, 1e18`),
        change(aboveTerms.project, sql`null, 'automatic', ${limits}, 'automatic', 1e18, 1e18`),
        change(paused.project, sql`paused_at, null, null, null, null, null, null`),
        sql`update batches set company_asked_at = null where ${ofTargets}`,
      ],
    };
    for (const [name, statements] of Object.entries(together)) {
      const attacks = statements.map((statement) => ({
        name,
        privileges: [],
        round: name,
        table: 'projects',
        statement,
      }));
      assert.equal((await tryAll(attacks)).length, statements.length, `the database accepts each statement: ${name}`);
    }
  });

  it('gets no vote for a withdrawal by its signed approval in the row of another batch', async () => {
    const { id: batchId } = await setUpBatch(world, withdrawal.project, [burnPipeline()]);
    await sql`
      update batches set signed_at = now(), signed_tx = (select signed_tx from batches where id = ${withdrawal.batchId})
      where id = ${batchId}
    `.execute(serve);
    await enqueue({ project: withdrawal.project, batchId });
    const { bundles } = await waitUntil(
      'the execution',
      async () => ({
        running: await countRunning([batchId]),
        bundles: await findBundles(world.db, batchId, 'execution'),
      }),
      ({ running, bundles }) => running === 0 || bundles.length > 0,
    );
    assert.deepEqual(bundles, []);
    const { executionError } = await readBatch(world, withdrawal.project, batchId);
    assert.equal(executionError?.code, 'ERR_SIGNED_TX_INVALID');
  });

  it('cannot store a batch of a paused project under a flywheel of another', async () => {
    // A worker would read the pause of the other.
    const copy = copyBatch(paused, { flywheelOf: donor, lockedLamports: 0n });
    await assert.rejects(copy, /batches_flywheel_of_project/);
  });

  it('cannot have a batch count for less than it locks: a worker computes it before the setup', async () => {
    const batchId = await copyBatch(donor, { flywheelOf: donor, lockedLamports: 0n });
    await enqueue({ project: donor.project, batchId }, 'setup');
    const read = () =>
      world.db.selectFrom('batches').select('locked_lamports').where('id', '=', batchId).executeTakeFirstOrThrow();
    await waitUntil('what the batch locks', read, ({ locked_lamports }) => locked_lamports > 1_000_000n);
  });

  it('would have got it for a decision of an operator, and after the pause', async () => {
    await enqueue(aboveTerms);
    await untilAsked(aboveTerms.batchId);
    for (const { batchId } of [withdrawal, manual, aboveTerms]) {
      requireOk(await approveForCompany(world, operator, batchId));
    }
    requireOk(await approveForCompany(world, second, ofTwo.batchId));
    await setPause(world, operator, paused.project, false);
    for (const target of targets()) await waitForStatus(target, 'EXECUTED');
  });

  async function openWithdrawal(): Promise<Target> {
    const project = await createProject(world);
    const { address: to } = await generateKeyPairSigner();
    const batchId = await setUpWithdrawal(world, project, { asset: 'SOL', to, amount: '1' });
    requireOk(await approveByWallet(world, project, batchId));
    return { project, batchId };
  }

  async function openManual(): Promise<Target> {
    const project = await createProject(world, { approvalMode: 'manual' });
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    assert.equal((await executeSigned(world, project, batch)).status, 202);
    return { project, batchId: batch.id };
  }

  async function openPaused(): Promise<Target> {
    const project = await createProject(world);
    const batch = await setUpBatch(world, project, [burnPipeline()]);
    await setPause(world, operator, project, true);
    // The thief's database has the pause that a worker has recorded: what came before it is not held back.
    const recorded = () =>
      world.db
        .selectFrom('company_pauses')
        .select('multisig')
        .where('multisig', '=', address(project.multisig))
        .execute();
    await waitUntil('the recorded pause', recorded, (rows) => rows.length === 1);
    await storeApproval(batch);
    return { project, batchId: batch.id };
  }

  /** Two operators must approve, and one has. */
  async function openOfTwo(): Promise<Target> {
    const project = await createProject(world);
    requireOk(await setPolicy(world, operator, project, { twoOperatorsPerBatch: '1', capPerRecipient: '1000000' }));
    const { address: recipient } = await generateKeyPairSigner();
    const batch = await setUpBatch(world, project, [airdropPipeline(recipient, 2)]);
    await executeSigned(world, project, batch, { prefer: 'wait=0' });
    await untilAsked(batch.id);
    requireOk(await approveForCompany(world, operator, batch.id));
    return { project, batchId: batch.id };
  }

  async function untilAsked(batchId: string): Promise<void> {
    const read = () =>
      world.db.selectFrom('batches').select('company_asked_at').where('id', '=', batchId).executeTakeFirst();
    await waitUntil('the worker to ask', read, (row) => row?.company_asked_at !== null);
  }

  /** The terms are those of the project when its first batch is set up; then the thief lets init accept more. */
  async function openAboveTerms(): Promise<Target> {
    const project = await createProject(world, { burnLimit: '1' });
    await setUpBatch(world, project, [burnPipeline(1)]);
    await sql`update projects set burn_limit = 1e18 where id = ${project.projectId}`.execute(serve);
    const batch = await setUpBatch(world, project, [burnPipeline(2)]);
    await storeApproval(batch);
    return { project, batchId: batch.id };
  }

  /** Stores a signed approval that the API would refuse, or ask the company for. */
  async function storeApproval({ id, signedTx }: OpenBatch): Promise<void> {
    await sql`update batches set signed_tx = ${signedTx}, signed_at = now() where id = ${id}`.execute(serve);
  }

  /** Stores an open copy of a batch, at an index far ahead. @returns its id. */
  async function copyBatch(
    { batchId }: Target,
    { flywheelOf, lockedLamports }: { readonly flywheelOf: Target; readonly lockedLamports: bigint },
  ): Promise<string> {
    const id = randomUUID();
    const ofOther = sql`(select flywheel_id from batches where id = ${flywheelOf.batchId})`;
    await sql`
      insert into batches (id, project_id, flywheel_id, token_id, kind, batch_index, status, idempotency_key, request_hash,
        pipeline_count, burn_amount, airdrop_amount, reserved_day, nonce_address, nonce_value, warnings, types, burn_count,
        airdrop_count, memo_count, created_at, updated_at, locked_lamports, reserved_lamports)
      select ${id}, project_id, ${ofOther}, token_id, kind, batch_index + 5000, 'AVAILABLE_TO_QUEUE', gen_random_uuid(),
        request_hash, pipeline_count, burn_amount, airdrop_amount, reserved_day, nonce_address, nonce_value, warnings, types,
        burn_count, airdrop_count, memo_count, created_at, updated_at, ${lockedLamports}, 0
      from batches where id = ${batchId}
    `.execute(serve);
    await sql`
      insert into pipelines (batch_id, position, project_id, type, payload, actions, proof_hash, instructions, vault_message)
      select ${id}, position, project_id, type, payload, actions, proof_hash, instructions, vault_message
      from pipelines where batch_id = ${batchId}
    `.execute(serve);
    return id;
  }

  /** Runs statements as the thief, has a worker try every target, and restores the rows. @returns those that are accepted. */
  async function tryAll(attacks: readonly Attack[]): Promise<Attack[]> {
    const accepted: Attack[] = [];
    for (const attack of attacks) if (await isAccepted(attack)) accepted.push(attack);
    if (accepted.length === 0) return [];
    const batchIds = targets().map(({ batchId }) => batchId);
    await jobs.enqueue(serve, { type: 'review-changes' });
    for (const target of targets()) await enqueue(target);
    const names = accepted.map(({ name }) => name).join(', ');
    const count = () => countRunning(batchIds);
    await waitUntil(`the jobs after ${names}`, count, (running) => running === 0);
    const { rows } = await sql`
      select from bundles where phase = 'execution' and batch_id = any(${batchIds}::uuid[])
    `.execute(world.db);
    assert.equal(rows.length, 0, `the company has signed after ${names}`);
    await restore(batchIds, new Set(['batches', ...attacks.map(({ table }) => table)]));
    return accepted;
  }

  async function enqueue({ project, batchId }: Target, type: 'setup' | 'execute' = 'execute'): Promise<void> {
    await jobs.enqueue(serve, { type, batchId, multisig: address(project.multisig) });
  }

  async function isAccepted({ name, statement }: Attack): Promise<boolean> {
    try {
      const { numAffectedRows = 0n } = await statement.execute(serve);
      return numAffectedRows > 0n;
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : error;
      assert.notEqual(code, INSUFFICIENT_PRIVILEGE, `${name}: serve may run it`);
      return false;
    }
  }

  /** Counts the executions that have not been tried; a job that failed is to be retried, and counts no more. */
  async function countRunning(batchIds: readonly string[]): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from jobs.job
      where state in ('created', 'active') and data->>'type' = 'execute' and data->>'batchId' = any(${batchIds}::text[])
    `.execute(world.db);
    return rows[0]?.count ?? 0;
  }

  /** Copies every table. */
  async function takeSnapshot(): Promise<void> {
    await sql`create schema snapshot`.execute(world.db);
    tables = await findTables();
    await sql`create table snapshot.company_pauses as table company_pauses`.execute(world.db);
    for (const { table } of tables) {
      await sql`create table ${sql.id('snapshot', table)} as table ${sql.id(table)}`.execute(world.db);
    }
  }

  /**
   * Restores changed and deleted rows, and the pauses that the worker has recorded, which would hide what follows. What the
   * thief inserted stays, for the attacks that follow.
   */
  async function restore(batchIds: readonly string[], changed: ReadonlySet<string>): Promise<void> {
    await sql`
      delete from jobs.job where data->>'type' = 'execute' and data->>'batchId' = any(${batchIds}::text[])
    `.execute(world.db);
    await sql`delete from company_pauses`.execute(world.db);
    await sql`insert into company_pauses table snapshot.company_pauses`.execute(world.db);
    for (const { table, key, columns } of tables.filter((each) => changed.has(each.table))) {
      const changes = columns.map((column) => sql`${sql.id(column)} = excluded.${sql.id(column)}`);
      await sql`
        insert into ${sql.id(table)} overriding system value table ${sql.id('snapshot', table)}
        on conflict (${sql.join(key.map((column) => sql.id(column)))}) do update set ${sql.join(changes)}
      `.execute(world.db);
    }
  }

  async function findTables() {
    const { rows } = await sql<{ table: string; key: string[]; columns: string[] }>`
      select relname as table,
        array_agg(attname::text) filter (where attnum = any(indkey)) as key,
        array_agg(attname::text) filter (where attidentity = '') as columns
      from pg_class join pg_index on indrelid = pg_class.oid and indisprimary join pg_attribute on attrelid = pg_class.oid
      where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace and attnum > 0
        and not attisdropped
        and relname not like 'kysely%' and relname <> 'rate_limits'
      group by relname
    `.execute(world.db);
    return rows;
  }

  async function waitForStatus({ batchId }: Target, status: string): Promise<void> {
    const read = () =>
      world.db.selectFrom('batches').select('status').where('id', '=', batchId).executeTakeFirstOrThrow();
    await waitUntil(`batch ${batchId}`, read, (row) => row.status === status);
  }
});
