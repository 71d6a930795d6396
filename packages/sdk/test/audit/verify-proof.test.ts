import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openSyntheticVault } from '@flywheel/testing/synthetic-vault';
import { type Reaction, startStubService } from '../stub-service.ts';
import { runVerifier } from './verify-vectors.ts';

it('examples/verify_proof.py exits with 2 whenever the node gives no answer or only a part', async () => {
  await using vault = await openSyntheticVault();
  vault.depositTokens(1_000n);
  const event = { type: 'WATCH_AD', payload: '{"adId":"1"}' };
  const [signature = ''] = vault.runBatch([{ proof: event, burned: 3n }]);
  const question = { jsonrpc: '2.0', id: 1, method: 'getTransaction', params: [signature] };
  const headers = { 'content-type': 'application/json' };
  const asked = await fetch(vault.node.url, { method: 'POST', headers, body: JSON.stringify(question) });
  const { result } = JSON.parse(await asked.text());
  const { meta, transaction } = result;
  const answers: Readonly<Record<string, Reaction>> = {
    'it hangs up': 'hangUp',
    'it breaks off': { status: 200, headers: { 'content-length': '9999' }, body: '{"jsonrpc":"2.0",' },
    'no JSON-RPC': { status: 200, body: [] },
    'neither result nor error': { status: 200, body: { jsonrpc: '2.0', id: 1 } },
    'an error without a message': { status: 200, body: { jsonrpc: '2.0', id: 1, error: null } },
    'no transaction': answerOf({}),
    'no metadata': answerOf({ ...result, meta: null }),
    'no instructions': answerOf({ meta, transaction: { ...transaction, message: {} } }),
    'too few accounts': answerOf({
      meta,
      transaction: { ...transaction, message: { ...transaction.message, accountKeys: [] } },
    }),
  };
  const places = Object.entries(answers);
  await using node = await startStubService(({ path }) => places[Number(path.slice(1))]?.[1] ?? answerOf(result));
  const codeOf = async (place: number) =>
    (await runVerifier(`${node.url}/${place}`, [signature, vault.vault, event.type, event.payload])).code;
  assert.equal(await codeOf(places.length), 0);
  for (const [place, [name]] of places.entries()) assert.equal(await codeOf(place), 2, name);
});

function answerOf(result: unknown): Reaction {
  return { status: 200, body: { jsonrpc: '2.0', id: 1, result } };
}
