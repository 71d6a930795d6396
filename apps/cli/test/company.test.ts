import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { WaitingBatch } from '@flywheel/api';
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
    for (;;) {
      const { batches } = await run<{ batches: WaitingBatch[] }>('company', 'pending', '--wallet', operator);
      if (batches[0]) return batches[0];
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
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
    assert.equal(approved.stdout, `Batch ${batchIndex} approved. It is executing now.\n`, approved.stderr);
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
    assert.notEqual(exitCode, 0);
    assert.match(stderr, /Not agreed/);
  });

  it('pause stops a project, or all, and resume signs the end of each pause', async () => {
    for (const words of [[project.projectId], ['--all']]) {
      const paused = await company('pause', ...words, '--reason', 'Maintenance');
      assert.equal(paused.exitCode, 0, paused.stderr);
      assert.match((await runBurn(5)).stderr, /PAUSED.*Maintenance/);
      const resumed = await company('resume', ...words, '--yes');
      assert.match(resumed.stdout, /^Resumed: /, resumed.stderr);
      assert.match((await company('resume', ...words, '--yes')).stderr, /There is no pause of/);
    }
    assert.match((await company('pause')).stderr, /ERR_USAGE {2}Name a project, or pass --all\./);
  });

  it('policy tries rules, signs them with all they say and lists from CSV, and shows versions and differences', async () => {
    const { projectId } = project;
    const denied = '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin';
    const rules = await folder.write('rules.json', JSON.stringify({ personPerBatch: '2.5' }));
    const csv = await folder.write('denied.csv', `address\n${denied}\n`);
    const tried = await company('policy', 'try', projectId, rules, '--deny', csv);
    assert.match(tried.stdout, /sent 2 to one operator and 0 to two/, tried.stderr);
    const asked = await company('policy', 'set', projectId, rules, '--deny', csv);
    assert.equal(asked.exitCode, 2);
    assert.match(
      asked.stderr,
      new RegExp(`A person approves a batch of more than 2\\.5 tokens\\..*denied: ${denied}`, 's'),
    );
    assert.match(asked.stderr, /Policy: [0-9a-f]{64}\n.*Nothing was signed/s);
    const set = await company('policy', 'set', projectId, rules, '--deny', csv, '--yes');
    assert.equal(set.stdout, 'Version 1 is in force.\n', set.stderr);
    const shown = await company('policy', 'show', projectId);
    assert.match(shown.stdout, /^Version 1:\n {2}A person approves .*New: 1 listed recipient may not be paid\./s);
    const wrong = await folder.write('wrong.json', JSON.stringify({ personPerBatch: 'many' }));
    assert.match((await company('policy', 'set', projectId, wrong)).stderr, /ERR_FILE.*wrong\.json: personPerBatch/s);
  });

  it('is for the company’s operators only', async () => {
    const { stderr } = await runCommand(['company', 'pending', '--wallet', wallet, '--json'], env);
    assert.match(JSON.parse(stderr).error, /^ERR_/);
  });
});
