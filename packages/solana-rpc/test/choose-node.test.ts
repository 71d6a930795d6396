import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, describe, it } from 'node:test';
import { chooseNode } from '@flywheel/solana-rpc';

/** Nothing listens on the discard port. */
const GONE = 'http://127.0.0.1:9';

const stops: (() => void)[] = [];
after(() => {
  for (const stop of stops) stop();
});

/** Starts a node that answers `getHealth` with this text. */
async function nodeThatAnswers(text: string) {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume().on('end', () => response.end(text));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  stops.push(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return { url: `http://127.0.0.1:${address.port}`, requests: () => requests };
}

const HEALTHY = '{"jsonrpc":"2.0","id":1,"result":"ok"}';
const BEHIND = '{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"Node is behind by 42 slots"}}';

describe('chooseNode', () => {
  it('chooses the first healthy node of a list', async () => {
    const [behind, first, second] = await Promise.all([BEHIND, HEALTHY, HEALTHY].map(nodeThatAnswers));
    assert.ok(behind && first && second);
    assert.equal(await chooseNode([GONE, behind.url, first.url, second.url]), first.url);
    assert.equal(second.requests(), 0);
  });

  it('chooses the first of a list if none is healthy, so that its error is shown', async () => {
    const behind = await nodeThatAnswers(BEHIND);
    assert.equal(await chooseNode([behind.url, GONE]), behind.url);
  });

  it('does not ask a single node', async () => {
    const { url, requests } = await nodeThatAnswers(BEHIND);
    assert.deepEqual([await chooseNode(url), await chooseNode([url]), requests()], [url, url, 0]);
  });

  it('rejects with the signal’s reason if the caller aborts, and with RangeError without a URL', async () => {
    const node = await nodeThatAnswers(HEALTHY);
    await assert.rejects(chooseNode([GONE, node.url], AbortSignal.abort(new Error('enough'))), /^Error: enough$/);
    await assert.rejects(chooseNode([]), RangeError);
  });
});
