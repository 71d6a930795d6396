import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { WebSocket } from 'ws';
import { startCluster } from '../cluster.ts';

test('whatever is sent, a WebSocket answers in JSON-RPC and the cluster goes on', async (t) => {
  const { localnet, rpc } = await startCluster(t);
  const socket = await connect(t, localnet.websocketUrl);
  const method = fc.constantFrom(
    'accountSubscribe',
    'signatureSubscribe',
    'slotSubscribe',
    'logsSubscribe',
    'slotUnsubscribe',
  );
  const call = fc.record({ jsonrpc: fc.constant('2.0'), id: fc.nat(), method, params: fc.array(fc.jsonValue()) });
  const message = fc.oneof(
    fc.string(),
    fc.jsonValue().map(JSON.stringify),
    call.map((value) => JSON.stringify(value)),
  );
  await fc.assert(
    fc.asyncProperty(message, async (text) => {
      // The marker behind it is answered in any case, also when the message is a notification.
      const answers = until(socket, 'marker');
      socket.send(text);
      socket.send('{"jsonrpc":"2.0","id":"marker","method":"getNothing"}');
      for (const answer of await answers) assert.doesNotMatch(answer, /-32603/);
    }),
    { numRuns: 200 },
  );
  assert.equal(await rpc.getHealth().send(), 'ok');
});

test('a message of more than 50 KiB closes its connection and no other', async (t) => {
  const { localnet, rpc } = await startCluster(t);
  const [socket, other] = [await connect(t, localnet.websocketUrl), await connect(t, localnet.websocketUrl)];
  socket.on('error', () => undefined);
  socket.send('x'.repeat(60_000));
  const [code] = await once(socket, 'close');
  assert.equal(code, 1009);
  const answers = until(other, 'marker');
  other.send('{"jsonrpc":"2.0","id":"marker","method":"slotSubscribe"}');
  assert.match((await answers).join(), /"result":\d+/);
  assert.equal(await rpc.getHealth().send(), 'ok');
});

test('after unsubscribing nothing more comes, and unsubscribing twice is refused', async (t) => {
  const { localnet } = await startCluster(t);
  const socket = await connect(t, localnet.websocketUrl);
  const ask = async (method: string, params: readonly unknown[]) => {
    const answers = until(socket, 'ask');
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 'ask', method, params }));
    const answer: { result?: unknown; error?: { code: number } } = JSON.parse((await answers).at(-1) ?? '{}');
    return answer;
  };
  const { result } = await ask('slotSubscribe', []);
  assert.equal((await ask('slotUnsubscribe', [result])).result, true);
  await localnet.warp();
  assert.equal((await ask('slotUnsubscribe', [result])).error?.code, -32602);
});

async function connect(t: TestContext, url: string): Promise<WebSocket> {
  const socket = new WebSocket(url);
  t.after(() => socket.terminate());
  await once(socket, 'open');
  return socket;
}

/** All messages up to and with the answer to the call of this id. */
function until(socket: WebSocket, id: string): Promise<readonly string[]> {
  return new Promise((resolve) => {
    const seen: string[] = [];
    const look = (content: unknown) => {
      seen.push(String(content));
      if (!String(content).includes(`"id":"${id}"`)) return;
      socket.off('message', look);
      resolve(seen);
    };
    socket.on('message', look);
  });
}
