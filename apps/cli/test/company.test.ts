import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Batch, WaitingBatch } from '@flywheel/api';
import { waitUntil } from '@flywheel/testing/batches';
import { generateKeyPairSigner } from '@solana/kit';
import { type CliProject, openCliProject } from './cli-project.ts';
import { runCommand } from './run-command.ts';
import { makeTemporaryFolder, type TemporaryFolder, writeWallet } from './wallet-files.ts';

/** It would clear the screen above what is signed. */
const MEMO = { action: 'MEMO', message: 'thanks\u001b[2J' };

describe('flywheel company', () => {
  let world: CliProject;
  let folder: TemporaryFolder;
  let env: CliProject['env'];
  let operator: string;
  let wallet: string;
  let project: CliProject['project'];
  let run: CliProject['run'];

  before(async () => {
    folder = await makeTemporaryFolder();
    const { file, signer } = await writeWallet(folder, 'operator.json');
    operator = file;
    const settings = { COMPANY_OPERATORS: signer.address, REGISTRATION: 'approval' };
    const terms = ['--burn-limit', '100', '--airdrop-limit', '0', '--scopes', 'burn', '--approval', 'manual'];
    world = await openCliProject({ terms, settings, tokens: '500' });
    ({ env, project, run } = world);
    wallet = world.wallet.file;
  });
  after(async () => {
    await world?.stop();
    await folder?.[Symbol.asyncDispose]();
  });

  function company(...words: string[]) {
    return runCommand(['company', ...words, '--wallet', operator], env);
  }

  async function runBurn(amount: number) {
    const pipelines = [{ type: 'SALE', payload: '{"order":1}', actions: [{ action: 'BURN', amount }, MEMO] }];
    const file = await folder.write(`burn-${amount}.json`, JSON.stringify({ pipelines }));
    return runCommand(['run', file, '--wallet', wallet, '--json'], env);
  }

  async function untilPending(): Promise<WaitingBatch> {
    const read = async () => {
      const { batches } = await run<{ batches: WaitingBatch[] }>('company', 'pending', '--wallet', operator);
      return batches;
    };
    const [first] = await waitUntil('a batch that waits for the company', read, ({ length }) => length > 0);
    assert.ok(first);
    return first;
  }

  const who = () => ['--wallet', wallet, '--project', project.projectId];

  async function approveForCompany(): Promise<void> {
    const { id } = await untilPending();
    const { stderr } = await company('approve', id);
    const [, content = ''] = /--content ([0-9a-f]{64})\./.exec(stderr) ?? [];
    const approved = await company('approve', id, '--content', content);
    assert.equal(approved.exitCode, 0, approved.stderr);
  }

  it('admit shows wallet, token and terms, and signs only what was confirmed', async () => {
    const before = await runBurn(1);
    assert.match(before.stderr, /ERR_PROJECT_NOT_ADMITTED/);
    const asked = await company('admit', project.projectId);
    assert.equal(asked.exitCode, 2);
    assert.match(asked.stderr, new RegExp(`Multisig: ${project.multisig}\n`));
    assert.match(asked.stderr, /Approval: manual\n.*Burns per day: 100 tokens/s);
    assert.match(asked.stderr, /Nothing was signed\. To sign without a terminal, pass --yes\./);
    const admitted = await company('admit', project.projectId, '--yes');
    assert.equal(admitted.stdout, `Project ${project.projectId} is admitted.\n`, admitted.stderr);
  });

  it('approve shows what the chain would execute, and signs exactly the content that was confirmed', async () => {
    const running = runBurn(3);
    const { id, batchIndex } = await untilPending();
    const listed = await company('pending');
    assert.match(listed.stdout, new RegExp(`^BATCH.*\n${id} +${batchIndex} +pipelines +${project.projectId} +3 `));
    const shown = await company('approve', id);
    assert.equal(shown.exitCode, 2);
    assert.match(shown.stderr, /Burns 3 tokens of the mint/);
    assert.match(shown.stderr, /Memo writes “thanks\uFFFD\[2J”/);
    const [, content = ''] = /--content ([0-9a-f]{64})\./.exec(shown.stderr) ?? [];
    const other = await company('approve', id, '--content', 'f'.repeat(64));
    assert.deepEqual([other.exitCode, other.stdout], [2, '']);
    assert.match(other.stderr, new RegExp(`has the content ${content}, not ffff`));
    assert.equal((await untilPending()).id, id);
    const approved = await company('approve', id, '--content', content);
    assert.equal(approved.stdout, `Batch ${batchIndex} approved. It will be executed.\n`, approved.stderr);
    const { exitCode, stderr } = await running;
    assert.equal(exitCode, 0, stderr);
    assert.match((await company('approve', id)).stderr, /does not wait for the company\. See flywheel company pending/);
  });

  it('reject ends a batch with the reason', async () => {
    const running = runBurn(4);
    const { id } = await untilPending();
    const reason = ['--reason', 'Not agreed'];
    const [, content = ''] = /--content ([0-9a-f]{64})\./.exec((await company('reject', id, ...reason)).stderr) ?? [];
    const rejected = await company('reject', id, ...reason, '--content', content);
    assert.equal(rejected.exitCode, 0, rejected.stderr);
    const { exitCode, stderr } = await running;
    assert.deepEqual([exitCode, JSON.parse(stderr).error], [3, 'ERR_BATCH_FAILED'], stderr);
    assert.match(stderr, /Not agreed/);
  });

  it('pause stops a project, or all, and resume signs the end of each pause', async () => {
    for (const words of [[project.projectId], ['--all']]) {
      const paused = await company('pause', ...words, '--reason', 'Maintenance', '--yes');
      assert.equal(paused.exitCode, 0, paused.stderr);
      assert.match((await runBurn(5)).stderr, /PAUSED.*Maintenance/);
      const resumed = await company('resume', ...words, '--yes');
      assert.match(resumed.stdout, /^Resumed: /, resumed.stderr);
      assert.match((await company('resume', ...words, '--yes')).stderr, /There is no pause of/);
    }
    assert.match((await company('pause')).stderr, /ERR_USAGE {2}Name a project, or pass --all\./);
  });

  it('withdraw pays what the wallet has asked for once a person of the company has approved it, and cancel ends it', async () => {
    const recipient = (await generateKeyPairSigner()).address;
    const words = ['withdraw', '2.5', '--asset', 'token', '--to', recipient, ...who()];
    const unconfirmed = await runCommand([...words, '--json'], env);
    assert.equal(unconfirmed.exitCode, 2, unconfirmed.stderr);
    const { batchId: unwanted, idempotencyKey, message } = JSON.parse(unconfirmed.stderr);
    assert.match(
      message,
      /^Nothing was signed\. On chain, batch \d+ of the multisig \w+: Sends 2\.5 tokens of the mint \w+; /,
    );
    // Without the key, another withdrawal would be created beside this one.
    assert.ok(message.endsWith(` pass --yes --idempotency-key ${idempotencyKey}.`), message);
    const other = await runCommand(['approve', unwanted, ...who(), '--content', '0'.repeat(64)], env);
    assert.match(other.stderr, /ERR_USAGE {2}Nothing was signed: the batch on chain has the content /);
    const cancelled = await run<Batch>('cancel', unwanted, '--wallet', wallet);
    assert.equal(cancelled.status, 'FAILED');

    const shown = await runCommand(words, env);
    const [, confirmation = ''] = /To sign without a terminal, pass (.+)\.\n/.exec(shown.stderr) ?? [];
    const signed = await runCommand([...words, ...confirmation.split(' ')], env);
    assert.equal(signed.exitCode, 0, signed.stderr);
    const [created, continued] = [shown, signed].map(({ stderr }) => /^Batch (\S+)$/m.exec(stderr)?.[1]);
    assert.deepEqual([typeof created, continued], ['string', created]);
    assert.match(signed.stdout, /Approved\. A person of the company decides now\.\n$/);
    assert.match(signed.stderr, /^Note: \w+ has no account on this chain yet\./m);
    assert.doesNotMatch(signed.stdout, /flywheel sign/);
    await approveForCompany();
    await waitUntil(
      'the tokens',
      () => world.balances([recipient]),
      ([balance]) => balance === '2500000',
    );
    const tooPrecise = await runCommand(['withdraw', '1.0000001', ...words.slice(2), '--json'], env);
    assert.match(JSON.parse(tooPrecise.stderr).message, /at most 6 decimals/);
  });

  it('terms shows and signs what the company approves by itself', async () => {
    const id = project.projectId;
    assert.equal(
      (await company('terms', id)).stdout,
      'Approval: manual\nBurns per day: 100 tokens\nAirdrops per day: 0 tokens\n',
    );
    const change = ['terms', id, '--approval', 'automatic', '--burn', '50'];
    const shown = await company(...change);
    assert.match(shown.stderr, /Approval: from manual to automatic\n {2}Burns per day: from 100 tokens to 50 tokens\n/);
    assert.equal(shown.exitCode, 2);
    assert.match((await company(...change, '--yes')).stdout, /^(Changed|The change is signed)\./);
    const { stdout } = await company('terms', id);
    assert.match(stdout, /^Approval: automatic\nBurns per day: 50 tokens\n/);
  });

  it('status, projects, jobs and audit show what the console shows', async () => {
    assert.match(
      (await company('status')).stdout,
      /^ {2}company +\w{32,44}\n {2}operator +\w{32,44}\n {2}holds +[\d,.]+ SOL, /,
    );
    assert.match(
      (await company('projects')).stdout,
      new RegExp(`\n${project.projectId} +\\w+ +${world.mint} +automatic +\\d+ +admitted\n`),
    );
    assert.match((await company('jobs')).stdout, /^(No pending or running jobs\.|JOB +TYPE)/);
    const audit = await company('audit', '--project', project.projectId);
    assert.match(audit.stdout, /withdrawal\.requested/);
    const missing = await company('retry', crypto.randomUUID(), '--json');
    assert.equal(JSON.parse(missing.stderr).error, 'ERR_JOB_NOT_FOUND');
    const rotation = await company('rotate', project.projectId, '--member', 'company', '--json');
    assert.equal(JSON.parse(rotation.stderr).error, 'ERR_ROTATION_REFUSED', 'the project has the service’s approver');
    const { stdout: history } = await runCommand(['project', 'history', ...who()], env);
    assert.match(history, /terms\.changed/);
    const { days } = await run<{ days: unknown[] }>('project', 'usage', ...who(), '--days', '3');
    assert.equal(days.length, 3);
  });

  it('vault shows what a vault holds, and vault movements what came in and what was spent', async () => {
    const { stdout: held } = await runCommand(['vault', project.vaultAddress], env);
    assert.match(held, /tokens +[\d.]+, deposited to \w+\n/);
    const { stdout, stderr } = await runCommand(['vault', 'movements', project.vaultAddress], env);
    assert.match(stdout, /^TIME +TYPE +TOKENS +SOL +TRANSACTION\n/, stderr);
    assert.match(stdout, /\n20\S+Z +spent +-3 +– +\w{86,88}\n/, 'the batch that the company has approved');
    assert.match(stdout, /\n20\S+Z +spent +-2\.5 +-0\.00\d+ +\w{86,88}\n/, 'the withdrawal, and rent for its receiver');
    assert.match(stdout, /\n20\S+Z +deposit +\+500 +/);
    const words = ['vault', 'movements', project.vaultAddress, '--limit', '1'];
    const { movements } = await run<{ movements: Record<string, unknown>[] }>(...words);
    assert.equal(movements.length, 1);
    const [{ isDeposit, tokens, lamports } = {}] = movements;
    assert.equal(isDeposit, false);
    assert.match(`${tokens} ${lamports}`, /^-2\.5 -\d+$/);
  });

  it('rotate-wallet gives the project to a new wallet, which this computer then knows', async () => {
    const next = await writeWallet(folder, 'next.json');
    const text = await runCommand(['rotate-wallet', '--to', next.signer.address, ...who()], env);
    assert.match(text.stdout, new RegExp(`Wallet then: ${next.signer.address}\n$`), text.stderr);
    const words = ['rotate-wallet', '--new-wallet', next.file, ...who()];
    const signed = await runCommand([...words, '--yes'], env);
    assert.equal(signed.exitCode, 0, signed.stderr);
    assert.match(signed.stderr, /Replaces the approver \w+ by /);
    const open = await runCommand(['members', ...who()], env);
    assert.match(open.stdout, new RegExp(`wallet +\\w+ +${next.signer.address} +FINALIZED\n`));
    await approveForCompany();
    const read = () => runCommand(['members', '--wallet', next.file, '--project', project.projectId], env);
    await waitUntil('the new wallet', read, ({ exitCode }) => exitCode === 0);
    wallet = next.file;
    const burned = await runBurn(6);
    assert.equal(burned.exitCode, 0, burned.stderr);
  });

  it('policy tries rules, signs them with all they say and lists from CSV, and shows versions and differences', async () => {
    const { projectId } = project;
    const denied = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
    const rules = await folder.write('rules.json', JSON.stringify({ personPerBatch: '2.5' }));
    const csv = await folder.write('denied.csv', `address\n${denied}\n`);
    const tried = await company('policy', 'try', projectId, rules, '--deny', csv);
    assert.match(tried.stdout, /sent 3 to one operator and 0 to two/, tried.stderr);
    const asked = await company('policy', 'set', projectId, rules, '--deny', csv);
    assert.equal(asked.exitCode, 2);
    assert.match(
      asked.stderr,
      new RegExp(`An operator of the company approves a batch of more than 2\\.5 tokens\\..*denied: ${denied}`, 's'),
    );
    assert.match(
      asked.stderr,
      /Policy: [0-9a-f]{64}\n.*sent 3 to one operator and 0 to two.*Batch \d+, [0-9a-f-]{36}.*Nothing was signed/s,
    );
    const words = ['policy', 'set', projectId, rules, '--deny', csv];
    const unseen = await company(...words, '--json');
    assert.equal(unseen.stdout, '');
    assert.match(JSON.parse(unseen.stderr).message, /Nothing was signed\..*sent 3 to one operator.* pass --yes\./s);
    const set = await company(...words, '--yes', '--json');
    const { version, trial } = JSON.parse(set.stdout);
    assert.deepEqual([version, trial.person, trial.byRule[0].batches], [1, 3, 3]);
    const shown = await company('policy', 'show', projectId);
    assert.match(
      shown.stdout,
      /^Version 1:\n {2}An operator of the company approves .*New: 1 listed recipient may not be paid\./s,
    );
    const two = await folder.write('two.json', JSON.stringify({ twoOperatorsPerBatch: '5' }));
    const alone = await company('policy', 'set', projectId, two, '--yes');
    assert.match(alone.stderr, /twoOperatorsPerBatch needs two operators, and COMPANY_OPERATORS has one/);
    const wrong = await folder.write('wrong.json', JSON.stringify({ personPerBatch: 'many' }));
    assert.match((await company('policy', 'set', projectId, wrong)).stderr, /ERR_FILE.*wrong\.json: personPerBatch/s);
  });

  it('is for the company’s operators only', async () => {
    const { stderr } = await runCommand(['company', 'pending', '--wallet', wallet, '--json'], env);
    assert.equal(JSON.parse(stderr).error, 'ERR_COMPANY_ONLY');
  });
});
