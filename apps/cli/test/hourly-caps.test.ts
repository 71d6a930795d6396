import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createVolatileMemoryStore } from '@flywheel/sdk/collector';
import { openHourlyCaps } from '../src/commands/collect/hourly-caps.ts';

const DAY_MS = 86_400_000;

describe('the caps of an hour', () => {
  it('count what the store has accepted within the hour, also before a restart', async () => {
    const minutes = (count: number) => 1_000_000_000_000 + count * 60_000;
    const store = createVolatileMemoryStore();
    const airdrop = (amount: number) => ({ action: 'AIRDROP', toAddress: 'x', amount });
    const add = (id: string, acceptedAtMs: number, amount: number) =>
      store.add([
        { id, acceptedAtMs, content: JSON.stringify({ type: 'T', payload: '{}', actions: [airdrop(amount)] }) },
      ]);
    for (let i = 0; i < 9; i += 1) await add(`old ${i}`, minutes(i), 10);
    await add('recent', minutes(100), 3);
    await add('unpayable', minutes(101), 0.001);
    let now = minutes(130);
    const limits = { events: 4, baseUnits: 500n };
    const caps = await openHourlyCaps(store, limits, { decimals: 2, now: () => now, elapsedMs: () => now });
    assert.equal(caps.take(201n), null);
    caps.take(200n)?.();
    assert.ok(caps.take(100n), 'what was given back can be taken');
    assert.ok(caps.take(100n));
    assert.equal(caps.take(0n), null);
    now = minutes(162);
    assert.ok(caps.take(300n));
  });

  it('count every event of the hour after a restart, whatever has become of it', async () => {
    const store = createVolatileMemoryStore();
    const now = 100 * DAY_MS;
    const actions = [{ action: 'BURN', amount: 1 }];
    const content = JSON.stringify({ type: 'WATCH_AD', payload: '{}', actions });
    // More than a page of each state.
    const ids = Array.from({ length: 4_004 }, (_, i) => String(i));
    const items = await store.add(ids.map((id) => ({ id, content, acceptedAtMs: now - 60_000 })));
    const states = ['pending', 'paid', 'quarantined', 'dropped'] as const;
    const changes = items.map((item, i) => ({ item, to: { state: states[i % 4] ?? 'pending' } }));
    await store.write((await store.claim()) ?? 0, { items: changes });
    const limits = { events: 4_006, baseUnits: 400_500n };
    const caps = await openHourlyCaps(store, limits, { decimals: 2, now: () => now, elapsedMs: () => 0 });
    assert.equal(caps.take(101n), null);
    assert.ok(caps.take(100n));
    assert.ok(caps.take(0n));
    assert.equal(caps.take(0n), null);
  });

  it('leave no hour with more, whenever it begins', async () => {
    let elapsed = 59_999;
    const store = createVolatileMemoryStore();
    const limits = { events: 1, baseUnits: 0n };
    const caps = await openHourlyCaps(store, limits, { decimals: 2, elapsedMs: () => elapsed });
    assert.ok(caps.take(0n));
    elapsed += 3_600_000 - 1;
    assert.equal(caps.take(0n), null);
    elapsed += 60_000;
    assert.ok(caps.take(0n));
  });

  it('has room again after an hour, also if the clock was set back', async () => {
    let [now, elapsed] = [100 * DAY_MS, 0];
    const clocks = { now: () => now, elapsedMs: () => elapsed };
    const store = createVolatileMemoryStore();
    const content = JSON.stringify({ type: 'WATCH_AD', payload: '{}', actions: [] });
    await store.add([{ id: 'of tomorrow', content, acceptedAtMs: now + DAY_MS }]);
    const caps = await openHourlyCaps(store, { events: 2, baseUnits: 0n }, { decimals: 2, ...clocks });
    assert.ok(caps.take(0n));
    assert.equal(caps.take(0n), null);
    now -= DAY_MS;
    elapsed += 62 * 60_000;
    assert.ok(caps.take(0n));
    assert.ok(caps.take(0n));
  });
});
