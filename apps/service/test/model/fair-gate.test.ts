import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFairGate, type Share } from '../../src/model/fair-gate.ts';

const never = new AbortController().signal;

test('a fair gate lets projects pass in turn, one that was not served before all others', async () => {
  const { gate, clock } = openGate(1);
  const order: string[] = [];
  const leave = await gate.enter(newShare(0), never);
  const busy = ['a', 'b', 'c'].map((name) => ({ name, share: newShare(50) }));
  const pass = async (name: string, share: Share) => {
    const left = await gate.enter(share, never);
    order.push(name);
    clock.ms += 10;
    left();
  };
  clock.ms = 100;
  const passing = [...busy, ...busy].map(({ name, share }) => pass(name, share));
  passing.push(pass('new', newShare(0)));
  leave();
  await Promise.all(passing);
  assert.deepEqual(order, ['new', 'a', 'b', 'c', 'a', 'b', 'c']);
});

test('a fair gate counts how long a project held its place', async () => {
  const { gate, clock } = openGate(1);
  const [long, short] = [newShare(0), newShare(0)];
  for (const [share, heldMs] of [
    [long, 500],
    [short, 10],
  ] as const) {
    const leave = await gate.enter(share, never);
    clock.ms += heldMs;
    leave();
  }
  assert.deepEqual([long.servedUntilMs, short.servedUntilMs], [1_000, 520]);
});

test('a fair gate frees no place for a job that stopped waiting, and a place only once', async () => {
  const { gate } = openGate(1);
  const stopped = new AbortController();
  const leave = await gate.enter(newShare(0), never);
  const aborted = gate.enter(newShare(0), stopped.signal);
  const next = gate.enter(newShare(1), never);
  stopped.abort(new Error('stopped'));
  await assert.rejects(aborted, /stopped/);
  leave();
  const leaveNext = await next;
  leave();
  assert.equal(gate.isBusy(), true);
  leaveNext();
  assert.equal(gate.isBusy(), false);
});

function openGate(capacity: number) {
  const clock = { ms: 0, now: () => new Date(clock.ms) };
  return { gate: createFairGate({ capacity, clock }), clock };
}

function newShare(servedUntilMs: number): Share {
  return { servedUntilMs };
}
