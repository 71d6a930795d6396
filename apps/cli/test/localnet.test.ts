import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Localnet, startLocalnet } from '@flywheel/localnet';
import { waitUntil } from '@flywheel/testing/batches';
import { createSolanaRpc, generateKeyPairSigner } from '@solana/kit';
import { parseDocument, runCommand } from './run-command.ts';
import { makeTemporaryFolder } from './wallet-files.ts';

describe('flywheel localnet, beside a running cluster', () => {
  let localnet: Localnet;
  let env: Record<string, string>;
  before(async () => {
    localnet = await startLocalnet({ slotMs: 20, squadsProgram: 'emulation' });
    env = { SOLANA_RPC_URL: localnet.url };
  });
  after(() => localnet.stop());

  it('injects every kind of fault, and removes all of them', async () => {
    for (const fault of [
      { kind: 'drop', method: 'sendBundle', probability: 0.5, seed: 7 },
      { kind: 'partLand', method: 'sendBundle', landed: 2 },
      { kind: 'duplicate', method: 'requestAirdrop', times: 1 },
      { kind: 'wrongStatus', method: 'getSignatureStatuses', lie: 'landed' },
      { kind: 'delay', method: 'getSlot', delayMs: 1 },
      { kind: 'hang', method: 'getBlockTime', times: 1 },
      { kind: 'error', method: 'getHealth', status: 429, times: 1 },
    ]) {
      const set = await runCommand(['localnet', 'fault', JSON.stringify(fault), '--json'], env);
      assert.deepEqual(parseDocument(set), { fault });
    }
    assert.equal((await ask('getHealth')).status, 429);
    assert.equal((await ask('getHealth')).status, 200, 'once was asked for');
    const cleared = await runCommand(['localnet', 'fault'], env);
    assert.deepEqual([cleared.exitCode, cleared.stdout], [0, 'All faults removed.\n']);
  });

  it('says what is wrong with an invalid fault', async () => {
    const { exitCode, stderr } = await runCommand(['localnet', 'fault', '{"kind":"error","status":418}'], env);
    assert.equal(exitCode, 2);
    assert.match(stderr, /params\[0\]/);
  });

  it('skips, pauses and resumes slots, and expires blockhashes', async () => {
    const rpc = createSolanaRpc(localnet.url);
    const { value } = await rpc.getLatestBlockhash().send();
    const isValid = async () => (await rpc.isBlockhashValid(value.blockhash, { commitment: 'processed' }).send()).value;
    assert.equal(await isValid(), true);
    assert.match((await runCommand(['localnet', 'expire-blockhashes'], env)).stdout, /^All blockhashes have expired\./);
    assert.equal(await isValid(), false);

    assert.match((await runCommand(['localnet', 'pause-slots'], env)).stdout, /^Slots are paused\./);
    const slot = () => rpc.getSlot({ commitment: 'processed' }).send();
    const paused = await slot();
    const warped = parseDocument<{ reached: { slot: number } }>(
      await runCommand(['localnet', 'warp', '--slots', '100', '--json'], env),
    );
    assert.equal(BigInt(warped.reached.slot), paused + 100n);
    assert.equal(await slot(), paused + 100n);
    assert.match((await runCommand(['localnet', 'resume-slots'], env)).stdout, /^Slots continue\./);
    await waitUntil('a slot after the pause', slot, (now) => now > paused + 100n);
  });

  it('uses the first healthy node of a list of URLs', async () => {
    const list = `http://127.0.0.1:4, ${localnet.url}/nodes/a`;
    for (const { words, variables } of [
      { words: [], variables: { SOLANA_RPC_URL: list } },
      { words: ['--rpc-url', list], variables: {} },
    ]) {
      const { exitCode, stderr } = await runCommand(['localnet', 'warp', '--slots', '1', ...words], variables);
      assert.deepEqual([exitCode, stderr], [0, '']);
    }
  });

  function ask(method: string): Promise<Response> {
    return fetch(localnet.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method }),
    });
  }
});

