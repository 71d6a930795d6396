import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createSolanaRpc, generateKeyPairSigner, lamports } from '@solana/kit';
import { startLocalnet } from '../src/index.ts';

test('the example in the documentation runs unchanged', async () => {
  const page = await readFile(new URL('../../../docs/localnet.md', import.meta.url), 'utf8');
  const lines = (await readFile(import.meta.filename, 'utf8')).split('\n');
  const start = lines.findIndex((line) => line.trim() === '// example');
  const end = lines.findIndex((line) => line.trim() === '// end');
  const example = lines.slice(start + 1, end).map((line) => line.trim());
  assert.ok(example.length > 0);
  for (const line of example) assert.ok(page.includes(line), line);
  // example
  const localnet = await startLocalnet({ slotMs: 0, squadsProgram: 'emulation' });
  const rpc = createSolanaRpc(localnet.url);
  const wallet = await generateKeyPairSigner();
  await rpc.requestAirdrop(wallet.address, lamports(1_000_000_000n)).send();
  await localnet.warp({ slots: 32n });
  const { value } = await rpc.getBalance(wallet.address, { commitment: 'finalized' }).send();
  await localnet.stop();
  // end
  assert.equal(value, 1_000_000_000n);
});
