import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { RegisteredProject } from '@flywheel/api';
import { createFlywheelClient } from '@flywheel/sdk';
import { waitUntil } from '@flywheel/testing/batches';
import { generateKeyPairSigner } from '@solana/kit';
import { type CliProject, openCliProject } from './cli-project.ts';
import { ask, documentsOf, eventFor } from './collect-events.ts';
import { startLyingNode } from './lying-node.ts';
import { runCommand, STATE_HOME } from './run-command.ts';

const FLYWHEEL = fileURLToPath(new URL('../bin/flywheel.js', import.meta.url));

describe('flywheel collect', () => {
  let world: CliProject;
  let project: CliProject['project'];
  let env: CliProject['env'];
  let wallet: string;

  before(async () => {
    const terms = ['--burn-limit', '0', '--airdrop-limit', '1000', '--scopes', 'airdrop'];
    world = await openCliProject({ terms, tokens: '500' });
    ({ project, env } = world);
    wallet = world.wallet.file;
  });
  after(() => world?.stop());

  function collect(lines: readonly string[], ...words: string[]) {
    return runCommand(['collect', '--wallet', wallet, ...words], env, Readable.from([lines.join('\n')]));
  }

  async function balanceOf(address: string): Promise<string | null> {
    const [balance = null] = await world.balances([address]);
    return balance;
  }

  it('pays each event of stdin once for its id, and says with its exit code what is left', async () => {
    const { address } = await generateKeyPairSigner();
    const events = ['a', 'b', 'c'].map((id) => eventFor(address, id));
    const sysvar = eventFor('SysvarC1ock11111111111111111111111111111111', 'bad');
    const lines = [...events, '{"id":', eventFor(address, 'a', 2), ...events, ''];

    const first = await collect(lines);
    assert.equal(first.exitCode, 3, first.stderr);
    assert.match(first.stderr, /3 of 3 events paid\n/);
    assert.match(first.stderr, /ERR_EVENTS_LEFT {2}2 lines are invalid and not accepted\./);
    const results = documentsOf(first.stdout);
    const paid = results.filter(({ state }) => state === 'paid');
    assert.deepEqual(
      paid.map(({ id, position }) => [id, position]),
      ['a', 'b', 'c'].map((id, position) => [id, position]),
    );
    const invalid = results.filter(({ state }) => state === 'invalid');
    assert.deepEqual(
      invalid.map(({ line, id, error }) => [line, id, error]),
      [
        [4, null, 'ERR_INVALID_REQUEST'],
        [5, 'a', 'ERR_ITEM_CHANGED'],
      ],
    );
    assert.equal(await balanceOf(address), '3000000');

    const again = await collect(events);
    assert.deepEqual([again.exitCode, again.stdout], [0, ''], again.stderr);
    const quarantined = await collect([sysvar, eventFor(address, 'd')]);
    assert.equal(quarantined.exitCode, 3, quarantined.stderr);
    assert.match(quarantined.stderr, /Quarantined bad: ERR_\w+ .* Decide with --requeue or --drop\.\n/);
    assert.deepEqual(
      documentsOf(quarantined.stdout)
        .map(({ id, state }) => `${id} ${state}`)
        .toSorted(),
      ['bad quarantined', 'd paid'],
    );
    const dropped = await collect([], '--drop', 'bad', '--json');
    assert.deepEqual([dropped.exitCode, dropped.stderr], [0, '']);
    const { accepted, paid: count, dropped: left, invalid: lines0 } = JSON.parse(dropped.stdout);
    assert.deepEqual([accepted, count, left, lines0], [5, 4, 1, []]);
    assert.equal(await balanceOf(address), '4000000');
    const repeated = await collect([eventFor(address, 'e')], '--drop', 'bad', '--drop', 'bad', '--requeue', 'd');
    assert.equal(repeated.exitCode, 0, repeated.stderr);
    assert.match(repeated.stderr, /^Event d is paid already\.\nEvent bad is dropped already\.$/m);
    assert.equal(await balanceOf(address), '5000000', 'it pays what is new');
    for (const [option, id] of [
      ['--requeue', 'bad'],
      ['--drop', 'd'],
      ['--drop', 'unknown'],
    ] as const) {
      const { exitCode, stderr } = await collect([], option, id, '--json');
      assert.deepEqual([exitCode, JSON.parse(stderr).error], [1, 'ERR_ITEM_STATE'], `${option} ${id}`);
    }
  });

  it('--merge-airdrops pays with one transfer, and prints the text that proves each event', async () => {
    const { address } = await generateKeyPairSigner();
    const ids = ['m1', 'm2', 'm3'];
    const merged = await collect(
      ids.map((id) => eventFor(address, id, 0.1)),
      '--merge-airdrops',
    );
    assert.equal(merged.exitCode, 0, merged.stderr);
    const results = documentsOf(merged.stdout);
    assert.deepEqual(
      results.map(({ id, position }) => [id, position]),
      ids.map((id) => [id, 0]),
    );
    assert.equal(await balanceOf(address), '300000');
    const file = await world.folder.write('merged.json', `${results[0]?.mergedPayload}\n`);
    const verify = (payload: string) =>
      runCommand(['proof', 'verify', '--type', 'WATCH_AD', '--payload', payload, '--merged-payload-file', file], env);
    for (const id of ids) {
      const { exitCode, stdout } = await verify(JSON.stringify({ id }));
      assert.equal(exitCode, 0, stdout);
    }
    const other = await verify('{"id":"m4"}');
    assert.equal(other.exitCode, 3);
    assert.match(other.stdout, /does not list this event/);
  });

  function start(words: readonly string[]) {
    const child = spawn(process.execPath, [FLYWHEEL, 'collect', '--wallet', wallet, ...words], {
      env: { ...process.env, XDG_STATE_HOME: STATE_HOME, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const exited = once(child, 'exit');
    return { child, exited };
  }

  it('keeps what it has accepted when SIGTERM stops it, and the next start pays it', async () => {
    const { address } = await generateKeyPairSigner();
    const store = join(world.folder.path, 'stopped.db');
    const { child, exited } = start(['--store', store, '--max-age', '3600', '--json']);
    const [output, errors] = [text(child.stdout), text(child.stderr)];
    child.stdin.write(`${eventFor(address, 'kept')}\n`);
    await untilAccepted(store);
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [143, null], await errors);
    assert.match(await errors, /ERR_INTERRUPTED.*run the same command again/);
    assert.equal(JSON.parse(await output).pending, 1);
    assert.equal(await balanceOf(address), null);
    const next = await collect([], '--store', store);
    assert.equal(next.exitCode, 0, next.stderr);
    assert.equal(await balanceOf(address), '1000000');
  });

  it('verifies at the next of several nodes when the one that it began with is gone', {
    timeout: 120_000,
  }, async () => {
    const { address } = await generateKeyPairSigner();
    const node = await startLyingNode(env.SOLANA_RPC_URL ?? '', {});
    const nodes = { ...env, SOLANA_RPC_URL: `${node.url},${env.SOLANA_RPC_URL}` };
    const input = new PassThrough();
    const words = ['collect', '--wallet', wallet, '--max-age', '0'];
    const collected = runCommand(words, nodes, input);
    const paid = (baseUnits: string) =>
      waitUntil(
        'the payment',
        () => balanceOf(address),
        (balance) => balance === baseUnits,
      );
    input.write(`${eventFor(address, 'before')}\n`);
    await paid('1000000');
    await node[Symbol.asyncDispose]();
    input.write(`${eventFor(address, 'after')}\n`);
    await paid('2000000');
    input.end();
    const { exitCode, stderr } = await collected;
    assert.equal(exitCode, 0, stderr);
  });

  it('ends on a SIGTERM that arrives while it compares the projects', { timeout: 120_000 }, async (t) => {
    let signals = 0;
    const { fetch } = globalThis;
    t.mock.method(globalThis, 'fetch', (...asked: Parameters<typeof fetch>) => {
      if (String(asked[0]).endsWith('/batches?limit=1')) signals += Number(process.emit('SIGTERM', 'SIGTERM'));
      return fetch(...asked);
    });
    const endless = new Readable({ read: () => undefined });
    const { exitCode, stderr } = await runCommand(['collect', '--wallet', wallet], env, endless);
    assert.deepEqual([signals, exitCode], [1, 143], stderr);
    assert.match(stderr, /ERR_INTERRUPTED/);
  });

  it('--service-restored reads on chain what a batch has paid that the service has forgotten', {
    timeout: 120_000,
  }, async (t) => {
    const { address } = await generateKeyPairSigner();
    const store = join(world.folder.path, 'forgotten.db');
    const { fetch } = globalThis;
    let inits = 0;
    const forgetting = t.mock.method(globalThis, 'fetch', async (...[input, init]: Parameters<typeof fetch>) => {
      const { pathname } = new URL(String(input));
      if (pathname.endsWith('/batch/init')) {
        inits += 1;
        const headers = new Headers(init?.headers);
        if (inits > 1) headers.set('x-idempotency-key', randomUUID());
        return fetch(input, { ...init, headers });
      }
      const response = await fetch(input, init);
      if (!pathname.endsWith('/execute') || !response.ok) return response;
      const lost = { error: 'ERR_INTERNAL', message: 'The answer is lost.' };
      return Response.json(lost, { status: 503, headers: { 'retry-after': '0' } });
    });
    const stopped = await collect([eventFor(address, 'forgotten')], '--store', store);
    forgetting.mock.restore();
    assert.equal(stopped.exitCode, 1, stopped.stderr);
    assert.match(stopped.stderr, /ERR_CHAIN_MISMATCH.*\n.*--service-restored/);
    const client = createFlywheelClient({ url: world.service.url, apiKey: project.apiKey });
    const { batches } = await client.listBatches();
    const [, signed] = batches;
    assert.ok(signed);
    await waitUntil(
      'the accounts of the signed batch to be closed',
      async () => (await client.getBatch(signed.id, { include: ['ledger'] })).ledger,
      (ledger) => ledger?.isComplete === true,
    );

    const next = await collect([], '--store', store, '--service-restored');
    assert.equal(next.exitCode, 0, next.stderr);
    assert.match(next.stderr, /^Batch \S+: 1 of 1 event paid on chain\.$/m);
    const [{ id, state } = {}] = documentsOf(next.stdout);
    assert.deepEqual([id, state], ['forgotten', 'paid']);
    assert.equal(await balanceOf(address), '1000000');
  });

  it('refuses a --store in a directory that does not exist, because a typo would make an empty store', async () => {
    const directory = join(world.folder.path, 'nodir');
    const { exitCode, stderr } = await collect([], '--store', join(directory, 'events.db'));
    assert.equal(exitCode, 2);
    assert.match(
      stderr,
      /ERR_FILE.*The directory \S+\/nodir does not exist\. Create it, or pass another file as --store\./,
    );
    assert.equal(existsSync(directory), false);
  });

  it('refuses the store of another project, sends nothing, and names both vaults', async () => {
    const { address } = await generateKeyPairSigner();
    const store = join(world.folder.path, 'of-one-project.db');
    const { mint } = await world.run<{ mint: string }>('localnet', 'create-token', '--decimals', '6');
    const terms = ['--burn-limit', '0', '--airdrop-limit', '1000', '--scopes', 'airdrop'];
    const other = await world.run<RegisteredProject>('register', '--wallet', wallet, '--mint', mint, ...terms);
    const first = await collect([eventFor(address, 'ours')], '--store', store);
    assert.equal(first.exitCode, 0, first.stderr);

    const theirs = { ...env, FLYWHEEL_API_KEY: other.apiKey };
    const words = ['collect', '--wallet', wallet, '--store', store, '--json'];
    const refused = await runCommand(words, theirs, Readable.from([eventFor(address, 'theirs')]));
    assert.equal(refused.exitCode, 2, refused.stderr);
    const { error, message } = JSON.parse(refused.stderr);
    assert.equal(error, 'ERR_COLLECTOR_PROJECT');
    for (const { vaultAddress } of [project, other]) assert.ok(message.includes(vaultAddress), message);
    const { batches } = await createFlywheelClient({ url: world.service.url, apiKey: other.apiKey }).listBatches();
    assert.deepEqual(batches, []);

    const next = await collect([eventFor(address, 'ours'), eventFor(address, 'next')], '--store', store);
    assert.equal(next.exitCode, 0, next.stderr);
    assert.equal(await balanceOf(address), '2000000');
  });

  async function untilAccepted(store: string): Promise<void> {
    const { DatabaseSync } = await import('node:sqlite');
    const countItems = async () => {
      try {
        const database = new DatabaseSync(store, { readOnly: true });
        const row = database.prepare('select count(*) as n from flywheel_collector_items').get();
        database.close();
        return Number(row?.n);
      } catch {
        return 0; // The command has not created it yet.
      }
    };
    await waitUntil(`an item in ${store}`, countItems, (count) => count > 0);
  }

  it('--listen pays what a caller with the token posts from this machine, up to the caps of the hour', async () => {
    const { address } = await generateKeyPairSigner();
    const store = join(world.folder.path, 'listen.db');
    const { child, exited } = start(['--store', store, '--listen', '0', '--hourly-tokens', '3', '--max-age', '0']);
    const output = text(child.stdout);
    const port = await portOf(child.stderr);
    const token = await readFile(`${store}.token`, 'utf8');
    assert.equal((await stat(`${store}.token`)).mode & 0o777, 0o600);
    const good = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const event = eventFor(address, 'one');
    const post = (headers: Record<string, string>, body = event) => ask(port, { headers, body });

    for (const [headers, status, error] of [
      [{ ...good, authorization: 'Bearer x' }, 401, 'ERR_UNAUTHORIZED'],
      [{ 'content-type': 'application/json' }, 401, 'ERR_UNAUTHORIZED'],
      [{ ...good, host: `attacker.example:${port}` }, 403, 'ERR_HOST'],
      [{ ...good, host: '127.0.0.1' }, 403, 'ERR_HOST'],
      [{ ...good, origin: `http://127.0.0.1:${port}` }, 403, 'ERR_ORIGIN'],
      [{ ...good, origin: 'null' }, 403, 'ERR_ORIGIN'],
      [{ ...good, 'content-type': 'text/plain' }, 415, 'ERR_CONTENT_TYPE'],
    ] as const) {
      const answer = await post(headers);
      assert.deepEqual([answer.status, answer.document.error], [status, error]);
    }
    const typo = await post(good, JSON.stringify({ ...JSON.parse(event), action: [] }));
    assert.deepEqual([typo.status, typo.document.problems?.[0]?.place], [400, 'action']);
    const unknownType = await post(good, eventFor(address, 'one').replace('WATCH_AD', 'WATCH AD'));
    assert.deepEqual([unknownType.status, unknownType.document.problems?.[0]?.place], [400, 'type']);
    assert.equal((await ask(port, { headers: good, path: '/events/one' })).status, 404);

    for (let i = 0; i < 20; i += 1) {
      const refused = await post(good, eventFor(address, `refused ${i}`).replace('WATCH_AD', 'WATCH AD'));
      assert.deepEqual([refused.status, refused.document.error], [400, 'ERR_INVALID_REQUEST']);
    }
    const accepted = await post(good);
    assert.deepEqual([accepted.status, accepted.document.id, accepted.document.state], [202, 'one', 'pending']);
    const tooMuch = await post(good, eventFor(address, 'two', 4));
    assert.deepEqual([tooMuch.status, tooMuch.document.error], [400, 'ERR_INVALID_REQUEST']);
    const tooFine = await post(good, eventFor(address, 'fine', 0.0000001));
    assert.deepEqual([tooFine.status, tooFine.document.problems?.[0]?.place], [400, 'actions']);
    const over = await post(good, eventFor(address, 'three', 2.5));
    assert.deepEqual([over.status, over.document.error], [429, 'ERR_HOURLY_CAP']);
    assert.equal((await post(good)).status, 202);
    const changed = await post(good, eventFor(address, 'one', 2));
    assert.deepEqual([changed.status, changed.document.error], [409, 'ERR_ITEM_CHANGED']);
    await waitForPayment(port, good, 'one');
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
    assert.deepEqual(
      documentsOf(await output).map(({ id, state }) => [id, state]),
      [['one', 'paid']],
    );
    assert.equal(await balanceOf(address), '1000000');
    const lower = start(['--store', store, '--listen', '0', '--hourly-tokens', '1.25', '--max-age', '0']);
    const lowerPort = await portOf(lower.child.stderr);
    const authorization = `Bearer ${await readFile(`${store}.token`, 'utf8')}`;
    const headers = { ...good, authorization };
    const repeated = await ask(lowerPort, { headers, body: event });
    assert.deepEqual([repeated.status, repeated.document.state], [202, 'paid']);
    // Neither replaces the command that listens, nor its token.
    for (const wrong of [
      ['--listen', lowerPort, '--hourly-tokens', '1.25'],
      ['--listen', '0', '--hourly-tokens', '0.0000000001'],
    ]) {
      const again = await runCommand(['collect', '--wallet', wallet, '--store', store, ...wrong, '--json'], env);
      assert.deepEqual([again.exitCode, JSON.parse(again.stderr).error], [2, 'ERR_USAGE']);
    }
    const kept = await ask(lowerPort, { headers, body: eventFor(address, 'four', 0.25) });
    assert.deepEqual([kept.status, kept.document.state], [202, 'pending']);
    await waitForPayment(lowerPort, headers, 'four');
    lower.child.kill('SIGTERM');
    await lower.exited;
    const { batches } = await createFlywheelClient({ url: world.service.url, apiKey: project.apiKey }).listBatches();
    assert.equal(batches[0]?.status, 'EXECUTED');
  });

  it('--listen says with its exit code that SIGTERM has left events to pay', async () => {
    const { address } = await generateKeyPairSigner();
    const store = join(world.folder.path, 'listen-stopped.db');
    const { child, exited } = start(['--store', store, '--listen', '0', '--hourly-tokens', '1', '--max-age', '3600']);
    const port = await portOf(child.stderr);
    const authorization = `Bearer ${await readFile(`${store}.token`, 'utf8')}`;
    const headers = { authorization, 'content-type': 'application/json' };
    assert.equal((await ask(port, { headers, body: eventFor(address, 'left') })).status, 202);
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [143, null]);
  });

  async function waitForPayment(port: string, headers: Readonly<Record<string, string>>, id: string): Promise<void> {
    const readState = async () => (await ask(port, { headers, path: `/events/${id}` })).document.state;
    await waitUntil(`the payment of event ${id}`, readState, (state) => state === 'paid');
  }

  async function portOf(stderr: Readable): Promise<string> {
    for await (const line of createInterface({ input: stderr })) {
      const port = /^Listening at http:\/\/127\.0\.0\.1:(\d+)\/events\./.exec(line)?.[1];
      if (port !== undefined) return port;
    }
    throw new Error('The command has ended before it listened.');
  }

  it('--listen needs a cap in tokens', async () => {
    const { exitCode, stderr } = await runCommand(['collect', '--wallet', wallet, '--listen', '0', '--json'], env);
    assert.deepEqual([exitCode, JSON.parse(stderr).error], [2, 'ERR_USAGE']);
  });
});
