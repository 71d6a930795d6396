import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startLocalnet } from '@flywheel/localnet';
import { sha256Hex, writeMergedPayload } from '@flywheel/protocol';
import { type AuditReport, auditVault, proofMemo, stringifyAuditState } from '@flywheel/sdk';
import { waitUntil } from '@flywheel/testing/batches';
import { openStranger } from '@flywheel/testing/stranger';
import { memoBy, openSyntheticVault, type SyntheticVault } from '@flywheel/testing/synthetic-vault';
import { awaitFinalized } from '@flywheel/testing/vault-history';
import { liveAtRandom } from '@flywheel/testing/vault-life';
import { createNoopSigner, createSolanaRpc, generateKeyPairSigner, getProgramDerivedAddress } from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';
import { type CommandResult, parseDocument, runCommand } from './run-command.ts';
import { makeTemporaryFolder, type TemporaryFolder } from './wallet-files.ts';

interface AuditDocument extends AuditReport {
  readonly unexplained: readonly { readonly signature: string; readonly amountBaseUnits: string }[];
  readonly events: {
    readonly proven: number;
    readonly unproven: readonly { readonly line: number }[];
    readonly unmatchedCount: number;
  } | null;
}

/** Nothing listens on the discard port. */
const NO_NODE = { SOLANA_RPC_URL: 'http://127.0.0.1:9' };
const PROOFS = [1, 2, 3].map((id) => ({ type: 'WATCH_AD', payload: `{"adId":"${id}"}` }));

