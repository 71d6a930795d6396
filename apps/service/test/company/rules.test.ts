import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CompanyPolicy, NO_POLICY } from '@flywheel/protocol';
import { randomAddress } from '@flywheel/testing/records';
import { findMetRules, findWaits, findWithdrawalRule, type JudgedDay } from '../../src/batches/policy/evaluate.ts';
import { readFacts } from '../../src/batches/policy/facts.ts';
import type { BatchAction, CompiledPipeline } from '../../src/model/batch.ts';

const TOKEN = { decimals: 0 };
const [ALICE, BOB] = [randomAddress(), randomAddress()];
const ALONE: JudgedDay = { day: '2026-11-21', moved: 0n, uses: new Map(), tokenAccounts: null };
const burn = (amount: number) => pipeline({ action: 'BURN', amount });
const pay = (toAddress: string, amount: number) => pipeline({ action: 'AIRDROP', toAddress, amount });

describe('findMetRules', () => {
  it('measures burned and airdropped tokens together, and lets a batch reach an amount', () => {
    const pipelines = [burn(4), pay(ALICE, 6)];
    for (const rule of ['personPerBatch', 'personPerDay', 'twoOperatorsPerBatch'] as const) {
      assert.deepEqual(met({ [rule]: 10n }, pipelines), [], rule);
      assert.deepEqual(met({ [rule]: 9n }, pipelines), [rule]);
    }
  });

  it('adds what the other batches of the day have moved, and asks no person about a batch that moves nothing', () => {
    assert.deepEqual(met({ personPerDay: 10n }, [burn(4)], { moved: 6n }), []);
    assert.deepEqual(met({ personPerDay: 10n }, [burn(4)], { moved: 7n }), ['personPerDay']);
    assert.deepEqual(met({ personPerDay: 10n }, [], { moved: 11n }), []);
  });

  it('measures each recipient by all that it receives in the batch, and the cap by all of the day', () => {
    const pipelines = [pay(ALICE, 3), pay(BOB, 4), pay(ALICE, 3)];
    assert.deepEqual(met({ personPerRecipient: 6n }, pipelines), []);
    assert.deepEqual(met({ personPerRecipient: 5n }, pipelines), ['personPerRecipient']);
    assert.deepEqual(met({ capPerRecipient: 6n }, pipelines), []);
    const uses = new Map([[`recipient ${BOB}`, 3n]]);
    assert.deepEqual(met({ capPerRecipient: 6n }, pipelines, { uses }), ['capPerRecipient']);
    assert.deepEqual(met({ capPerRecipient: 5n }, [burn(9)], { uses }), []);
  });

  it('measures a type by all of the day, if the batch moves something of it', () => {
    const policy = { capsPerType: [{ type: 'WATCH_AD', baseUnits: 5n }] };
    const usedBefore = (amount: bigint) => ({ uses: new Map([['type WATCH_AD', amount]]) });
    assert.deepEqual(met(policy, [burn(2), pay(ALICE, 1)], usedBefore(2n)), []);
    assert.deepEqual(met(policy, [burn(2), pay(ALICE, 1)], usedBefore(3n)), ['capsPerType']);
    assert.deepEqual(met(policy, [{ ...burn(9), type: 'ORDER' }], usedBefore(6n)), []);
  });

  it('refuses a recipient who is denied, or not allowed', () => {
    const pipelines = [pay(ALICE, 1), pay(BOB, 1)];
    assert.deepEqual(met({ allowed: [ALICE, BOB] }, pipelines), []);
    assert.deepEqual(met({ allowed: [ALICE] }, pipelines), ['allowed']);
    assert.deepEqual(met({ allowed: [] }, [burn(1)]), []);
    assert.deepEqual(met({ denied: [BOB] }, pipelines), ['denied']);
    const policy = { ...NO_POLICY, allowed: [ALICE], denied: [ALICE] };
    const effects = findMetRules(policy, TOKEN, readFacts(pipelines, TOKEN), ALONE).map(({ effect }) => effect);
    assert.deepEqual(effects, ['refused', 'refused']);
  });

  it('counts new token accounts with those of the day; more than a whole day’s are for a person', () => {
    const effects = (asked: number, usedToday: number) => {
      const policy = { ...NO_POLICY, newTokenAccounts: 3 };
      const day = { ...ALONE, tokenAccounts: { asked, usedToday } };
      return findMetRules(policy, TOKEN, readFacts([], TOKEN), day).map(({ effect }) => effect);
    };
    assert.deepEqual([effects(0, 4), effects(2, 1), effects(2, 2), effects(4, 0)], [[], [], ['capped'], ['person']]);
  });
});

describe('findWithdrawalRule', () => {
  it('asks two operators about a withdrawal of more tokens, and about no SOL', () => {
    const withdrawal = (asset: 'SOL' | 'TOKEN') => [
      pipeline({ action: 'WITHDRAW', asset, toAddress: BOB, amount: '5' }),
    ];
    const find = (twoOperatorsPerBatch: bigint, asset: 'SOL' | 'TOKEN') =>
      findWithdrawalRule({ ...NO_POLICY, twoOperatorsPerBatch }, TOKEN, readFacts(withdrawal(asset), TOKEN)).length;
    assert.deepEqual([find(5n, 'TOKEN'), find(4n, 'TOKEN'), find(0n, 'SOL')], [0, 1, 0]);
  });
});

describe('findWaits', () => {
  const [NIGHT, DAYTIME] = [
    { from: 1_320, to: 390 },
    { from: 480, to: 1_080 },
  ];
  const waits = (hours: CompanyPolicy['hours'], time: string) => {
    const moment = { now: new Date(`2026-11-21T${time}:30Z`), tokenAccounts: null };
    return findWaits({ ...NO_POLICY, hours }, TOKEN, moment).map(({ until }) => until?.toISOString().slice(0, 16));
  };

  it('lets the company sign from the first minute of its hours, and not in the last, also over midnight', () => {
    for (const time of ['08:00', '17:59']) assert.deepEqual(waits(DAYTIME, time), [], time);
    for (const time of ['22:00', '23:59', '00:00', '06:29']) assert.deepEqual(waits(NIGHT, time), [], time);
  });

  it('says when the hours begin next', () => {
    assert.deepEqual(waits(DAYTIME, '07:59'), ['2026-11-21T08:00']);
    assert.deepEqual(waits(DAYTIME, '18:00'), ['2026-11-22T08:00']);
    for (const time of ['06:30', '21:59']) assert.deepEqual(waits(NIGHT, time), ['2026-11-21T22:00'], time);
  });
});

/** Names the rules that a batch meets. */
function met(policy: Partial<CompanyPolicy>, pipelines: readonly Judged[], day: Partial<JudgedDay> = {}): string[] {
  const found = findMetRules({ ...NO_POLICY, ...policy }, TOKEN, readFacts(pipelines, TOKEN), { ...ALONE, ...day });
  return found.map(({ rule }) => rule);
}

type Judged = Pick<CompiledPipeline, 'type' | 'actions'>;

function pipeline(action: BatchAction): Judged {
  return { type: 'WATCH_AD', actions: [action] };
}
