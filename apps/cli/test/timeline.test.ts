import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BatchEvent } from '@flywheel/api';
import { describeEvent, readTimeline } from '../src/commands/batch/timeline.ts';

const START_MS = Date.parse('2026-11-21T08:00:00.000Z');

describe('the timeline of a batch', () => {
  it('shows whose turn it is at every event, and how long each step took', () => {
    const story: [event: Partial<BatchEvent> & Pick<BatchEvent, 'type'>, picture: string][] = [
      [{ type: 'batch.initialized' }, '● Compile, ◔ Set up on chain, ○ Wallet approves, ○ Execute'],
      [{ type: 'batch.bundle_sent', phase: 'setup' }, '● Compile, ◔ Set up on chain, ○ Wallet approves, ○ Execute'],
      [
        { type: 'batch.bundle_landed', phase: 'setup', signatures: ['a', 'b'] },
        '● Compile, ◔ Set up on chain (2 transactions landed), ○ Wallet approves, ○ Execute',
      ],
      [
        { type: 'batch.finalized' },
        '● Compile, ● Set up on chain (2 transactions), ◔ Wallet approves (waits for the wallet: flywheel sign, then flywheel execute), ○ Execute',
      ],
      [
        { type: 'batch.approval_received' },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approves, ◔ Execute',
      ],
      [
        { type: 'batch.awaiting_company_approval' },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approves, ◔ Company approves (waits for a person of the company), ○ Execute',
      ],
      [
        { type: 'batch.company_approved' },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approves, ● Company approves, ◔ Execute',
      ],
      [
        { type: 'batch.held_up', error: { message: 'The vault lacks 3 tokens.' } },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approves, ● Company approves, ◔ Execute (The vault lacks 3 tokens.)',
      ],
      [
        { type: 'batch.executed', executedPipelines: 36 },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approves, ● Company approves, ● Execute (36 pipelines)',
      ],
      [
        { type: 'batch.bundle_landed', phase: 'close', signatures: ['c'] },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approves, ● Company approves, ● Execute (36 pipelines)',
      ],
    ];
    const events = story.map(([event], second) => eventOf(event, second));
    for (const [i, [, picture]] of story.entries()) {
      assert.equal(pictureOf(events.slice(0, i + 1)), picture, story[i]?.[0].type);
    }
    const [, setUp] = readTimeline(events);
    assert.deepEqual([setUp?.startedAtMs, setUp?.endedAtMs], [START_MS, START_MS + 3_000]);
  });

  it('ends at the step that failed, with the reason', () => {
    const begun = [eventOf({ type: 'batch.initialized' }, 0), eventOf({ type: 'batch.finalized' }, 1)];
    const expired = eventOf({ type: 'batch.expired' }, 2);
    assert.match(pictureOf([...begun, expired]), /✗ Wallet approves \(expired\), ○ Execute$/);
    const signed = [...begun, eventOf({ type: 'batch.approval_received' }, 2)];
    const rejected = [
      eventOf({ type: 'batch.awaiting_company_approval' }, 3),
      eventOf({ type: 'batch.company_rejected', reason: 'Too much' }, 4),
    ];
    assert.match(pictureOf([...signed, ...rejected]), /✗ Company approves \(Too much\), ○ Execute$/);
    const failed = eventOf({ type: 'batch.failed', error: { message: 'Pipeline 2 failed.' } }, 5);
    assert.match(pictureOf([...signed, failed]), /● Wallet approves, ✗ Execute \(Pipeline 2 failed\.\)$/);
  });

  it('has nothing done before its first event', () => {
    assert.equal(pictureOf([]), '○ Compile, ○ Set up on chain, ○ Wallet approves, ○ Execute');
  });
});

it('an event is a line of its time, what happened and what there is to know', () => {
  const landed = eventOf({ type: 'batch.bundle_landed', phase: 'execution', signatures: ['a', 'b'] }, 0);
  assert.equal(describeEvent(landed), '2026-11-21T08:00:00.000Z  bundle landed, execution, 2 transactions');
});

const MARKS = { waiting: '○', running: '◔', done: '●', failed: '✗' } as const;

function pictureOf(events: readonly BatchEvent[]): string {
  return readTimeline(events)
    .map(({ label, state, detail }) => `${MARKS[state]} ${label}${detail === '' ? '' : ` (${detail})`}`)
    .join(', ');
}

function eventOf(event: Partial<BatchEvent> & Pick<BatchEvent, 'type'>, second: number): BatchEvent {
  return {
    id: String(second + 1),
    batchId: '0198a3c2-0000-7000-8000-000000000000',
    at: new Date(START_MS + second * 1_000).toISOString(),
    status: 'FINALIZED',
    ...event,
  };
}
