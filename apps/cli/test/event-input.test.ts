import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import type { CollectedItem, ItemStatus } from '@flywheel/sdk/collector';
import { hostsOf, openEventServer } from '../src/commands/collect/event-server.ts';
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

  it('are invalid with an amount as text, in the words of the service', async () => {
    const actions = [
      { action: 'MEMO', message: 'first' },
      { action: 'BURN', amount: '1' },
    ];
    const { items, invalid } = await read(Readable.from([Buffer.from(JSON.stringify({ ...eventOf('a'), actions }))]));
    assert.deepEqual(
      [items, invalid.map(({ message }) => message)],
      [[], ['Item a: actions[1].amount must be a number, not a string.']],
    );
  });

  it('are invalid with a number that JavaScript rounds or does not have, because the proof would hold another one', async () => {
    const line = (id: string, number: string) =>
      `{"id":"${id}","type":"T","payload":{"of":[${number}]},"actions":[]}\n`;
    const inexact = [
      line('rounded', '9007199254740993'),
      line('below', '-9007199254740993'),
      line('infinite', '1e400'),
    ];
    const text = line('exact', '-9007199254740991') + inexact.join('');
    const { items, invalid } = await read(Readable.from([Buffer.from(text)]));
    assert.deepEqual([items.length, invalid.map(({ id }) => id)], [1, [null, null, null]]);
    assert.match(invalid[0]?.message ?? '', /^Item rounded: payload\.of\.0 is beyond .* write it as text\.$/);
  });
});

describe('the reading of events', () => {
  it('ends with an error that is not about a line, such as one of the disk, and reads no more', async () => {
    let lines = 0;
    async function* endless() {
      for (; ; lines += 1) yield Buffer.from(`${JSON.stringify(eventOf(String(lines)))}\n`);
    }
    const collect = async () => Promise.reject(new Error('The disk is full.'));
    const stopped = { signal: new AbortController().signal, error: null };
    const reading = readLines(Readable.from(endless()), { collect, stopped }, () => assert.fail('No line is invalid.'));
    await assert.rejects(reading, /The disk is full/);
  });

  it('ends with the error of its input', async () => {
    async function* broken() {
      yield Buffer.from(`${JSON.stringify(eventOf('a'))}\n`);
      throw new Error('The pipe is broken.');
    }
    await assert.rejects(read(Readable.from(broken())), /The pipe is broken/);
  });
});

describe('the server of events', () => {
  it('ends though a request never becomes whole', async () => {
    const server = await open();
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    const gone = once(socket, 'close');
    socket.write('POST /events HTTP/1.1\r\nHost: 127');
    // Answered by then, so the server has the request before.
    await fetch(`http://127.0.0.1:${server.port}/events`).then((answer) => answer.text());
    await server.close();
    await gone;
  });

  it('answers hosts of this machine with its port, which only port 80 may leave out, as clients do', async (t) => {
    assert.deepEqual(hostsOf(4100), ['127.0.0.1:4100', 'localhost:4100']);
    assert.deepEqual(hostsOf(80), ['127.0.0.1', 'localhost', '127.0.0.1:80', 'localhost:80']);
    const server = await open();
    const { port } = server;
    assert.deepEqual(await statusesOf(port, [`127.0.0.1:${port}`, `LocalHost:${port}`]), [200, 200]);
    assert.deepEqual(await statusesOf(port, ['127.0.0.1', 'localhost:80', `a.example:${port}`]), [403, 403, 403]);
    await server.close();
    const http = await open(80).catch((error: Error) => t.diagnostic(`Port 80 is not free for this user: ${error}`));
    if (!http) return;
    assert.deepEqual(await statusesOf(80, ['127.0.0.1', 'localhost', 'localhost:80']), [200, 200, 200]);
    assert.deepEqual(await statusesOf(80, ['a.example', '127.0.0.1:4100']), [403, 403]);
    await http.close();
  });

  it('takes no event of a page in a browser, and none that is too large', async () => {
    const accepted: string[] = [];
    const server = await openEventServer(0);
    const accept = async (body: Uint8Array) => {
      accepted.push(Buffer.from(body).toString());
      return STATUS;
    };
    server.serve({ token: 'secret', accept, status: async () => STATUS });
    const post = async (headers: Readonly<Record<string, string>>, body: string) => {
      const good = { authorization: 'Bearer secret', 'content-type': 'application/json' };
      const options = { method: 'POST', path: '/events', headers: { ...good, ...headers }, agent: false };
      const asked = request({ host: '127.0.0.1', port: server.port, ...options });
      // The server closes the connection before it has read a body that is too large.
      asked.on('error', () => undefined).end(body);
      const [answer] = await once(asked, 'response');
      answer.resume();
      return answer.statusCode;
    };
    assert.equal(await post({ 'sec-fetch-site': 'same-origin' }, '{}'), 403);
    assert.equal(await post({}, ' '.repeat(512 * 1024 + 1)), 413);
    assert.equal(await post({}, '{}'), 202);
    assert.deepEqual(accepted, ['{}']);
    await server.close();
  });

  it('gives up an event that waits for room when its caller has gone', async () => {
    const server = await openEventServer(0);
    const { promise: given, resolve: give } = Promise.withResolvers<AbortSignal>();
    const { promise: never } = Promise.withResolvers<ItemStatus>();
    const accept = (_body: Uint8Array, signal: AbortSignal) => {
      give(signal);
      return never;
    };
    server.serve({ token: 'secret', accept, status: async () => STATUS });
    const caller = new AbortController();
    const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' };
    const asked = fetch(`http://127.0.0.1:${server.port}/events`, {
      ...{ method: 'POST', body: '{}', headers, signal: caller.signal },
    });
    const signal = await given;
    caller.abort();
    await assert.rejects(asked, { name: 'AbortError' });
    if (!signal.aborted) await once(signal, 'abort');
    await server.close();
  });

  it('answers 404 for a path that is no URL', async () => {
    const server = await open();
    const socket = connect(server.port, '127.0.0.1');
    socket.end(`GET // HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nAuthorization: Bearer secret\r\n\r\n`);
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 404 /);
    await server.close();
  });
});

async function statusesOf(port: number, hosts: readonly string[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const host of hosts) {
    const headers = { host, authorization: 'Bearer secret' };
    const asked = request({ host: '127.0.0.1', port, path: '/events/a', headers, agent: false });
    asked.end();
    const [answer] = await once(asked, 'response');
    answer.resume();
    statuses.push(answer.statusCode);
  }
  return statuses;
}

async function open(port = 0) {
  const server = await openEventServer(port);
  server.serve({ token: 'secret', accept: async () => STATUS, status: async () => STATUS });
  return server;
}

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
