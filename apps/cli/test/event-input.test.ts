import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import type { CollectedItem, ItemStatus } from '@flywheel/sdk/collector';
import { type InvalidLine, readLines } from '../src/commands/collect/read-lines.ts';

const STATUS: ItemStatus = {
  ...{ id: 'a', state: 'pending', type: 'T', payload: '{}', actions: [], isInBatch: false },
  ...{ batchId: null, position: null, mergedPayload: null, attempts: 0, reason: null },
};

describe('lines of events', () => {
  it('end with a line feed alone, wherever their bytes are cut', async () => {
    const events = ['first \u2028 and \u2029 text', 'Größe', 'last'].map(eventOf);
    const bytes = Buffer.from(events.map((event) => JSON.stringify(event)).join('\r\n'));
    const chunks = Array.from(bytes, (byte) => Buffer.from([byte]));
    const { items, invalid } = await read(Readable.from(chunks));
    assert.deepEqual([items, invalid], [events, []]);
  });

  it('are invalid where they are not UTF-8, because another text would have another proof', async () => {
    const [good, bad] = ['good', 'bad #'].map((id) => Buffer.from(`${JSON.stringify(eventOf(id))}\n`));
    assert.ok(good && bad);
    bad[bad.indexOf('#')] = 0xff;
    const { items, invalid } = await read(Readable.from([bad, good]));
    assert.deepEqual(
      items.map(({ id }) => id),
      ['good'],
    );
    assert.deepEqual(invalid, [{ line: 1, id: null, error: 'ERR_INVALID_REQUEST', message: 'It is not UTF-8.' }]);
  });
});

function eventOf(id: string): CollectedItem {
  return { id, type: 'WATCH_AD', payload: { id }, actions: [] };
}

async function read(input: Readable): Promise<{ items: CollectedItem[]; invalid: InvalidLine[] }> {
  const items: CollectedItem[] = [];
  const invalid: InvalidLine[] = [];
  const collect = async (item: CollectedItem) => {
    items.push(item);
    return STATUS;
  };
  const stopped = { signal: new AbortController().signal, error: null };
  await readLines(input, { collect, stopped }, (line) => invalid.push(line));
  return { items, invalid };
}