describe('flywheel audit', () => {
  let vault: SyntheticVault;
  let folder: TemporaryFolder;
  before(async () => {
    folder = await makeTemporaryFolder();
    vault = await openSyntheticVault();
    vault.depositTokens(10_000_000n);
    vault.runBatch(PROOFS.map((proof) => ({ proof, burned: 1_000_000n })));
  });
  after(async () => {
    await vault[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  const run = (...words: readonly string[]): Promise<CommandResult> =>
    runCommand(['audit', vault.vault, ...words], { SOLANA_RPC_URL: vault.node.url });

  it('prints what the vault did, and says that nothing is missing', async () => {
    const { exitCode, stdout } = await run();
    assert.equal(exitCode, 0);
    assert.match(stdout, new RegExp(`vault +${vault.vault}\\n +multisig +${vault.multisig}\\n`));
    assert.match(stdout, /pipelines +3\n +3 WATCH_AD\n/);
    assert.match(stdout, new RegExp(`${vault.mint} +0 +10 +3 +0 +0 +0 +0 +7\\n`));
    assert.match(
      stdout,
      /✓ The balances of all accounts found are continuous: no gap\.\n✓ No outflow without a proof was found\.\n/,
    );
    const document = parseDocument<AuditDocument>(await run('--json'));
    assert.deepEqual(document.assets[1]?.burned, '3000000');
  });

  it('names the newest slot that it has read, also for a period that ends later', async () => {
    for (const period of [[], ['--to', '2099-12-31']]) {
      const { stdout } = await run(...period);
      assert.match(stdout, new RegExp(`\\n  Read from ${vault.node.url}/?, up to slot ${vault.slot()}\\.\\n`));
    }
  });

  it('says which events are proven, which are not, and which proofs match no event', async () => {
    const path = join(folder.path, 'events.ndjson');
    const [first, second] = PROOFS;
    // A payload may be an object; an event that comes twice needs two proofs.
    const events = [first, first, { ...second, payload: { adId: '2' } }, { type: 'OTHER', payload: '{"adId":"3"}' }];
    await writeFile(path, `${events.map((event) => JSON.stringify(event)).join('\n')}\n\n`);
    const { exitCode, stdout, stderr } = await run('--events', path, '--json');
    assert.deepEqual([exitCode, JSON.parse(stderr).error], [3, 'ERR_NOT_PROVEN']);
    const { events: matches }: AuditDocument = JSON.parse(stdout);
    assert.deepEqual([matches?.proven, matches?.unmatchedCount], [2, 1]);
    assert.deepEqual(
      matches?.unproven.map(({ line }) => line),
      [2, 4],
    );
    await writeFile(path, '{"type":"WATCH_AD"}\n');
    const invalid = await run('--events', path);
    assert.deepEqual([invalid.exitCode, /events\.ndjson:1 is not an event/.test(invalid.stderr)], [2, true]);
  });

  it('resolves merged payloads, and asks for a proof of each event that one lists', async () => {
    await using other = await openSyntheticVault();
    const payloads = ['{"adId":"1"}', '{"adId":"2"}', '{"adId":"3"}'];
    const merged = { type: 'WATCH_AD', payload: writeMergedPayload('WATCH_AD', payloads.slice(0, 2)) };
    other.depositTokens(10n);
    other.runBatch([{ proof: merged, burned: 1n }]);
    const path = join(folder.path, 'merged.ndjson');
    const audit = async (lines: readonly object[]) => {
      await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      const words = ['audit', other.vault, '--events', path, '--json', '--rpc-url', other.node.url];
      const { events }: AuditDocument = JSON.parse((await runCommand(words)).stdout);
      return [events?.proven, events?.unproven.map(({ line }) => line), events?.unmatchedCount];
    };
    const events = payloads.map((payload) => ({ type: 'WATCH_AD', payload }));
    assert.deepEqual(await audit([...events, merged]), [2, [3], 0]);
    assert.deepEqual(await audit(events.slice(1)), [0, [1, 2], 1]);
    assert.deepEqual(await audit([merged, ...events.slice(1)]), [1, [3], 1]);
  });

  it('writes every finding as CSV, and no proof type as a formula', async () => {
    await using other = await openSyntheticVault();
    other.depositTokens(10n);
    other.runBatch([{ proof: { type: '=1+1', payload: 'x' }, burned: 1n }]);
    const path = join(folder.path, 'audit.csv');
    const { exitCode } = await runCommand(['audit', other.vault, '--csv', path, '--rpc-url', other.node.url]);
    assert.equal(exitCode, 0);
    const [heading, ...lines] = (await readFile(path, 'utf8')).trimEnd().split('\n');
    assert.equal(heading, 'kind,slot,time,signature,type,hash,mint,amount_base_units,to,detail');
    assert.deepEqual(
      lines.map((line) => line.split(',')).map(([kind, , , , type, , , amount]) => [kind, type, amount]),
      [
        ['pipeline', "'=1+1", ''],
        ['burned', "'=1+1", '1'],
        ['deposited', '', '10'],
      ],
    );
  });

  it('reads nothing if the CSV could not be written', async () => {
    for (const path of [join(folder.path, 'missing', 'audit.csv'), folder.path, `${folder.path}/`]) {
      const { exitCode, stderr } = await runCommand(['audit', vault.vault, '--csv', path, '--json'], NO_NODE);
      const { error, message } = JSON.parse(stderr);
      assert.deepEqual([exitCode, error], [2, 'ERR_FILE']);
      assert.ok(message.startsWith(`Cannot write ${path}: `), message);
    }
  });

  it('reads proof types and events with the line separators of Unicode', async () => {
    await using other = await openSyntheticVault();
    const [hostile, event] = [
      { type: 'A\u2028B', payload: 'x' },
      { type: 'A', payload: '{"text":"one\u2028two\u2029"}' },
    ];
    other.depositTokens(10n);
    other.runBatch([hostile, event].map((proof) => ({ proof, burned: 1n })));
    other.runBatch([{ proof: null, sent: 2n }]);
    const path = join(folder.path, 'separators.ndjson');
    await writeFile(path, `${JSON.stringify(event)}\n`);
    const line = ['audit', other.vault, '--events', path, '--json', '--rpc-url', other.node.url];
    const { exitCode, stdout, stderr } = await runCommand(line);
    assert.deepEqual([exitCode, JSON.parse(stderr).error], [3, 'ERR_UNEXPLAINED_OUTFLOW']);
    const { events }: AuditDocument = JSON.parse(stdout);
    assert.deepEqual([events?.proven, events?.unmatchedCount], [1, 1]);
    await writeFile(path, Buffer.from([...Buffer.from('{"type":"A","payload":"'), 0xff, ...Buffer.from('"}')]));
    const damaged = await runCommand(line);
    assert.deepEqual([damaged.exitCode, JSON.parse(damaged.stderr).error], [2, 'ERR_FILE']);
  });

  it('goes on where it was interrupted, refuses a damaged state, and removes the state at the end', async () => {
    const path = join(folder.path, 'audit.state');
    await using slow = await openSyntheticVault();
    for (let i = 0; i < 400; i++) slow.depositLamports(1n);
    const line = ['audit', slow.vault, '--multisig', slow.multisig, '--state', path, '--rpc-url', slow.node.url];
    // It would take 8 seconds.
    const interrupted = runCommand([...line, '--requests-per-second', '50']);
    await waitUntil(`the file ${path}`, async () => existsSync(path), Boolean);
    process.emit('SIGINT', 'SIGINT');
    const { exitCode, stderr } = await interrupted;
    assert.equal(exitCode, 130, stderr);
    const before = slow.node.calls('getTransaction');
    const text = await readFile(path, 'utf8');
    await writeFile(path, text.replace('"read":', '"read":1'));
    assert.match((await runCommand(line)).stderr, /is not the state of an audit by this release, or is damaged/);
    await writeFile(path, text);
    assert.match(
      (await runCommand([...line, '--from', '5'])).stderr,
      /The state is of the audit of .* Pass the same vault, period and commitment/,
    );
    assert.match(
      (await runCommand([...line, '--confirmed'])).stderr,
      /The state is of the audit of .* to the newest slot, without --confirmed\. Pass the same vault, period and commitment/,
    );
    const [other] = await getProgramDerivedAddress({ programAddress: slow.vault, seeds: ['vault'] });
    assert.match((await runCommand(['audit', other, ...line.slice(2)])).stderr, /The state is of the audit of/);
    const resumed = parseDocument<AuditDocument>(await runCommand([...line, '--json']));
    assert.deepEqual([resumed.counts.deposits, resumed.isComplete], [400, true]);
    assert.ok(slow.node.calls('getTransaction') - before < 400, 'nothing is read again');
    assert.equal(existsSync(path), false);
  });

  it('exits with 4 and names the slots if a node has pruned, and with 3 for an outflow without a proof', async () => {
    await using other = await openSyntheticVault();
    other.depositTokens(10n);
    other.runBatch([{ proof: { type: 'A', payload: 'x' }, burned: 1n }]);
    const [stolen = ''] = other.runBatch([{ proof: null, sent: 2n }]);
    const line = ['audit', other.vault, '--json', '--rpc-url', other.node.url];
    const outflow = await runCommand(line);
    assert.deepEqual([outflow.exitCode, JSON.parse(outflow.stderr).error], [3, 'ERR_UNEXPLAINED_OUTFLOW']);
    const { unexplained, isComplete }: AuditDocument = JSON.parse(outflow.stdout);
    assert.deepEqual([unexplained.length, unexplained[0]?.signature, isComplete], [1, stolen, true]);

    other.node.prune(other.slot() - 1);
    other.node.hide(stolen);
    const pruned = await runCommand([...line, '--multisig', other.multisig]);
    assert.deepEqual([pruned.exitCode, JSON.parse(pruned.stderr).error], [4, 'ERR_HISTORY_INCOMPLETE']);
    assert.match(pruned.stderr, /The history is incomplete in the slots 0 to \d+/);
  });

  it('exits for a random life as its books say: with 0 or 3, and with 4 if a node has pruned', async (t) => {
    const seed = Number(process.env.FLYWHEEL_SOAK_SEED ?? randomInt(2 ** 31));
    t.diagnostic(`seed ${seed}`);
    const path = join(folder.path, 'life.ndjson');
    for (const isHonest of [true, false]) {
      await using other = await openSyntheticVault();
      const books = liveAtRandom(other, { seed, transactions: 200, dust: 50, isHonest });
      const audit = (lines: readonly string[]) =>
        writeFile(path, lines.join('\n')).then(() =>
          runCommand(['audit', other.vault, '--json', '--events', path, '--rpc-url', other.node.url]),
        );
      const { exitCode, stdout } = await audit(books.events);
      const { unexplained, events }: AuditDocument = JSON.parse(stdout);
      const taken = books.findings.filter(({ kind }) => kind === 'unexplained').map(({ signature }) => signature);
      assert.deepEqual([exitCode, taken.length === 0], isHonest ? [0, true] : [3, false]);
      assert.deepEqual(unexplained.map(({ signature }) => signature).toSorted(), taken.toSorted());
      assert.deepEqual([events?.proven, events?.unmatchedCount], [books.proven, books.unmatched.length]);
      if (!isHonest) continue;
      const unpaid = await audit([...books.events, JSON.stringify({ type: 'REWARD', payload: 'unpaid' })]);
      assert.deepEqual([unpaid.exitCode, JSON.parse(unpaid.stderr).error], [3, 'ERR_NOT_PROVEN']);
      const firstKept = Math.floor(other.slot() / 2);
      other.node.prune(firstKept);
      const pruned = await audit(books.events);
      assert.deepEqual([pruned.exitCode, JSON.parse(pruned.stderr).error], [4, 'ERR_HISTORY_INCOMPLETE']);
      const { gaps }: AuditDocument = JSON.parse(pruned.stdout);
      const found = gaps.map(({ account, fromSlot, toSlot }) => `${account} ${fromSlot} ${toSlot}`);
      for (const { account, fromSlot, toSlot } of books.oldestFrom(firstKept)) {
        assert.ok(found.includes(`${account} ${fromSlot} ${toSlot}`), `${account} up to slot ${toSlot}: ${found}`);
      }
    }
  });

  it('refuses a period that ends before it begins, and a wallet in place of a vault, without reading anything', async () => {
    for (const [from, to] of [
      ['5', '3'],
      ['2026-02-01', '2026-01-31'],
    ] as const) {
      const { exitCode, stderr } = await runCommand(['audit', vault.vault, '--from', from, '--to', to], NO_NODE);
      assert.match(stderr, /^✗ ERR_USAGE {2}The period cannot begin at .* and end at .*: --from is after --to\.\n$/);
      assert.equal(exitCode, 2);
    }
    const { address: wallet } = await generateKeyPairSigner();
    const { exitCode, stderr } = await runCommand(['audit', wallet], NO_NODE);
    assert.match(stderr, /^✗ ERR_USAGE .* It is the address of a wallet, not of a vault; flywheel project show prints/);
    assert.equal(exitCode, 2);
  });

  it('refuses a period that begins after the newest slot of the node, of which nothing is known', async () => {
    const begun = (vault.slot() - 1).toString();
    assert.equal((await run('--from', begun)).exitCode, 0);
    for (const from of [String(vault.slot() + 1), '2099-01-01']) {
      const { exitCode, stdout, stderr } = await run('--from', from);
      assert.match(stderr, /^✗ ERR_USAGE {2}The period begins at 2?\S+, after slot \d+, the newest of the node\.\n$/);
      assert.deepEqual([exitCode, stdout], [2, '']);
    }
  });

  it('refuses a --multisig that is not one or not of the vault, and the state of another cluster', async (t) => {
    const localnet = await startLocalnet({ slotMs: 0, squadsProgram: 'emulation' });
    t.after(() => localnet.stop());
    const { address: wallet } = await generateKeyPairSigner();
    const path = join(folder.path, 'elsewhere.state');
    await auditVault(
      vault.node.url,
      { vault: vault.vault, multisig: vault.multisig },
      {
        onCheckpoint: (state) => {
          const body = `0\n${stringifyAuditState(state)}\n`;
          return writeFile(path, `${sha256Hex(body)}\n${body}`);
        },
      },
    );
    await writeFile(`${path}.findings`, '');
    for (const [words, message] of [
      [['--multisig', wallet], /^✗ ERR_USAGE {2}\w+ is not the vault of the multisig \w+\.\n$/],
      [['--multisig', vault.multisig], /^✗ ERR_USAGE {2}There is no multisig \w+ on this cluster\.\n$/],
      [['--state', path], /^✗ ERR_USAGE {2}The state is of another cluster\.\n$/],
    ] as const) {
      const { exitCode, stderr } = await runCommand(['audit', vault.vault, ...words, '--rpc-url', localnet.url]);
      assert.match(stderr, message);
      assert.equal(exitCode, 2);
    }
  });

  it('names SOLANA_RPC_URL if what answers there is no Solana node', async (t) => {
    const server = createServer((_request, response) => response.writeHead(404).end('{"error":"ERR_NOT_FOUND"}'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const { stderr } = await runCommand(['audit', vault.vault], { SOLANA_RPC_URL: `http://127.0.0.1:${address.port}` });
    assert.match(
      stderr,
      /^✗ ERR_UNEXPECTED_REPLY .*\n {2}Check that SOLANA_RPC_URL or --rpc-url names a Solana node\.\n$/,
    );
  });

  it('reads a cluster: a proof that a vault wrote, and an outflow without one', async (t) => {
    const localnet = await startLocalnet({ slotMs: 50, finalizedLagSlots: 2 });
    t.after(() => localnet.stop());
    const world = { localnet, rpc: createSolanaRpc(localnet.url) };
    const { vault: owner, call } = await openStranger(world);
    const { address: destination } = await generateKeyPairSigner();
    const pay = getTransferSolInstruction({ source: createNoopSigner(owner), destination, amount: 2_000_000n });
    const [event] = PROOFS;
    assert.ok(event);
    await call([memoBy(owner, proofMemo(event)), pay]);
    await awaitFinalized(world);
    const line = ['audit', owner, '--rpc-url', localnet.url, '--json'];
    const honest = parseDocument<AuditDocument>(await runCommand(line));
    assert.deepEqual(honest.pipelines, { total: 1, withoutProof: 0, byType: [{ type: 'WATCH_AD', count: 1 }] });
    assert.deepEqual([honest.assets[0]?.airdropped, honest.assets[0]?.closing], ['2000000', '998000000']);

    await call([pay]);
    await awaitFinalized(world);
    const dishonest = await runCommand(line);
    assert.equal(dishonest.exitCode, 3);
    const { unexplained }: AuditDocument = JSON.parse(dishonest.stdout);
    assert.deepEqual(
      unexplained.map(({ amountBaseUnits }) => amountBaseUnits),
      ['2000000'],
    );
  });
});
