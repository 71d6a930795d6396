import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { lamports } from '@solana/kit';
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import fc from 'fast-check';
import { WebSocket } from 'ws';
import { startCluster } from '../cluster.ts';

test('a WebSocket answers arbitrary input in JSON-RPC, and the cluster continues', async (t) => {
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
      // The marker after it is always answered, even if the message is a notification.
      const answers = until(socket, 'marker');
      socket.send(text);
      socket.send('{"jsonrpc":"2.0","id":"marker","method":"getNothing"}');
      for (const answer of await answers) assert.doesNotMatch(answer, /-32603/);
    }),
    { numRuns: 200 },
  );
  assert.equal(await rpc.getHealth().send(), 'ok');
});

test('a message of more than 50 KiB closes only its own connection', async (t) => {
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

test('a client that does not read its notifications is disconnected, and others are not', async (t) => {
  const { localnet } = await startCluster(t);
  const [deaf, other] = [await connect(t, localnet.websocketUrl), await connect(t, localnet.websocketUrl)];
  deaf.on('error', () => undefined);
  const subscribed = until(deaf, 'marker');
  for (let i = 0; i < 1_000; i += 1) deaf.send(JSON.stringify({ jsonrpc: '2.0', id: i, method: 'slotSubscribe' }));
  deaf.send('{"jsonrpc":"2.0","id":"marker","method":"getNothing"}');
  await subscribed;
  deaf.pause();
  const listening = until(other, 'marker');
  other.send('{"jsonrpc":"2.0","id":"marker","method":"slotSubscribe"}');
  await listening;
  let heard = 0;
  other.on('message', () => {
    heard += 1;
  });
  // About 130 kB per slot: more than the operating system and the cluster buffer for a reader.
  for (let slot = 0; slot < 400; slot += 1) await localnet.warp();
  deaf.resume();
  const [code] = await once(deaf, 'close');
  assert.equal(code, 1006, 'without a goodbye, which he would not have read');
  while (heard < 400) await once(other, 'message');
});

test('a batch of calls is answered in one message, in order', async (t) => {
  const { localnet } = await startCluster(t);
  const socket = await connect(t, localnet.websocketUrl);
  socket.send('[{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"},{"jsonrpc":"2.0","id":2,"method":"getNothing"},{}]');
  const [message] = await once(socket, 'message');
  const answers: { readonly id: unknown; readonly error?: { readonly code: number } }[] = JSON.parse(String(message));
  assert.deepEqual(
    answers.map(({ id, error }) => [id, error?.code]),
    [
      [1, undefined],
      [2, -32601],
      [null, -32600],
    ],
  );
});

test('an ended subscription sends nothing more, and cannot be ended again', async (t) => {
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

/** Collects all messages up to the answer to the call of this id. */
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

test('a notification without an encoding has an error in place of data too long for base58, and others arrive', async (t) => {
  const { localnet, rpc, wallet } = await startCluster(t);
  const mint = await localnet.bank.createMint(6, false);
  const account = await localnet.bank.mintTo(mint, (await wallet()).address, 7n);
  await localnet.warp();
  const socket = await connect(t, localnet.websocketUrl);
  const heard: { readonly method: string; readonly data: unknown }[] = [];
  const subscribed = until(socket, 'last');
  for (const commitment of ['processed', 'confirmed']) {
    for (const [method, target] of [
      ['accountSubscribe', account],
      ['programSubscribe', TOKEN_PROGRAM_ADDRESS],
    ] as const) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: method, method, params: [target, { commitment }] }));
    }
    const params = ['all', { commitment }];
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 'logs', method: 'logsSubscribe', params }));
  }
  socket.send('{"jsonrpc":"2.0","id":"last","method":"getNothing"}');
  await subscribed;
  socket.on('message', (content) => {
    const { method, params } = JSON.parse(String(content));
    const { account: inProgram, data } = params.result.value;
    heard.push({ method, data: inProgram?.data ?? data });
  });
  await rpc.requestAirdrop(account, lamports(5n)).send();
  await localnet.warp();
  while (heard.length < 6) await once(socket, 'message');
  const data = 'error: data too large for bs58 encoding';
  const one = [
    { method: 'accountNotification', data },
    { method: 'programNotification', data },
    { method: 'logsNotification', data: undefined },
  ];
  assert.deepEqual(heard, [...one, ...one]);
});

test('slotsUpdatesSubscribe reports banks that are created, completed, frozen, confirmed and rooted', async (t) => {
  const { localnet } = await startCluster(t);
  const socket = await connect(t, localnet.websocketUrl);
  const subscribed = until(socket, 'ask');
  socket.send('{"jsonrpc":"2.0","id":"ask","method":"slotsUpdatesSubscribe"}');
  await subscribed;
  const heard: string[] = [];
  socket.on('message', (content) => heard.push(JSON.parse(String(content)).params.result.type));
  await localnet.warp();
  while (heard.length < 5) await once(socket, 'message');
  assert.deepEqual(heard, ['completed', 'frozen', 'optimisticConfirmation', 'createdBank', 'root']);
});
