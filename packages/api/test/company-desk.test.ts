import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CompanyOverview } from '../src/index.ts';
import { mergeOverviews, mergeProjects } from '../src/index.ts';

const SOL = 1_000_000_000n;

function overviewOf({ operator = {}, ...changes }: Changes): CompanyOverview {
  const use = { used: '1', cap: '2' };
  return {
    isPaused: false,
    operator: {
      address: 'operator',
      lamports: String(100n * SOL),
      rentOutLamports: String(SOL),
      spentPerDayLamports: String(2n * SOL),
      runwayDays: 50,
      ...operator,
    },
    exposure: { lockedLamports: '1', spentTodayLamports: '1', unadmitted: { locked: use, spentToday: use } },
    company: 'company',
    nonces: { creating: 0, available: 8, leased: 0, refreshing: 0 },
    projects: 1,
    openBatches: 2,
    waitingBatches: 3,
    stuckJobs: 4,
    ...changes,
  };
}

interface Changes extends Partial<Omit<CompanyOverview, 'operator'>> {
  readonly operator?: Partial<CompanyOverview['operator']>;
}

function merge(...overviews: readonly CompanyOverview[]) {
  return mergeOverviews(overviews.map((body, index) => ({ shard: index + 1, answer: { body } })));
}

describe('the figures of several shards', () => {
  it('are added, and one operator has one account, from which all shards spend', () => {
    const unread = { lamports: null, runwayDays: null };
    const { shards, totals } = merge(overviewOf({ operator: unread }), overviewOf({ projects: 10, stuckJobs: 0 }));
    assert.deepEqual(totals, {
      projects: 11,
      openBatches: 4,
      waitingBatches: 6,
      stuckJobs: 4,
      operator: {
        address: 'operator',
        lamports: String(100n * SOL),
        rentOutLamports: String(2n * SOL),
        spentPerDayLamports: String(4n * SOL),
        runwayDays: 25,
      },
    });
    assert.deepEqual(
      shards.map(({ shard, projects }) => [shard, projects]),
      [
        [1, 1],
        [2, 10],
      ],
    );
  });

  it('of one shard are its own, with its runway', () => {
    const overview = overviewOf({});
    assert.deepEqual(merge(overview).totals.operator, overview.operator);
  });

  it('have no account in common if the shards have several operators', () => {
    assert.equal(merge(overviewOf({}), overviewOf({ operator: { address: 'other' } })).totals.operator, null);
  });

  it('have no runway if nothing is spent, or the account is unknown', () => {
    const idle = { spentPerDayLamports: '0' };
    assert.equal(merge(overviewOf({ operator: idle })).totals.operator?.runwayDays, null);
    const unread = overviewOf({ operator: { lamports: null } });
    assert.deepEqual(
      [merge(unread).totals.operator?.lamports, merge(unread).totals.operator?.runwayDays],
      [null, null],
    );
  });
});

describe('the list of all projects', () => {
  it('is in the order of each shard’s list, newest first, with the shard of each', () => {
    const project = (id: string, dateCreated: string) => ({
      id,
      dateCreated,
      wallet: 'wallet',
      token: { id: 'token', mint: 'mint', decimals: 6, program: 'spl-token' as const },
      vaultAddress: 'vault',
      approvalMode: 'manual' as const,
      openBatches: 0,
      isPaused: false,
      isAdmitted: true,
    });
    const merged = mergeProjects([
      { shard: 1, answer: { body: { projects: [project('c', '2026-11-26'), project('a', '2026-11-24')] } } },
      { shard: 2, answer: { body: { projects: [project('b', '2026-11-25')] } } },
    ]);
    assert.deepEqual(
      merged.map(({ id, shard }) => [id, shard]),
      [
        ['c', 1],
        ['b', 2],
        ['a', 1],
      ],
    );
  });
});