describe('flywheel localnet start', () => {
  it('keeps its state in a directory, and deletes it with --reset', async (t) => {
    await using folder = await makeTemporaryFolder();
    const { address } = await generateKeyPairSigner();
    const state = ['--state', folder.path, '--slot-ms', '20'];
    const first = await start(t, state);
    assert.equal(first.program, 'emulation');
    await runCommand(['localnet', 'fund', address, '--sol', '2'], { SOLANA_RPC_URL: first.rpcUrl });
    await first.stop();
    const second = await start(t, state);
    assert.equal(await balance(second.rpcUrl, address), 2_000_000_000n);
    await second.stop();
    const third = await start(t, [...state, '--reset', '--no-v1']);
    assert.equal(await balance(third.rpcUrl, address), 0n);
    await third.stop();
  });

  it('names a port that is in use', async (t) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const taken = server.address();
    assert.ok(typeof taken === 'object' && taken !== null);
    const { exitCode, stderr } = await runCommand(['localnet', 'start', '--port', String(taken.port)], {
      FLYWHEEL_SQUADS_PROGRAM: 'emulation',
    });
    assert.equal(exitCode, 1);
    assert.match(
      stderr,
      /^✗ ERR_CONFIGURATION {2}Port \d+ cannot be used: .*EADDRINUSE.*\. Pass another one as --port\.\n$/,
    );
    assert.match(stderr, new RegExp(`Port ${taken.port} `));
  });

  it('names --state if the directory is in use, or below a file', async (t) => {
    await using folder = await makeTemporaryFolder();
    const running = await start(t, ['--state', folder.path]);
    const environment = { FLYWHEEL_SQUADS_PROGRAM: 'emulation' };
    const words = ['localnet', 'start', '--port', '0', '--state'];
    const inUse = await runCommand([...words, folder.path], environment);
    await running.stop();
    assert.match(
      inUse.stderr,
      /^✗ ERR_CONFIGURATION {2}The ledger .* another process using it\? Pass another directory as --state\.\n$/,
    );
    const belowFile = await runCommand([...words, `${import.meta.filename}/state`], environment);
    assert.match(
      belowFile.stderr,
      /^✗ ERR_CONFIGURATION {2}The ledger in .* cannot be opened: ENOTDIR.*\. Pass another directory as --state\.\n$/,
    );
  });

  it('names --state, not the port, if the directory cannot be written', async () => {
    await using folder = await makeTemporaryFolder();
    await chmod(folder.path, 0o500);
    // Root may write everywhere but there.
    const directory = process.getuid?.() === 0 ? '/proc/self/task' : join(folder.path, 'state');
    for (const options of [[], ['--reset']]) {
      const words = ['localnet', 'start', '--port', '0', '--program', 'emulation', '--state', directory];
      const { exitCode, stderr } = await runCommand([...words, ...options]);
      assert.equal(exitCode, 1);
      assert.match(stderr, /^✗ ERR_CONFIGURATION {2}The ledger in .*\. Pass another directory as --state\.\n$/);
    }
  });

  it('names a file that is missing, and the option to check', async () => {
    await using folder = await makeTemporaryFolder();
    const missing = join(folder.path, 'missing');
    const elf = await folder.write('program.so', 'no ELF file');
    const { address } = await generateKeyPairSigner();
    const check = 'Check --account, --account-dir and --bpf-program.';
    for (const [words, next] of [
      [['--account', address, missing], check],
      [['--account-dir', missing], check],
      [['--bpf-program', address, missing], check],
      [['--bpf-program', address, elf], check],
      [['--program', missing], 'Pass the deployed program as --program, or the word emulation.'],
    ] as const) {
      const start = ['localnet', 'start', '--port', '0', '--program', 'emulation', ...words, '--json'];
      const { exitCode, stderr } = await runCommand(start);
      const { error, message } = JSON.parse(stderr);
      assert.deepEqual([exitCode, error], [2, 'ERR_FILE'], stderr);
      assert.ok(message.includes(folder.path) && message.endsWith(`. ${next}`), message);
    }
  });
});

async function balance(rpcUrl: string, address: Awaited<ReturnType<typeof generateKeyPairSigner>>['address']) {
  return (await createSolanaRpc(rpcUrl).getBalance(address, { commitment: 'processed' }).send()).value;
}

/** In a process of its own, which ends on SIGINT as on Ctrl-C. */
async function start(t: TestContext, options: readonly string[]) {
  const words = [FLYWHEEL, 'localnet', 'start', '--port', '0', '--json', ...options];
  const env = { ...process.env, FLYWHEEL_SQUADS_PROGRAM: 'emulation' };
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { rpcUrl, program }: { readonly rpcUrl: string; readonly program: string } = JSON.parse(line);
  return {
    rpcUrl,
    program,
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGINT');
      assert.deepEqual(await ended, [0, null]);
    },
  };
}

const FLYWHEEL = fileURLToPath(new URL('../bin/flywheel.js', import.meta.url));
