import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Batch, BatchList, ExecuteBatchResponse, InitBatchResponse, RegisteredProject } from '@flywheel/api';
import { startLocalnet } from '@flywheel/localnet';
import { createFlywheelClient } from '@flywheel/sdk';
import { callRpc, createRpcTransport } from '@flywheel/solana-rpc';
import { parseDocument, runCommand } from './run-command.ts';
import { startTestService, type TestService } from './test-service.ts';
import { makeTemporaryFolder, type TemporaryFolder, writeWallet } from './wallet-files.ts';

const RECIPIENT = '12ZgF2f89ZxX9ANd6eNLh8h8LywmmKj2E3DJRn7QxfV9';
const REQUEST = {
  pipelines: [
    {
      type: 'WATCH_AD',
      payload: '{"adId":"ad-1"}',
      actions: [
        { action: 'BURN', amount: 0.5 },
        { action: 'AIRDROP', toAddress: RECIPIENT, amount: 2 },
      ],
    },
  ],
};

/** Every command against a real service and cluster; each step builds on the one before. */
describe('commands, one after another', () => {
  let service: TestService;
  let folder: TemporaryFolder;
  let env: Record<string, string>;
  let walletFile: string;
  let requestFile: string;
  let mint: string;
  let project: RegisteredProject & { readonly company: string };

  before(async () => {
    folder = await makeTemporaryFolder();
    service = await startTestService();
    env = { FLYWHEEL_URL: service.url, SOLANA_RPC_URL: service.rpcUrl };
    requestFile = await folder.write('request.json', JSON.stringify(REQUEST));
  });

  after(async () => {
    await service?.stop();
    await folder?.[Symbol.asyncDispose]();
  });

  async function run<Document>(...words: string[]): Promise<Document> {
    return parseDocument<Document>(await runCommand([...words, '--json'], env));
  }

  /** Signs offline, as another machine would, with the multisig of the registration. */
  async function sign(batchId: string, proposalApproveTx: string): Promise<{ readonly signedTx: string }> {
    const { batchIndex } = await run<Batch>('status', batchId);
    const which = ['--multisig', project.multisig, '--company', project.company, '--batch-index', batchIndex];
    return run('sign', '--wallet', walletFile, ...which, proposalApproveTx);
  }

  async function failure(...words: string[]): Promise<{ error: string; message: string }> {
    const { exitCode, stdout, stderr } = await runCommand([...words, '--json'], env);
    assert.notEqual(exitCode, 0);
    assert.equal(stdout, '');
    return JSON.parse(stderr);
  }

  it('localnet create-token and fund create a token and give SOL and tokens', async () => {
    const { file, signer } = await writeWallet(folder);
    walletFile = file;
    ({ mint } = await run<{ mint: string }>('localnet', 'create-token', '--decimals', '6'));
    assert.deepEqual(await run('localnet', 'fund', signer.address, '--sol', '5'), {
      address: signer.address,
      sol: '5',
    });
    const { stdout } = await runCommand(
      ['localnet', 'fund', signer.address, '--mint', mint, '--tokens', '0.000001'],
      env,
    );
    assert.equal(stdout, `Sent 0.000001 tokens to ${signer.address}.\n`);
  });

  it('localnet fund accepts at most the decimals of the mint', async () => {
    const { error, message } = await failure('localnet', 'fund', RECIPIENT, '--mint', mint, '--tokens', '0.0000001');
    assert.equal(error, 'ERR_USAGE');
    assert.match(message, /at most 6 decimals/);
  });

  it('register signs in, creates the multisig and prints the first API key', async () => {
    const limits = ['--burn-limit', '100', '--airdrop-limit', '100', '--scopes', 'burn,airdrop'];
    const proofTypes = ['--proof-type', 'WATCH_AD:A rewarded video: watched', '--proof-type', 'REFERRAL'];
    project = await run('register', '--wallet', walletFile, '--mint', mint, ...limits, ...proofTypes);
    assert.deepEqual(Object.keys(project).sort(), [
      'apiKey',
      'company',
      'flywheelId',
      'mintAddress',
      'multisig',
      'operator',
      'projectId',
      'tokenId',
      'vaultAddress',
    ]);
    assert.equal(project.mintAddress, mint);
    env.FLYWHEEL_API_KEY = project.apiKey;
  });

  it('init prints the same batch for the same idempotency key', async () => {
    const key = ['--idempotency-key', crypto.randomUUID()];
    const { batch, proposalApproveTx } = await run<InitBatchResponse>('init', requestFile, ...key);
    assert.equal(batch.status, 'AVAILABLE_TO_QUEUE');
    assert.deepEqual(await run('init', requestFile, ...key), { batch, proposalApproveTx });
  });

  it('execute reports what the vault lacks, and succeeds after a deposit', async () => {
    const { batch, proposalApproveTx } = await run<InitBatchResponse>('init', requestFile);
    const { signedTx } = await sign(batch.id, proposalApproveTx);
    const lacking = await failure('execute', batch.id, signedTx, '--wait', '20');
    assert.equal(lacking.error, 'ERR_VAULT_UNDERFUNDED');

    await run('localnet', 'fund', project.vaultAddress, '--sol', '1', '--mint', mint, '--tokens', '50');
    // Nothing lands meanwhile.
    await run('localnet', 'pause-slots');
    const pending = await runCommand(['execute', batch.id, signedTx, '--wait', '0', '--json'], env);
    await run('localnet', 'resume-slots');
    assert.equal(pending.exitCode, 4, 'it has not ended in time');
    const { status } = JSON.parse(pending.stdout);
    const { error, message, batchId } = JSON.parse(pending.stderr);
    assert.deepEqual([error, batchId], ['ERR_TIMED_OUT', batch.id]);
    assert.ok(message.startsWith(`Batch ${batch.id} is still ${status} after 0 s. `), message);

    const executed = await run<ExecuteBatchResponse>('execute', batch.id, signedTx, '--wait', '20');
    assert.deepEqual([executed.batchId, executed.status], [batch.id, 'EXECUTED']);
    assert.equal(executed.result.totalSuccessful, 1);

    assert.equal((await run<Batch>('status', batch.id)).status, 'EXECUTED');
    assert.equal((await run<Batch>('status', batch.id, '--watch')).status, 'EXECUTED');
    const { stdout } = await runCommand(['status', batch.id], env);
    assert.match(stdout, new RegExp(`^● EXECUTED  batch ${batch.id}\n`));
    assert.match(stdout, /executed +1 of 1 pipeline, \d+ signatures?: /);
  });

  it('preview shows the cost, and what would stop the batch, and creates nothing', async () => {
    const client = createFlywheelClient({ url: service.url, apiKey: project.apiKey });
    const before = (await client.listBatches()).batches.length;
    const preview = await runCommand(['preview', requestFile], env);
    assert.deepEqual([preview.exitCode, preview.stderr], [0, ''], preview.stdout);
    assert.match(preview.stdout, /fees +0\.0\d+ SOL, paid by the operator/);
    const file = await folder.write('large.json', JSON.stringify(REQUEST).replace('0.5', '5000000'));
    const { exitCode, stdout, stderr } = await runCommand(['preview', file, '--json'], env);
    assert.equal(exitCode, 3);
    const others = JSON.parse(stdout).problems.length - 1;
    assert.ok(others > 0, stdout);
    const { error, message } = JSON.parse(stderr);
    assert.equal(error, 'ERR_PREVIEW_FAILED');
    assert.match(message, new RegExp(` ${others} more issues? in problems on stdout\\.$`), 'nothing is above');
    const invalid = await folder.write('invalid.json', JSON.stringify(REQUEST).replace('0.5', '-1'));
    const { problems } = JSON.parse((await runCommand(['preview', invalid, '--json'], env)).stderr);
    assert.equal(problems[0].place, 'pipelines[0].actions[0].amount');
    assert.equal((await client.listBatches()).batches.length, before);
  });

  it('run executes a batch, with a line per step on stderr', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['run', requestFile, '--wallet', walletFile], env);
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^● EXECUTED {2}batch /);
    const steps = stderr.split('\n').filter((line) => line.startsWith('✓'));
    assert.deepEqual(
      steps.map((line) => line.replace(/ · .*| \d+\.\d s$/g, '')),
      ['✓ Compile', '✓ Set up on chain', '✓ Approve with your wallet', '✓ Execute'],
    );
  });

  it('run says that an earlier run has paid, and exits with 5; --again pays a second time, once', async () => {
    const words = ['run', requestFile, '--wallet', walletFile, '--json'];
    const paid = await runCommand(words, env);
    assert.equal(paid.exitCode, 5);
    const { error, message, batchId, idempotencyKey } = JSON.parse(paid.stderr);
    assert.equal(error, 'ERR_ALREADY_PAID');
    assert.match(message, /^Paid on 20\S+Z; nothing was sent\. --again pays the same pipelines once more\.$/);
    assert.equal(JSON.parse(paid.stdout).id, batchId);
    assert.match(idempotencyKey, /^[0-9a-f-]{36}$/);

    const early = await failure('run', requestFile, '--wallet', walletFile, '--run', '3');
    assert.equal(early.error, 'ERR_RUN_TOO_EARLY');
    assert.match(early.message, /^Run 3 starts only after run 2 has executed every pipeline: it was never started\./);

    const again = await runCommand([...words, '--again'], env);
    assert.deepEqual([again.exitCode, again.stderr], [0, '']);
    assert.equal(JSON.parse(again.stdout).status, 'EXECUTED');
    assert.notEqual(JSON.parse(again.stdout).id, batchId);
    const twice = await runCommand([...words, '--again'], env);
    assert.equal(twice.exitCode, 5);
    assert.match(
      JSON.parse(twice.stderr).message,
      /\(run 2\); nothing was sent\. --run 3 pays the same pipelines once more/,
    );
  });

  it('run warns of repeated payloads before it signs', async () => {
    const file = await folder.write(
      'repeated.json',
      JSON.stringify({ pipelines: [...REQUEST.pipelines, ...REQUEST.pipelines] }),
    );
    const { exitCode, stderr } = await runCommand(['run', file, '--wallet', walletFile], env);
    assert.equal(exitCode, 0, stderr);
    const lines = stderr.split('\n').map((line) => line.replace(/ [0-9a-f-]{36}$| · .*| \d+\.\d s$/g, ''));
    assert.deepEqual(lines.slice(0, 6), [
      'Idempotency key',
      '✓ Compile',
      'Batch',
      'Note: pipelines[0] repeats a type and payload seen before.',
      'Note: pipelines[1] repeats a type and payload seen before.',
      '✓ Set up on chain',
    ]);
  });

  it('run rejects a wrong wallet and a node of another cluster before it creates anything', async () => {
    const file = await folder.write('other.json', JSON.stringify(REQUEST).replace('ad-1', 'ad-2'));
    const client = createFlywheelClient({ url: service.url, apiKey: project.apiKey });
    const newest = async () => (await client.listBatches({ limit: 1 })).batches[0]?.id;
    const before = await newest();
    const stranger = await writeWallet(folder, 'stranger-of-run.json');
    const wrongWallet = await failure('run', file, '--wallet', stranger.file);
    assert.equal(wrongWallet.error, 'ERR_WALLET');
    assert.match(wrongWallet.message, /^FLYWHEEL_API_KEY belongs to none of this wallet’s projects \(0\)\./);
    const noNode = await failure('run', file, '--wallet', walletFile, '--rpc-url', 'http://127.0.0.1:9/secret');
    assert.equal(noNode.error, 'ERR_UNREACHABLE');
    assert.doesNotMatch(noNode.message, /secret/);
    const other = await startLocalnet({ slotMs: 50, squadsProgram: 'emulation' });
    const wrongCluster = await failure('run', file, '--wallet', walletFile, '--rpc-url', other.url);
    await other.stop();
    assert.equal(wrongCluster.error, 'ERR_CLUSTER');
    assert.match(wrongCluster.message, /^127\.0\.0\.1:\d+ does not have the project’s token: /);
    assert.equal(await newest(), before);
  });

  it('run rejects a file that has changed while its batch is open', async () => {
    const file = await folder.write('changing.json', JSON.stringify(REQUEST).replace('ad-1', 'ad-3'));
    await runCommand(['run', file, '--wallet', walletFile], { ...env, XDG_STATE_HOME: folder.path });
    const { batch } = await run<InitBatchResponse>('init', requestFile);
    const [record = ''] = await readdir(join(folder.path, 'flywheel', 'runs'));
    const path = join(folder.path, 'flywheel', 'runs', record);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    const kept = JSON.parse(await readFile(path, 'utf8'));
    assert.equal(kept.file, file);
    // As if the command had been killed with this batch open.
    await writeFile(path, JSON.stringify({ ...kept, batchId: batch.id, unfinished: [batch.id] }));
    await folder.write('changing.json', JSON.stringify(REQUEST).replace('ad-1', 'ad-4'));
    const changed = ['run', file, '--wallet', walletFile, '--json'];
    const refused = await runCommand(changed, { ...env, XDG_STATE_HOME: folder.path });
    assert.equal(refused.exitCode, 2);
    assert.match(JSON.parse(refused.stderr).message, /has changed since batch \S+ was created from it/);
    await createFlywheelClient({ url: service.url, apiKey: project.apiKey }).cancelBatch(batch.id);
    const { exitCode } = await runCommand(changed, { ...env, XDG_STATE_HOME: folder.path });
    assert.equal(exitCode, 0);
  });

  it('status --watch prints each event once, also for a batch that has ended', async () => {
    const { batch, proposalApproveTx } = await run<InitBatchResponse>('init', requestFile);
    const watching = runCommand(['status', batch.id, '--watch'], env);
    const { signedTx } = await sign(batch.id, proposalApproveTx);
    await run('execute', batch.id, signedTx);
    const { exitCode, stdout, stderr } = await watching;
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^● EXECUTED {2}batch /);
    const lines = stderr.trimEnd().split('\n');
    const said = lines.map((line) => line.replace(/^\S+Z {2}/, ''));
    assert.equal(said[0], 'initialized');
    assert.ok(said.includes('finalized') && said.includes('approval received'), stderr);
    assert.match(said.at(-1) ?? '', /^executed, 1 pipeline executed$/);
    assert.equal((await runCommand(['status', batch.id, '--watch'], env)).stderr, stderr);
  });

  it('status --watch exits with 3 for a failed batch, and status with 0', async () => {
    const { batch } = await run<InitBatchResponse>('init', requestFile);
    const client = createFlywheelClient({ url: service.url, apiKey: project.apiKey });
    await client.cancelBatch(batch.id);
    const watched = await runCommand(['status', batch.id, '--watch'], env);
    assert.equal(watched.exitCode, 3);
    assert.match(watched.stderr, /✗ ERR_BATCH_FAILED {2}Batch \S+ failed: /);
    assert.equal((await runCommand(['status', batch.id], env)).exitCode, 0);
  });

  it('cancel ends an open batch, and batches lists it first', async () => {
    const { batch } = await run<InitBatchResponse>('init', requestFile);
    const cancelled = await runCommand(['cancel', batch.id, '--wallet', walletFile], env);
    assert.equal(cancelled.exitCode, 0, cancelled.stderr);
    assert.match(cancelled.stdout, new RegExp(`^✗ FAILED {2}batch ${batch.id}\n`));
    const { stdout } = await runCommand(['batches', '--status', 'FAILED', '--limit', '1'], env);
    const page = new RegExp(
      `^BATCH +STATUS +EXECUTED +CREATED\n${batch.id} +FAILED +0 of 1 +20\\S+Z\nNext page: --cursor (\\S+)\n$`,
    );
    assert.match(stdout, page);
    const cursor = page.exec(stdout)?.[1] ?? '';
    const next = await runCommand(['batches', '--status', 'FAILED', '--limit', '1', '--cursor', cursor], env);
    assert.match(next.stdout, /\n\S+ +FAILED /);
    assert.doesNotMatch(next.stdout, new RegExp(batch.id));
    const [executed] = (await run<BatchList>('batches', '--status', 'EXECUTED', '--limit', '1')).batches;
    assert.equal((await failure('cancel', executed?.id ?? '')).error, 'ERR_BATCH_NOT_CANCELLABLE');
  });

  it('proof verify finds a proof by its event and by its transaction, and exits with 3 otherwise', async () => {
    const event = ['--type', 'WATCH_AD', '--payload', '{"adId":"ad-1"}'];
    interface Answer {
      readonly proven: boolean;
      readonly proofs: readonly { readonly signature: string; readonly vaultAddress: string; readonly hash: string }[];
    }
    const byEvent = await run<Answer>('proof', 'verify', ...event);
    const [proof] = byEvent.proofs;
    assert.ok(byEvent.proven && proof);
    assert.equal(proof.vaultAddress, project.vaultAddress);

    const bySignature = await run<Answer>('proof', 'verify', '--signature', proof.signature);
    assert.deepEqual(
      bySignature.proofs.map(({ hash }) => hash),
      [proof.hash],
    );
    const where = ['--signature', proof.signature, '--vault', project.vaultAddress];
    const alone = { ...env, FLYWHEEL_URL: 'http://127.0.0.1:4' };
    const withoutService = await runCommand(['proof', 'verify', ...event, ...where], alone);
    assert.equal(withoutService.exitCode, 0, withoutService.stderr);
    assert.match(withoutService.stdout, /^✓ Proven: transaction \w+ contains this proof, signed by the vault /);
    // Nor does the service choose the node.
    const atTheDefault = await runCommand(['proof', 'verify', ...event, ...where], { ...alone, SOLANA_RPC_URL: '' });
    assert.doesNotMatch(atTheDefault.stderr, /No service answers/);

    const chain = createRpcTransport({ url: service.rpcUrl });
    await callRpc(chain, 'localnet_warp', [{ slots: 50 }]);
    await callRpc(chain, 'localnet_setFault', [{ kind: 'forgetHistory', method: '*', slots: 10, node: 'pruned' }]);
    const nodes = { ...alone, SOLANA_RPC_URL: `${service.rpcUrl}/nodes/pruned, ${service.rpcUrl}` };
    const atTheNext = await runCommand(['proof', 'verify', ...event, ...where], nodes);
    assert.equal(atTheNext.exitCode, 0, 'the first node is healthy and has pruned the transaction');
    await callRpc(chain, 'localnet_clearFaults');

    const payloadFile = await folder.write('payload.json', '{"adId":"ad-1"}\n');
    const misses = [
      ['--type', 'REFERRAL', '--payload', '{"adId":"ad-1"}'],
      ['--type', 'WATCH_AD', '--payload-file', payloadFile],
      ['--type', 'WATCH_AD', '--payload', '{"adId":"ad-2"}', ...where],
      [...event, '--vault', mint],
    ];
    for (const words of misses) {
      const { exitCode, stdout, stderr } = await runCommand(['proof', 'verify', ...words, '--json'], env);
      assert.deepEqual([exitCode, JSON.parse(stdout).proven], [3, false], words.join(' '));
      assert.equal(JSON.parse(stderr).error, 'ERR_NOT_PROVEN');
    }
    const dead = await runCommand(['proof', 'verify', ...event, ...where, '--rpc-url', 'http://127.0.0.1:4'], env);
    assert.equal(dead.exitCode, 4);
    const next = /127\.0\.0\.1:4 is unreachable.*\n {2}Start a cluster with npm start, or set SOLANA_RPC_URL\./;
    assert.match(dead.stderr, next);
  });

  it('run reports the position of a proof type that is not allowed', async () => {
    const [pipeline] = REQUEST.pipelines;
    const file = await folder.write('other.json', JSON.stringify({ pipelines: [{ ...pipeline, type: 'LOTTERY' }] }));
    const { error, message } = await failure('run', file, '--wallet', walletFile);
    assert.equal(error, 'ERR_FLYWHEEL_INVALID_PROOF_TYPE');
    assert.match(message, /pipelines\[0\]\.type/);
  });
});
