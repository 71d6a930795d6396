import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startCluster } from '../cluster.ts';

/** web3.js uses a blockhash for 30 s: it must live as long, which is 150 slots. */
const SLOT_MS = 200;

for (const [what, program] of [
  ['web3.js 1.x airdrops, sends, confirms over its WebSocket and reads back', 'web3-client.ts'],
  ['the SDK of Squads runs a batch from its multisig to its execution', 'squads-client.ts'],
] as const) {
  test(what, async (t) => {
    const { localnet } = await startCluster(t, { slotMs: SLOT_MS });
    const path = fileURLToPath(new URL(program, import.meta.url));
    const child = spawn(process.execPath, [path, localnet.url, localnet.websocketUrl], {
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += String(chunk);
    });
    const [code] = await once(child, 'close');
    assert.equal(code, 0, said);
  });
}
