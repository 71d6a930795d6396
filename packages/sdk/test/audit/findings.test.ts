import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { writeMergedPayload } from '@flywheel/protocol';
import { type AuditRecord, type AuditReport, proofHash } from '@flywheel/sdk';
import {
  auditProgress,
  auditVerdict,
  type EventMatches,
  matchEvents,
  parseAuditBound,
  readAuditEvents,
} from '@flywheel/sdk/audit-findings';

const EVENT = { type: 'WATCH_AD', payload: '{"adId":"1"}' };

describe('the findings of an audit', () => {
  it('have a verdict: an outflow without a proof comes before gaps, and gaps before events', () => {
    const report = (isExplained: boolean, isComplete: boolean) => ({ isExplained, isComplete }) as AuditReport;
    const events = (unprovenCount: number) => ({ unprovenCount }) as EventMatches;
    assert.equal(auditVerdict(report(false, false), events(1)), 'unexplained');
    assert.equal(auditVerdict(report(true, false), events(1)), 'incomplete');
    assert.equal(auditVerdict(report(true, true), events(1)), 'unproven');
    assert.equal(auditVerdict(report(true, true), events(0)), 'explained');
    assert.equal(auditVerdict(report(true, true), null), 'explained');
  });

  it('match events each time alike', async () => {
    const read = await readAuditEvents(iterate([JSON.stringify(EVENT), '', JSON.stringify(EVENT)]));
    assert.ok('events' in read);
    const place = { slot: 1, executedAt: null, signature: 's', batch: 'b' };
    const record: AuditRecord = { kind: 'pipeline', ...place, type: EVENT.type, hash: proofHash(EVENT) };
    for (let time = 0; time < 2; time++) {
      const { proven, unproven, unmatchedCount } = await matchEvents(read.events, iterate([record]));
      assert.deepEqual([proven, unproven.map(({ line }) => line), unmatchedCount], [1, [3], 0]);
    }
    const { proven, unmatchedCount } = await matchEvents(read.events, iterate([record, record, record]));
    assert.deepEqual([proven, unmatchedCount], [2, 1]);
  });

  it('match no event by a proof of another type, whatever hash its memo has', async () => {
    const merged = { type: EVENT.type, payload: writeMergedPayload(EVENT.type, [EVENT.payload, '{}']) };
    const read = await readAuditEvents(iterate([EVENT, merged].map((event) => JSON.stringify(event))));
    assert.ok('events' in read);
    for (const proven of [EVENT, merged]) {
      const place = { slot: 1, executedAt: null, signature: 's', batch: 'b' };
      const record: AuditRecord = { kind: 'pipeline', ...place, type: 'SALE', hash: proofHash(proven) };
      const { unprovenCount, unmatched } = await matchEvents(read.events, iterate([record]));
      assert.deepEqual([unprovenCount, unmatched], [1, [{ signature: 's', type: 'SALE', hash: record.hash }]]);
    }
  });

  it('are not compared with a file whose lines are no events', async () => {
    for (const line of ['{', '[]', '7', '{"type":"A"}', '{"type":"","payload":""}', '{"type":1,"payload":""}']) {
      assert.deepEqual(await readAuditEvents(iterate([JSON.stringify(EVENT), line])), { invalidLine: 2 }, line);
    }
  });

  it('are of a period from the first second of a day to the last one of another', () => {
    assert.equal(parseAuditBound('2026-01-31', 'from'), '2026-01-31T00:00:00Z');
    assert.equal(parseAuditBound('2026-01-31', 'to'), '2026-01-31T23:59:59Z');
    assert.equal(parseAuditBound('2026-01-31T12:00+01:00', 'to'), '2026-01-31T12:00+01:00');
    assert.equal(parseAuditBound('0', 'from'), 0);
    for (const text of ['', 'yesterday', '-1', '1.5', '2026-13-01', '2026-02-29', '2026-01-31T12:00', ' 1']) {
      assert.equal(parseAuditBound(text, 'from'), null, text);
    }
  });

  it('are read back to the first slot of the period', () => {
    const at = (slot: number | null, from: number | null) =>
      auditProgress({ slot, period: { from, to: null, headSlot: 200 } });
    assert.deepEqual([at(null, 100), at(200, 100), at(150, 100), at(90, 100), at(50, null)], [0, 0, 0.5, 1, 0.75]);
    assert.equal(at(200, 200), 0);
  });
});

async function* iterate<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
