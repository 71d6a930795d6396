import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takeTurns } from '../../src/batches/turn.ts';
import { createFairGate, endTurn, newShare, type Share } from '../../src/model/fair-gate.ts';

const never = new AbortController().signal;

test('a fair gate lets projects pass in turn, one that was not served before all others', async () => {
  const { gate, clock } = openGate(1);
  const order: string[] = [];
  const leave = await gate.enter(newShare(0), never);
  const busy = ['a', 'b', 'c'].map((name) => ({ name, share: servedShare(50) }));
  const pass = async (name: string, share: Share) => {
    const left = await gate.enter(share, never);
    order.push(name);
    clock.ms += 10;
    endTurn(share, clock.ms);
    left();
  };
  clock.ms = 100;
  const passing = [...busy, ...busy].map(({ name, share }) => pass(name, share));
  passing.push(pass('new', newShare(0)));
  leave();
  await Promise.all(passing);
  assert.deepEqual(order, ['new', 'a', 'b', 'c', 'a', 'b', 'c']);
});

test('a fair gate counts how long a project held its places when its turn ends', async () => {
  const { gate, clock } = openGate(1);
  const [long, short] = [newShare(0), newShare(0)];
  for (const [share, heldMs] of [
    [long, 500],
    [short, 10],
  ] as const) {
    const leave = await gate.enter(share, never);
    clock.ms += heldMs;
    leave();
    assert.equal(share.servedUntilMs, Number.NEGATIVE_INFINITY);
    endTurn(share, clock.ms);
  }
  assert.deepEqual([long.servedUntilMs, short.servedUntilMs], [1_000, 520]);
});

test('a fair gate lets a single batch go before backlogs that were not served yet, but for minutes only', async () => {
  const { gate } = openGate(1);
  const leave = await gate.enter(newShare(0), never);
  const order: string[] = [];
  const pass = async (name: string, share: Share) => {
    const left = await gate.enter(share, never);
    order.push(name);
    left();
  };
  const passing = ['early', 'late'].map((name, i) => pass(name, { ...newShare(i * 1_000), hasBacklog: true }));
  // It became a backlog while it waited.
  const grown = newShare(500);
  passing.push(pass('grown', grown), pass('single', newShare(60_000)), pass('too late', newShare(300_000)));
  grown.hasBacklog = true;
  leave();
  await Promise.all(passing);
  assert.deepEqual(order, ['single', 'early', 'grown', 'late', 'too late']);
});

test('a batch keeps its order from the work before its bundle to the work after it, and not for its next bundle', async () => {
  const { gate, clock } = openGate(1);
  const carrier = {
    awaitTurn: async () => {
      clock.ms += 200;
    },
  };
  const order: string[] = [];
  const sent = Promise.withResolvers<void>();
  const landed = Promise.withResolvers<void>();
  const share = newShare(0);
  const batch = takeTurns({ gate, share, clock, signal: never }, async (turn) => {
    await turn.awaitBundle(carrier);
    await turn.pause(() => {
      sent.resolve();
      return landed.promise;
    });
    order.push('after the bundle');
    await turn.awaitBundle(carrier);
    order.push('second bundle');
  });
  await sent.promise;
  const leave = await gate.enter(newShare(0), never);
  const others = ['first', 'second'].map(async (name) => {
    const left = await gate.enter(newShare(1_000), never);
    order.push(name);
    left();
  });
  landed.resolve();
  // The batch waits by then.
  await new Promise(setImmediate);
  leave();
  await Promise.all([batch, ...others]);
  assert.deepEqual(order, ['after the bundle', 'first', 'second', 'second bundle']);
});

test('a batch whose turn at the block engine has come works on before all others', async () => {
  const { gate, clock } = openGate(1);
  const order: string[] = [];
  const called = Promise.withResolvers<void>();
  const carrier = {
    awaitTurn: async (share: Share) => {
      await called.promise;
      share.isExpected = true;
    },
  };
  const share = { ...newShare(0), hasBacklog: true };
  const batch = takeTurns({ gate, share, clock, signal: never }, async (turn) => {
    await turn.awaitBundle(carrier);
    order.push('called');
    await turn.pause(async () => undefined);
    order.push('followed');
  });
  await new Promise(setImmediate);
  const leave = await gate.enter(newShare(0), never);
  const other = gate.enter(newShare(0), never).then((left) => {
    order.push('other');
    left();
  });
  called.resolve();
  await new Promise(setImmediate);
  leave();
  await Promise.all([batch, other]);
  assert.deepEqual(order, ['called', 'other', 'followed']);
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

function servedShare(servedUntilMs: number): Share {
  return { ...newShare(0), servedUntilMs };
}
