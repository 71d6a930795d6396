import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import { readAirdropCsv } from '@flywheel/protocol/airdrop-csv';
import { createFlywheelClient } from '@flywheel/sdk';
import { generateKeyPairSigner } from '@solana/kit';
import { keyOfPart, planAirdrop } from '../src/commands/airdrop/plan.ts';
import { sendAirdrop } from '../src/commands/airdrop/send.ts';
import { createConsoleClient } from '../src/console-client.ts';
import type { ProgressBar } from '../src/progress.ts';
import { type CliProject, openCliProject } from './cli-project.ts';
import { runCommand, STATE_HOME } from './run-command.ts';

const SILENT: ProgressBar = { show: () => undefined, note: () => undefined, close: () => undefined };

describe('flywheel airdrop', () => {
  let world: CliProject;
  let wallet: CliProject['wallet'];
  let project: CliProject['project'];
  let env: CliProject['env'];
  let folder: CliProject['folder'];
  let balances: CliProject['balances'];

  before(async () => {
    const terms = ['--burn-limit', '0', '--airdrop-limit', '1000', '--scopes', 'airdrop'];
    world = await openCliProject({ terms, tokens: '500' });
    ({ wallet, project, env, folder, balances } = world);
  });
  after(() => world?.stop());

  function airdrop(file: string, ...words: string[]) {
    return runCommand(['airdrop', file, '--wallet', wallet.file, '--json', ...words], env);
  }

  async function makeRows(name: string, count: number, amount: string) {
    const addresses = await Promise.all(
      Array.from({ length: count }, async () => String((await generateKeyPairSigner()).address)),
    );
    const file = await folder.write(name, addresses.map((address) => `${address},${amount}\n`).join(''));
    return { file, addresses };
  }

  async function planOf(file: string) {
    const { rows } = readAirdropCsv(await readFile(file, 'utf8'), { decimals: 6, duplicates: 'refuse' });
    const options = { type: 'AIRDROP', round: '', run: 1, token: { mint: project.mintAddress } };
    return planAirdrop(rows, options);
  }

  it('pays every row once, however often it runs, and writes a receipt with the transaction of each row', async () => {
    const { file, addresses } = await makeRows('season.csv', 20, '1.5');
    const dry = await airdrop(file, '--dry-run');
    assert.equal(dry.exitCode, 0, dry.stderr);
    assert.deepEqual(
      await balances(addresses),
      addresses.map(() => null),
    );

    const first = await airdrop(file);
    assert.deepEqual([first.exitCode, first.stderr], [0, '']);
    const { executedRows, total, batches, receipt, batchIds } = JSON.parse(first.stdout);
    assert.deepEqual([executedRows, total, batches, batchIds.length], [20, '30', 1, 1]);
    assert.deepEqual(
      await balances(addresses),
      addresses.map(() => '1500000'),
    );

    const rows = (await readFile(receipt, 'utf8')).trimEnd().split('\n');
    assert.equal(rows[0], 'line,address,amount,status,signature,batch');
    assert.match(rows[20] ?? '', new RegExp(`^20,${addresses[19]},1.5,executed,\\w{80,},${batchIds[0]}$`));
    const [, , , , signature = ''] = rows[1]?.split(',') ?? [];
    const proof = await runCommand(['proof', 'verify', '--signature', signature, '--vault', project.vaultAddress], env);
    assert.equal(proof.exitCode, 0, proof.stderr);

    const { exitCode, stdout, stderr } = await runCommand(['airdrop', file, '--wallet', wallet.file], env);
    assert.equal(exitCode, 5, stderr);
    assert.match(stdout, /^20 rows, 30 tokens, /);
    assert.doesNotMatch(stderr, /20 rows, 30 tokens/, 'the summary is the result');
    assert.match(
      stderr,
      /ERR_ALREADY_PAID {2}Paid on 20\S+; nothing was sent\. --again pays the same rows once more\./,
    );
    assert.match(stdout, /^20 rows, 30 tokens, in \d+ pipelines, 1 batch\. 1 batch already begun; resuming\./);
    assert.match(stdout, /20 of 20 rows executed, in \d+ transactions?\. Receipt: .*season\.receipt\.csv\n$/);
    assert.deepEqual(
      await balances(addresses),
      addresses.map(() => '1500000'),
    );
  });

  it('pays the same rows a second time with --again, once, and only after all were paid', async () => {
    const { file, addresses } = await makeRows('again.csv', 3, '1');
    const early = await airdrop(file, '--again');
    assert.equal(JSON.parse(early.stderr).error, 'ERR_RUN_TOO_EARLY');
    assert.equal((await airdrop(file)).exitCode, 0);
    const again = await airdrop(file, '--again');
    assert.deepEqual([again.exitCode, again.stderr], [0, '']);
    assert.equal((await airdrop(file, '--again')).exitCode, 5);
    assert.deepEqual(await balances(addresses), ['2000000', '2000000', '2000000']);
  });

  it('rejects rows that a batch has paid, wherever they stand and of whatever type, on a machine that knows nothing', async () => {
    const { file, addresses } = await makeRows('moved.csv', 9, '1');
    const first = await airdrop(file);
    assert.equal(first.exitCode, 0, first.stderr);
    const { receipt, batchIds } = JSON.parse(first.stdout);
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    const { addresses: newcomers } = await makeRows('newcomer.csv', 1, '1');
    const newcomer = `${newcomers[0]},1`;
    const attempts = [
      { which: '9 lines, 1 to 9, are', rows: [...lines, newcomer] },
      { which: '9 lines, 2 to 10, are', rows: [newcomer, ...lines] },
      { which: '9 lines, 1 to 9, are', rows: lines.toReversed() },
      { which: 'Line 2 is', rows: [newcomer, lines[4]] },
      { which: '9 lines, 1 to 9, are', rows: lines, words: ['--type', 'SEASON'] },
    ];
    for (const { which, rows, words = [] } of attempts) {
      await rm(receipt);
      await rm(STATE_HOME, { recursive: true });
      await writeFile(file, rows.map((row) => `${row}\n`).join(''));
      const { exitCode, stderr } = await airdrop(file, ...words);
      assert.equal(exitCode, 3, stderr);
      const { error, message } = JSON.parse(stderr);
      assert.equal(error, 'ERR_AIRDROP_REFUSED');
      assert.match(
        message,
        new RegExp(
          `^Nothing was sent\\.\\n {2}${which} already paid in batch ${batchIds[0]} on 20\\S+\\. .*--round NAME\\.$`,
        ),
      );
      await writeFile(receipt, '');
      await mkdir(STATE_HOME);
    }
    assert.deepEqual(await balances([...addresses, ...newcomers]), [...addresses.map(() => '1000000'), null]);
    const again = await airdrop(file, '--round', 'two', '--receipt', `${receipt}.two`);
    assert.equal(again.exitCode, 0, again.stderr);
    assert.deepEqual(
      await balances(addresses),
      addresses.map(() => '2000000'),
    );
  });

  it('rejects rows that are in an open batch, until that batch is cancelled', async () => {
    const { file, addresses } = await makeRows('open.csv', 3, '1');
    const client = createFlywheelClient({ url: world.service.url, apiKey: project.apiKey });
    const pipelines = (await planOf(file)).parts[0]?.map(({ pipeline }) => pipeline) ?? [];
    const { batch } = await client.initBatch({ pipelines });
    await folder.write(
      'open.csv',
      addresses
        .map((address) => `${address},1\n`)
        .toReversed()
        .join(''),
    );
    const open = await airdrop(file, '--dry-run');
    assert.equal(open.exitCode, 3, open.stderr);
    assert.match(
      JSON.parse(open.stderr).message,
      new RegExp(`3 lines, 1 to 3, are in batch ${batch.id}, which is \\w+\\. .* flywheel cancel ${batch.id}\\.`),
    );
    await client.cancelBatch(batch.id);
    assert.equal((await airdrop(file, '--dry-run')).exitCode, 0);
  });

  it('rejects a changed file on the machine that sent it, even if the receipt is lost, and resumes the copy that it kept', async () => {
    const { file, addresses } = await makeRows('kept.csv', 2, '1');
    const first = await airdrop(file);
    assert.equal(first.exitCode, 0, first.stderr);
    await rm(JSON.parse(first.stdout).receipt);
    await folder.write('kept.csv', addresses.map((address) => `${address},2\n`).join(''));
    const { exitCode, stderr } = await airdrop(file);
    assert.equal(exitCode, 2, stderr);
    const { error, message } = JSON.parse(stderr);
    assert.equal(error, 'ERR_FILE');
    const [, kept = ''] = /What was sent is in (\S+)\.$/.exec(message) ?? [];
    assert.equal((await airdrop(kept)).exitCode, 5);
    assert.deepEqual(
      await balances(addresses),
      addresses.map(() => '1000000'),
    );
  });

  it('rejects a file that has changed since it was sent, until another receipt is named', async () => {
    const { file, addresses } = await makeRows('changed.csv', 2, '1');
    assert.equal((await airdrop(file)).exitCode, 0);
    await folder.write('changed.csv', `${addresses[0]},1\n${addresses[1]},2\n`);
    const { exitCode, stderr } = await airdrop(file);
    assert.equal(exitCode, 2);
    assert.match(JSON.parse(stderr).message, /is the receipt of other rows/);
    const again = await airdrop(file, '--receipt', `${folder.path}/second.csv`, '--round', 'two');
    assert.equal(again.exitCode, 0, again.stderr);
    assert.deepEqual(await balances(addresses), ['2000000', '3000000']);
  });

  it('sends nothing if the receipt could not be written', async () => {
    const { file, addresses } = await makeRows('unwritable.csv', 1, '1');
    for (const receipt of [`${folder.path}/missing/receipt.csv`, `${file}/receipt.csv`]) {
      const { exitCode, stderr } = await airdrop(file, '--receipt', receipt);
      const { error, message } = JSON.parse(stderr);
      assert.deepEqual([exitCode, error], [2, 'ERR_FILE']);
      assert.ok(message.includes(receipt), message);
    }
    assert.deepEqual(await balances(addresses), [null]);
  });

  it('reports every invalid row and sends nothing', async () => {
    const { file } = await makeRows('invalid.csv', 2, '1');
    await folder.write('invalid.csv', `${await readFile(file, 'utf8')}nobody,1\n${project.vaultAddress},2\n`);
    const { exitCode, stderr } = await airdrop(file);
    assert.equal(exitCode, 2);
    const { error, message } = JSON.parse(stderr);
    assert.equal(error, 'ERR_FILE');
    assert.match(
      message,
      /^invalid\.csv has 2 invalid rows, 2 valid rows\. Nothing was sent\.\n {2}line 3: “nobody” is not a Solana address/,
    );
    assert.match(message, /line 4: \w+ belongs to a program/);
  });

  it('checks the total against limits and vault before anything is sent', async () => {
    const { file, addresses } = await makeRows('rich.csv', 2, '600');
    const { exitCode, stderr } = await airdrop(file);
    assert.equal(exitCode, 3);
    const { error, message } = JSON.parse(stderr);
    assert.equal(error, 'ERR_AIRDROP_REFUSED');
    assert.match(message, /^Nothing was sent\.\n/);
    assert.match(message, /1200/);
    assert.deepEqual(await balances(addresses), [null, null]);
  });

  it('sends the unsent rows of a failed batch only with --rest', async () => {
    const { file, addresses } = await makeRows('failed.csv', 9, '0.25');
    const { identity, parts } = await planOf(file);
    const client = createFlywheelClient({ url: world.service.url, apiKey: project.apiKey });
    const pipelines = parts[0]?.map(({ pipeline }) => pipeline) ?? [];
    const { batch } = await client.initBatch(
      { pipelines },
      { idempotencyKey: await keyOfPart(parts[0] ?? [], identity, 0) },
    );
    await client.cancelBatch(batch.id);

    const { exitCode, stderr } = await airdrop(file);
    assert.equal(exitCode, 3);
    assert.match(
      JSON.parse(stderr).message,
      new RegExp(`^Batch ${batch.id} failed: .*0 rows paid, 9 rows not paid\\..*--rest`),
    );
    assert.deepEqual(
      await balances(addresses),
      addresses.map(() => null),
    );
    for (let i = 0; i < 2; i += 1) {
      const retried = await airdrop(file, '--rest');
      assert.equal(retried.exitCode, i === 0 ? 0 : 5, retried.stderr);
      assert.deepEqual(
        await balances(addresses),
        addresses.map(() => '250000'),
      );
    }
  });

  it('sends as many batches as needed, and each row once after an interruption between them', async () => {
    const { file, addresses } = await makeRows('many.csv', 36, '0.1');
    const { rows } = readAirdropCsv(await readFile(file, 'utf8'), { decimals: 6, duplicates: 'refuse' });
    const token = { mint: project.mintAddress };
    const plan = planAirdrop(rows, { type: 'MANY', round: '', run: 1, token, pipelinesPerBatch: 2 });
    assert.ok(plan.parts.length >= 3);
    const console = createConsoleClient({ url: world.service.url });
    await console.signIn(wallet.signer);
    const client = createFlywheelClient({ url: world.service.url, apiKey: project.apiKey });
    const send = (signal: AbortSignal, bar: ProgressBar) =>
      sendAirdrop(
        {
          client,
          console,
          projectId: project.projectId,
          wallet: wallet.signer,
          verify: { rpcUrl: world.service.rpcUrl },
          signal,
        },
        { rows, plan, receiptFile: `${folder.path}/many.receipt.csv`, sendRest: false },
        { bar, onEvent: () => undefined },
      );
    const stop = new AbortController();
    const stopInTheSecond: ProgressBar = {
      show: (_, text) => {
        if (text.startsWith('Batch 2 of') && text.includes('execute')) stop.abort(new Error('stopped'));
      },
      note: () => undefined,
      close: () => undefined,
    };
    await assert.rejects(send(stop.signal, stopInTheSecond), /stopped/);
    const { failure, batchIds } = await send(new AbortController().signal, SILENT);
    assert.equal(failure, null);
    assert.equal(batchIds.length, plan.parts.length);
    assert.deepEqual(
      await balances(addresses),
      addresses.map(() => '100000'),
    );
  });
});
