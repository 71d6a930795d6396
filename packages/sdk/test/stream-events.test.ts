import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFlywheelClient, type Retry } from '@flywheel/sdk';
import { BATCH_ID } from './batches.ts';

/** Chunks of a connection, and whether it then breaks instead of ending. */
interface Line {
  readonly pieces: readonly string[];
  readonly breaks?: boolean;
}

describe('streamEvents', () => {
  it('yields whole events from any chunks, without comments and unknown events', async () => {
    const text = `retry: 1000\n\n:\n\n${frame(1, 'batch.initialized')}${frame(2, 'batch.yet_unknown')}${frame(3, 'batch.closed')}`;
    const { client } = clientOf([{ pieces: [...text] }]);
    assert.deepEqual(await idsOf(client.streamBatchEvents(BATCH_ID)), ['1', '3']);
  });

  it('continues after the last event when a connection ends or breaks, until the stream has ended', async () => {
    const { client, asked, retries } = clientOf([
      { pieces: [frame(1, 'batch.initialized'), 'id: 2\ndata: {"id"'], breaks: true },
      { pieces: [frame(2, 'batch.finalized')] },
      null,
    ]);
    assert.deepEqual(await idsOf(client.streamBatchEvents(BATCH_ID)), ['1', '2']);
    assert.deepEqual(asked, [undefined, '1', '2']);
    assert.equal(retries.length, 1);
  });

  it('holds no event that is larger than an answer may be, and continues over another connection', async () => {
    const endless = ['data: ', ...Array<string>(65).fill(' '.repeat(1_024 * 1_024)), '\n\n', frame(1, 'batch.closed')];
    const { client, asked } = clientOf([{ pieces: endless }, { pieces: [frame(2, 'batch.closed')] }]);
    assert.deepEqual(await idsOf(client.streamBatchEvents(BATCH_ID)), ['2']);
    assert.equal(asked.length, 2);
  });

  it('closes the connection when the caller leaves the loop', async () => {
    const { client, signals } = clientOf([{ pieces: [frame(1, 'batch.initialized'), frame(2, 'batch.finalized')] }]);
    for await (const { id } of client.streamBatchEvents(BATCH_ID)) {
      assert.equal(id, '1');
      break;
    }
    assert.ok(signals.every(({ aborted }) => aborted));
  });

  it('opens another connection after one that stays silent, and after a minute that the service asks for', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const pass = (ms: number) => setImmediate(() => t.mock.timers.tick(Math.ceil(ms)));
    let opened = 0;
    const fetch: typeof globalThis.fetch = async (_url, { signal } = {}) => {
      signal?.throwIfAborted();
      opened += 1;
      if (opened === 2) return new Response(null, { status: 503, headers: { 'retry-after': '60' } });
      if (opened === 3) return new Response(streamOf({ pieces: [frame(1, 'batch.closed')] }));
      pass(45_000);
      return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    };
    const onRetry = ({ waitMs }: Retry) => void pass(waitMs);
    const client = createFlywheelClient({ url: 'http://service', apiKey: 'fw_key', fetch, onRetry });
    assert.deepEqual(await idsOf(client.streamBatchEvents(BATCH_ID)), ['1']);
    assert.equal(opened, 3);
  });

  it('throws the reason of the signal', async () => {
    const stop = new AbortController();
    const { client } = clientOf([{ pieces: [frame(1, 'batch.initialized')] }]);
    const events = client.streamBatchEvents(BATCH_ID, { signal: stop.signal });
    await events.next();
    stop.abort(new Error('enough'));
    await assert.rejects(events.next(), { message: 'enough' });
  });
});

function clientOf(lines: readonly (Line | null)[]) {
  const [asked, signals, retries]: [(string | undefined)[], AbortSignal[], Retry[]] = [[], [], []];
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    const headers = new Headers(init?.headers);
    asked.push(headers.get('last-event-id') ?? undefined);
    if (init?.signal) signals.push(init.signal);
    const line = lines[asked.length - 1];
    return line ? new Response(streamOf(line)) : new Response(null, { status: 204 });
  };
  const options = { url: 'http://service', apiKey: 'fw_key', fetch, onRetry: (retry: Retry) => retries.push(retry) };
  return { client: createFlywheelClient(options), asked, signals, retries };
}

function streamOf({ pieces, breaks = false }: Line): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull: (controller) => {
      const piece = pieces[sent++];
      if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
      else if (breaks) controller.error(new TypeError('terminated'));
      else controller.close();
    },
  });
}

function frame(id: number, type: string): string {
  const event = { id: String(id), type, batchId: BATCH_ID, at: '2026-11-18T14:02:11.000Z', status: 'FINALIZED' };
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
}

async function idsOf(events: AsyncIterable<{ readonly id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of events) ids.push(id);
  return ids;
}
