import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BatchEvent } from '@flywheel/api';
import { describeEvent, readTimeline } from '../src/commands/batch/timeline.ts';

const START_MS = Date.parse('2026-11-21T08:00:00.000Z');

describe('the timeline of a batch', () => {
  it('shows after every event which step is running, and how long each step took', () => {
    const story: [event: Partial<BatchEvent> & Pick<BatchEvent, 'type'>, picture: string][] = [
      [{ type: 'batch.initialized' }, '● Compile, ◔ Set up on chain, ○ Wallet approval, ○ Execute'],
      [{ type: 'batch.bundle_sent', phase: 'setup' }, '● Compile, ◔ Set up on chain, ○ Wallet approval, ○ Execute'],
      [
        { type: 'batch.bundle_landed', phase: 'setup', signatures: ['a', 'b'] },
        '● Compile, ◔ Set up on chain (2 transactions landed), ○ Wallet approval, ○ Execute',
      ],
      [
        { type: 'batch.finalized' },
        '● Compile, ● Set up on chain (2 transactions), ◔ Wallet approval (pending: flywheel sign, then flywheel execute), ○ Execute',
      ],
      [
        { type: 'batch.approval_received' },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approval, ◔ Execute',
      ],
      [
        { type: 'batch.awaiting_company_approval' },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approval, ◔ Company approval (pending: a company approver must decide), ○ Execute',
      ],
      [
        { type: 'batch.company_approval_received', approvals: { given: 1, required: 2 } },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approval, ◔ Company approval (pending: 1 of 2 operators have approved), ○ Execute',
      ],
      [
        { type: 'batch.company_approved' },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approval, ● Company approval, ◔ Execute',
      ],
      [
        { type: 'batch.held_up', error: { message: 'The vault lacks 3 tokens.' } },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approval, ● Company approval, ◔ Execute (The vault lacks 3 tokens.)',
      ],
      [
        { type: 'batch.executed', executedPipelines: 36 },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approval, ● Company approval, ● Execute (36 pipelines)',
      ],
      [
        { type: 'batch.bundle_landed', phase: 'close', signatures: ['c'] },
        '● Compile, ● Set up on chain (2 transactions), ● Wallet approval, ● Company approval, ● Execute (36 pipelines)',
      ],
    ];
    const events = story.map(([event], second) => eventOf(event, second));
    for (const [i, [, picture]] of story.entries()) {
      assert.equal(pictureOf(events.slice(0, i + 1)), picture, story[i]?.[0].type);
    }
    const [, setUp] = readTimeline(events);
    assert.deepEqual([setUp?.startedAtMs, setUp?.endedAtMs], [START_MS, START_MS + 3_000]);
  });

  it('ends with the step that failed and the reason', () => {
    const begun = [eventOf({ type: 'batch.initialized' }, 0), eventOf({ type: 'batch.finalized' }, 1)];
    const expired = eventOf({ type: 'batch.expired' }, 2);
    assert.match(pictureOf([...begun, expired]), /✗ Wallet approval \(expired\), ○ Execute$/);
    const signed = [...begun, eventOf({ type: 'batch.approval_received' }, 2)];
    const rejected = [
      eventOf({ type: 'batch.awaiting_company_approval' }, 3),
      eventOf({ type: 'batch.company_rejected', reason: 'Too much' }, 4),
    ];
    assert.match(pictureOf([...signed, ...rejected]), /✗ Company approval \(Too much\), ○ Execute$/);
    const failed = eventOf({ type: 'batch.failed', error: { message: 'Pipeline 2 failed.' } }, 5);
    assert.match(pictureOf([...signed, failed]), /● Wallet approval, ✗ Execute \(Pipeline 2 failed\.\)$/);
  });

  it('has only pending steps before the first event', () => {
    assert.equal(pictureOf([]), '○ Compile, ○ Set up on chain, ○ Wallet approval, ○ Execute');
  });
});

it('describeEvent prints time, type and details in one line', () => {
  const landed = eventOf({ type: 'batch.bundle_landed', phase: 'execution', signatures: ['a', 'b'] }, 0);
  assert.equal(describeEvent(landed), '2026-11-21T08:00:00.000Z  bundle landed, execution, 2 transactions');
  const first = eventOf({ type: 'batch.company_approval_received', approvals: { given: 1, required: 2 } }, 1);
  assert.match(describeEvent(first), /Z {2}company approval received, 1 of 2 operators have approved$/);
});

const MARKS = { pending: '○', running: '◔', done: '●', failed: '✗' } as const;

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
