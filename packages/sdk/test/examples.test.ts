import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { burn, createFlywheelClient, type FlywheelClient, pipeline, runKeyOf, watchBatch } from '@flywheel/sdk';
import { packAirdropCsv } from '@flywheel/sdk/airdrop-csv';
import { tokenBalance } from '@flywheel/testing/chain';
import { createProject, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import {
  createKeyPairSignerFromBytes,
  createKeyPairSignerFromPrivateKeyBytes,
  generateKeyPairSigner,
  getAddressEncoder,
  signBytes,
} from '@solana/kit';

const run = promisify(execFile);

describe('the examples', () => {
  let world: World;
  let project: TestProject;
  let client: FlywheelClient;
  let folder: string;
  let walletFile: string;
  before(async () => {
    world = await openWorld();
    const keyBytes = crypto.getRandomValues(new Uint8Array(32));
    const wallet = await createKeyPairSignerFromPrivateKeyBytes(keyBytes);
    project = await createProject(world, { wallet });
    client = createFlywheelClient({ url: world.url, apiKey: project.apiKey });
    folder = await mkdtemp(join(tmpdir(), 'flywheel-examples-'));
    walletFile = join(folder, 'wallet.json');
    // solana-keygen's format: the private key, then the address.
    await writeFile(walletFile, JSON.stringify([...keyBytes, ...getAddressEncoder().encode(wallet.address)]));
  });
  after(async () => {
    await world.stop();
    await rm(folder, { recursive: true });
  });

  function environment(more: Readonly<Record<string, string>> = {}) {
    const own = { FLYWHEEL_URL: world.url, FLYWHEEL_API_KEY: project.apiKey, SOLANA_RPC_URL: world.localnet.url };
    return { ...process.env, ...own, ...more };
  }

  async function runExample(name: string, args: readonly string[], more?: Readonly<Record<string, string>>) {
    const { stdout } = await run(process.execPath, [pathOf(name), ...args], { env: environment(more) });
    return stdout;
  }

  it('run-batch runs a batch', async () => {
    assert.equal(JSON.parse(await runExample('run-batch.ts', [walletFile])).totalSuccessful, 1);
  });

  it('verify-proof verifies what is proven, and nothing else', async () => {
    const result = JSON.parse(await runExample('run-batch.ts', [walletFile]));
    const signature = result.successfulExecutions.at(-1).txHashes.at(-1);
    const payload = '{"adId":"ad-7731","userId":"u-48211"}';
    const question = [signature, project.vaultAddress, 'WATCH_AD'];
    assert.equal(JSON.parse(await runExample('verify-proof.ts', [...question, payload])).isProven, true);
    await assert.rejects(runExample('verify-proof.ts', [...question, '{}']), ({ code, stdout }) => {
      assert.match(JSON.parse(stdout).reason, /of other payloads/);
      return code === 1;
    });
  });

  it('burn-on-purchase burns once for a purchase, however often it is reported', async () => {
    const args = [pathOf('burn-on-purchase.ts'), walletFile, join(folder, 'shop.db'), '0'];
    const shop = spawn(process.execPath, args, { env: environment(), stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(shop.stdout, 'data');
    const { url } = JSON.parse(String(line));
    const customer = (await generateKeyPairSigner()).address;
    const body = JSON.stringify({ orderId: 'SO-20418', customer, totalCents: 31_800 });
    const headers = { 'content-type': 'application/json' };
    const post = (text: string) => fetch(url, { method: 'POST', headers, body: text });
    const report = async (text: string) => JSON.parse(await (await post(text)).text());
    const ended = async (text: string) => {
      for (;;) {
        const answer = await report(text);
        if (answer.state !== 'pending') return answer;
        await setTimeout(100);
      }
    };
    assert.deepEqual(
      (await Promise.all([report(body), report(body)])).map(({ state }) => state),
      ['pending', 'pending'],
    );
    const paid = await ended(body);
    assert.equal(paid.state, 'paid', JSON.stringify(paid));
    assert.equal(await tokenBalance(world, project.mint, customer), 9_540_000n);

    for (const text of ['', 'null', '[]', '{"orderId":', '{"orderId":"x"}', body.replace('31800', '-1')]) {
      assert.equal((await post(text)).status, 400, text);
    }
    assert.equal((await post(body.replace('31800', '318'))).status, 409);
    assert.equal((await fetch(url, { method: 'POST', body })).status, 415, 'a page of another origin');
    const toMint = JSON.stringify({ orderId: 'SO-20419', customer: project.mint, totalCents: 100 });
    const refused = await ended(toMint);
    assert.deepEqual([refused.state, refused.reason.code], ['quarantined', 'ERR_FLYWHEEL_INVALID_ACTION']);
    assert.deepEqual(await ended(body), paid);
    assert.equal(await tokenBalance(world, project.mint, customer), 9_540_000n);
    shop.kill();
    await once(shop, 'exit');
  });

  it('airdrop-watch-ad pays everything once, also after an interruption', async () => {
    const viewers = await Promise.all(Array.from({ length: 9 }, async () => (await generateKeyPairSigner()).address));
    const events = viewers.map((viewer, i) => JSON.stringify({ adId: `ad-${i}`, viewer, seconds: 30 }));
    await writeFile(join(folder, 'events.jsonl'), `${[...events, ...events].join('\n')}\n`);
    const before = (await client.listBatches({ limit: 100 })).batches.length;

    const worker = spawn(process.execPath, [pathOf('airdrop-watch-ad.ts'), folder, walletFile], { env: environment() });
    await untilBatches(before + 1);
    worker.kill('SIGKILL');
    await once(worker, 'exit');
    const paid = (await runExample('airdrop-watch-ad.ts', [folder, walletFile])).trim().split('\n');
    assert.equal(await runExample('airdrop-watch-ad.ts', [folder, walletFile]), '');

    const [batch, ...others] = (await client.listBatches({ limit: 100 })).batches;
    assert.equal(others.length, before);
    assert.equal(batch?.executeResult?.totalSuccessful, 9);
    assert.deepEqual(
      paid.map((line) => JSON.parse(line)).map(({ id, state, batchId }) => ({ id, state, batchId })),
      viewers.map((_, i) => ({ id: `ad-${i}`, state: 'paid', batchId: batch?.id })),
    );
    for (const viewer of viewers) assert.equal(await tokenBalance(world, project.mint, viewer), 1_500_000n);
  });

  it('airdrop-watch-ad pays the others when a viewer or a line of the queue cannot be paid', async () => {
    const queue = await mkdtemp(join(folder, 'queue-'));
    const [token, sysvar] = [project.mint, 'SysvarC1ock11111111111111111111111111111111'];
    const otherMint = await world.localnet.bank.createMint(6, false);
    const honest = await Promise.all(Array.from({ length: 3 }, async () => (await generateKeyPairSigner()).address));
    const watched = [honest[0], token, honest[1], otherMint, honest[2], sysvar].map((viewer, i) =>
      // U+2028 stands in the text of JSON as it is, and ends no line.
      JSON.stringify({ adId: `bad-${i}`, viewer, seconds: 20, title: 'one\u2028two' }),
    );
    const invalid = ['{"adId":', 'null', JSON.stringify({ adId: 'x', viewer: honest[0], seconds: -1 })];
    await writeFile(join(queue, 'events.jsonl'), [...invalid, ...watched].join('\n'));
    const results = (await runExample('airdrop-watch-ad.ts', [queue, walletFile])).trim().split('\n');
    const news = results.map((line) => JSON.parse(line));
    const rejected = news.filter(({ state }) => state === 'quarantined').map(({ id }) => id);
    assert.deepEqual(rejected.toSorted(), ['bad-1', 'bad-3', 'bad-5']);
    assert.deepEqual(
      news.filter(({ kind }) => kind === 'invalid').map(({ element }) => element),
      invalid,
    );
    assert.doesNotMatch(await runExample('airdrop-watch-ad.ts', [queue, walletFile]), /"state"/);
    for (const viewer of honest) assert.equal(await tokenBalance(world, project.mint, viewer), 1_000_000n);
  });

  it('new-wallet creates a wallet once, prints an existing one, and answers a sentence where it cannot', async () => {
    const file = join(folder, 'new-wallet.json');
    const address = (await runExample('new-wallet.js', [file])).trim();
    assert.equal(
      (await createKeyPairSignerFromBytes(new Uint8Array(JSON.parse(await readFile(file, 'utf8'))))).address,
      address,
    );
    assert.equal((await runExample('new-wallet.js', [file])).trim(), address);
    for (const [args, message] of [
      [[], /^Name the file to create: [^\n]*\n$/],
      [[join(folder, 'events.jsonl')], /^[^\n]* exists already and is no wallet\.\n$/],
      [[join(folder, 'missing', 'wallet.json')], /^ENOENT[^\n]*\n$/],
    ] as const) {
      await assert.rejects(runExample('new-wallet.js', args), ({ code, stderr }) => {
        assert.match(stderr, message);
        return code === 1;
      });
    }
  });

  it('approve-with-kms approves a batch with a key of a KMS, for the given vault and mint', async () => {
    let isAway = false;
    const kms = createServer(async (request, response) => {
      if (isAway) {
        response.writeHead(503).end();
        return;
      }
      const message = await buffer(request);
      response.end(await signBytes(project.wallet.keyPair.privateKey, message));
    });
    kms.listen(0, '127.0.0.1');
    await once(kms, 'listening');
    const KMS_URL = `http://127.0.0.1:${portOf(kms.address())}`;
    const { batch } = await client.initBatch({ pipelines: [pipeline('WATCH_AD', { adId: 'kms' }, burn(1))] });
    await watchBatch(client, batch.id, { until: ({ status }) => status === 'FINALIZED' });

    const { address } = project.wallet;
    const { vaultAddress, mint } = project;
    const stranger = (await generateKeyPairSigner()).address;
    const otherMint = await world.localnet.bank.createMint(6, false);
    for (const known of [
      [stranger, mint],
      [vaultAddress, otherMint],
    ]) {
      const refused = runExample('approve-with-kms.ts', [batch.id, address, ...known], { KMS_URL });
      await assert.rejects(refused, /ERR_SIGNING_REFUSED/);
    }
    const large = await client.initBatch({ pipelines: [pipeline('WATCH_AD', { adId: 'large' }, burn(10_001))] });
    const refused = runExample('approve-with-kms.ts', [large.batch.id, address, vaultAddress, mint], { KMS_URL });
    await assert.rejects(refused, /mayApprove does not accept this batch/);
    const args = [batch.id, address, vaultAddress, mint];
    isAway = true;
    await assert.rejects(runExample('approve-with-kms.ts', args, { KMS_URL }), /The KMS answered 503/);
    isAway = false;
    assert.equal(JSON.parse(await runExample('approve-with-kms.ts', args, { KMS_URL })).status, 'EXECUTED');
    kms.close();
    const again = await runExample('approve-with-kms.ts', args, { KMS_URL });
    assert.equal(JSON.parse(again).status, 'EXECUTED', 'without the KMS');
    await client.cancelBatch(large.batch.id);
    await assert.rejects(
      runExample('approve-with-kms.ts', [large.batch.id, address, vaultAddress, mint]),
      ({ code, stdout }) => code === 1 && JSON.parse(stdout).status === 'FAILED',
    );
  });

  it('csv-airdrop sends a file once', async () => {
    const recipients = await Promise.all(
      Array.from({ length: 8 }, async () => (await generateKeyPairSigner()).address),
    );
    const file = join(folder, 'recipients.csv');
    await writeFile(file, recipients.map((recipient) => `${recipient},1.25\n`).join(''));
    const first = await runExample('csv-airdrop.ts', [file, walletFile, project.mint]);
    assert.equal(JSON.parse(first).executeResult.totalSuccessful, 2);
    assert.equal(await runExample('csv-airdrop.ts', [file, walletFile, project.mint]), first);
    for (const recipient of recipients) assert.equal(await tokenBalance(world, project.mint, recipient), 1_250_000n);

    await writeFile(file, `${recipients[0]},1\n${recipients[0]},1.2345678\n`);
    await assert.rejects(runExample('csv-airdrop.ts', [file, walletFile, project.mint]), /Line 2: 1\.2345678 has more/);
  });

  it('csv-airdrop sends what a failed batch has left when it is run again', async () => {
    const recipient = (await generateKeyPairSigner()).address;
    const [file, csv] = [join(folder, 'failed.csv'), `${recipient},1.25\n`];
    await writeFile(file, csv);
    const pipelines = await packAirdropCsv(csv, { type: 'CSV_AIRDROP', decimals: 6 });
    const { batch } = await client.initBatch({ pipelines }, { idempotencyKey: await runKeyOf(pipelines) });
    await client.cancelBatch(batch.id);
    assert.equal((await watchBatch(client, batch.id)).status, 'FAILED');
    const { batchId, status } = JSON.parse(await runExample('csv-airdrop.ts', [file, walletFile, project.mint]));
    assert.deepEqual([status, batchId === batch.id], ['EXECUTED', false]);
    assert.equal(await tokenBalance(world, project.mint, recipient), 1_250_000n);
  });

  it('have at most ten lines of code, imports, the usage line and the exit code aside', async () => {
    for (const name of await readdir(new URL('../../../examples/', import.meta.url))) {
      if (!name.endsWith('.ts')) continue;
      const text = await readFile(pathOf(name), 'utf8');
      const lines = text.replace(/^if \(.*\) \{\n[^}]*process\.exit\(2\);\n\}$/m, '').split('\n');
      const code = lines.filter((line) => !/^\s*(\/\/.*)?$|^import |process\.exitCode = 1;$/.test(line));
      assert.ok(code.length <= 10, `${name} has ${code.length} lines of code`);
    }
  });

  async function untilBatches(count: number): Promise<void> {
    while ((await client.listBatches({ limit: 100 })).batches.length < count);
  }
});

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));
}

function portOf(address: AddressInfo | string | null): number {
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}
