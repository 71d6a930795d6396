import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FirstStepsInput, findDoneSteps } from '../src/features/project/first-steps-state.ts';

const NO_BATCHES = { AVAILABLE_TO_QUEUE: 0, FINALIZED: 0, EXECUTED: 0, FAILED: 0 };

describe('the first steps of a project', () => {
  it('are done by what happened: a used key, a funded vault, a batch, its execution, a webhook', () => {
    const day = '2026-11-21T00:00:00.000Z';
    assert.deepEqual(doneOf({}), []);
    assert.deepEqual(doneOf({ keys: [{}, { lastUsedAt: day }] }), ['key']);
    assert.deepEqual(doneOf({ tokens: '5' }), []);
    assert.deepEqual(doneOf({ tokens: '5', lamports: '1' }), ['vault']);
    assert.deepEqual(doneOf({ batches: { ...NO_BATCHES, FAILED: 1 } }), ['batch']);
    assert.deepEqual(doneOf({ webhooks: 1 }), ['webhook']);
  });

  it('stay done when the vault has spent everything', () => {
    assert.deepEqual(doneOf({ batches: { ...NO_BATCHES, EXECUTED: 2 } }), ['vault', 'batch', 'proof']);
  });
});

interface Known extends Partial<Omit<FirstStepsInput, 'project'>> {
  readonly tokens?: string;
  readonly lamports?: string;
  readonly batches?: typeof NO_BATCHES;
}

function doneOf({ tokens = '0', lamports = '0', batches = NO_BATCHES, keys = [], webhooks = 0 }: Known) {
  const held = (available: string) => ({ available, needed: '0', missing: '0' });
  const project = { funds: { tokens: held(tokens), lamports: held(lamports) }, batches };
  return [...findDoneSteps({ project, keys, webhooks })];
}
