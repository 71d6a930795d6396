import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { addColumnToEveryTable, openTestDatabase } from '@flywheel/testing/postgres';
import { storeUses } from '@flywheel/testing/records';
import { address, getAddressDecoder } from '@solana/kit';
import * as fc from 'fast-check';
import { sql } from 'kysely';
import {
  deleteOldUses,
  findPolicyUses,
  findUnreadTokenAccounts,
  type PolicyUse,
  recordCheckedTokenAccounts,
  recordReadTokenAccounts,
  releasePolicyUses,
  useKey,
} from '../../src/store/company/policy-uses.ts';

const { db } = await openTestDatabase();
// As a later release does while processes of this one run.
await addColumnToEveryTable(db);
const DAY = '2026-11-21';
/** Few, so that batches share them. */
const ACCOUNTS = Array.from({ length: 6 }, (_, i) => getAddressDecoder().decode(new Uint8Array(32).fill(i)));

/** A batch takes an amount of its recipients and type, and counts its token accounts, read or not. Then these happen to it. */
const batches = fc.array(
  fc.record({
    accounts: fc.uniqueArray(fc.constantFrom(...ACCOUNTS), { maxLength: 4 }),
    amount: fc.bigInt(0n, 18_446_744_073_709_551_615n),
    isRead: fc.boolean(),
    events: fc.array(fc.constantFrom('released', 'checked', 'read', 'moved to the next day'), { maxLength: 3 }),
    left: fc.subarray(ACCOUNTS),
  }),
  { minLength: 1, maxLength: 6 },
);

describe('uses of past days', () => {
  it('are deleted with their sums in steps that end long before the timeout of a statement', async (context) => {
    await sql`
      create function refuse_many() returns trigger language plpgsql as $$ begin
        if (select count(*) from deleted) > 10000 then raise 'A statement deletes too many rows.'; end if;
        return null;
      end $$
    `.execute(db);
    context.after(() => sql`drop function refuse_many cascade`.execute(db));
    await sql`
      create trigger refuse_many after delete on policy_uses referencing old table as deleted
      for each statement execute function refuse_many()
    `.execute(db);
    const [projectId, batchId] = [randomUUID(), randomUUID()];
    await sql`
      insert into policy_uses (batch_id, project_id, day, kind, subject, amount)
      select ${batchId}, ${projectId}, '2026-11-20', 'recipient', 'R' || i, 1 from generate_series(1, 25000) as i
    `.execute(db);
    await storeUses(db, { batchId: randomUUID(), projectId, day: DAY }, { uses: usesOf(['R1'], 2n), isRead: true });
    await deleteOldUses(db, DAY);
    const { rows } = await sql<{ day: string }>`
      select day from policy_uses where project_id = ${projectId}
      union all select day from policy_sums where project_id = ${projectId}
    `.execute(db);
    assert.deepEqual(new Set(rows.map(({ day }) => day)), new Set([DAY]));
  });
});

describe('the sums of a day', () => {
  it('are those of the batches, however they are counted, given back and looked up at the same time', async () => {
    await fc.assert(
      fc.asyncProperty(batches, async (given) => {
        const projectId = randomUUID();
        await Promise.all(
          given.map(async ({ accounts, amount, isRead, events, left }) => {
            const batchId = randomUUID();
            const asked = usesOf(accounts, amount);
            if (asked.length > 0) await storeUses(db, { batchId, projectId, day: DAY }, { uses: asked, isRead });
            for (const event of events) {
              if (event === 'released') await releasePolicyUses(db, batchId, usesOf(accounts, 0n));
              if (event === 'checked') await recordCheckedTokenAccounts(db, batchId, left);
              if (event === 'read') {
                const read = await findUnreadTokenAccounts(db, { projectId, day: DAY }, 9);
                await recordReadTokenAccounts(db, { projectId, day: DAY }, { read, missing: left });
              }
              if (event === 'moved to the next day') {
                await sql`update policy_uses set day = day + 1 where batch_id = ${batchId}`.execute(db);
              }
            }
          }),
        );
        assert.deepEqual(await keptSums(projectId), await computedSums(projectId));
        await sql`delete from policy_uses where project_id = ${projectId} and amount > 5`.execute(db);
        assert.deepEqual(await keptSums(projectId), await computedSums(projectId));
      }),
      { numRuns: 60 },
    );
  });

  it('leave out a batch, and the token accounts that only it counts', async () => {
    const [projectId, batchId] = [randomUUID(), randomUUID()];
    const [own, shared] = [address(ACCOUNTS[0] ?? ''), address(ACCOUNTS[1] ?? '')];
    const count = (id: string, uses: PolicyUse[]) =>
      storeUses(db, { batchId: id, projectId, day: DAY }, { uses, isRead: false });
    const asked = usesOf([own, shared], 5n);
    const readDay = async () => {
      const { uses, ...counted } = await findPolicyUses(db, { projectId, day: DAY }, asked);
      return { ofType: uses.get('type T'), ...counted };
    };
    assert.deepEqual(await readDay(), { ofType: undefined, tokenAccounts: 0, hasUnread: false });
    await count(batchId, asked);
    assert.deepEqual(await readDay(), { ofType: 5n, tokenAccounts: 2, hasUnread: true });
    await count(randomUUID(), usesOf([shared], 7n));
    assert.deepEqual(await readDay(), { ofType: 12n, tokenAccounts: 2, hasUnread: true });
    const others = await findPolicyUses(db, { projectId, day: DAY }, asked, batchId);
    assert.deepEqual(
      asked.map((use) => others.uses.get(useKey(use)) ?? 0n),
      [0n, 7n, 7n, 0n, 1n],
    );
    assert.equal(others.tokenAccounts, 1);
  });
});

function usesOf(accounts: readonly string[], amount: bigint): PolicyUse[] {
  if (accounts.length === 0) return [];
  return [
    ...accounts.map((subject) => ({ kind: 'recipient', subject, amount }) as const),
    { kind: 'type', subject: 'T', amount },
    ...accounts.map((subject) => ({ kind: 'token-account', subject, amount: 1n }) as const),
  ];
}

/** Without zeros: a sum that was given back stays as one. */
async function keptSums(projectId: string): Promise<string[]> {
  const { rows } = await sql<{ sum: string }>`
    select concat_ws(' ', day, kind, subject, amount) as sum from policy_sums
    where project_id = ${projectId} and amount <> 0 order by 1
  `.execute(db);
  return rows.map(({ sum }) => sum);
}

async function computedSums(projectId: string): Promise<string[]> {
  const { rows } = await sql<{ sum: string }>`
    select concat_ws(' ', day, kind, subject, sum(amount)) as sum from policy_uses
    where project_id = ${projectId} group by day, kind, subject having sum(amount) <> 0
    union all
    select concat_ws(' ', day, 'token-accounts', '', count(distinct subject)) from policy_uses
    where project_id = ${projectId} and kind = 'token-account' and amount > 0 group by day
    order by 1
  `.execute(db);
  return rows.map(({ sum }) => sum);
}
