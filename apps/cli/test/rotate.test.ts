import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Batch, InitBatchResponse, ProjectOverview, RegisteredProject, Rotation } from '@flywheel/api';
import { getProposalApproveInstruction, proposalAddress } from '@flywheel/squads';
import { waitUntil } from '@flywheel/testing/batches';
import { land } from '@flywheel/testing/chain';
import { openWorld, type World } from '@flywheel/testing/world';
import { address, addSignersToInstruction } from '@solana/kit';
import { parseDocument, runCommand } from './run-command.ts';
import { makeTemporaryFolder, type TemporaryFolder, writeWallet } from './wallet-files.ts';

const TERMS = ['--burn-limit', '100', '--airdrop-limit', '0', '--scopes', 'burn'];
const REQUEST = { pipelines: [{ type: 'SALE', payload: '{"order":1}', actions: [{ action: 'BURN', amount: 2 }] }] };

type Wallet = Awaited<ReturnType<typeof writeWallet>>;

describe('flywheel company rotate', () => {
  let world: World;
  let folder: TemporaryFolder;
  let wallet: Wallet;
  let operator: Wallet;
  let oldKey: Wallet;
  let project: RegisteredProject;
  let requestFile: string;
  let apiKey: Record<string, string> = {};

  before(async () => {
    folder = await makeTemporaryFolder();
    const names = ['wallet.json', 'operator.json', 'company.json'];
    const [first, second, third] = await Promise.all(names.map((name) => writeWallet(folder, name)));
    assert.ok(first && second && third);
    [wallet, operator, oldKey] = [first, second, third];
    world = await openWorld({ COMPANY_SIGNER: oldKey.file, COMPANY_OPERATORS: operator.signer.address });
    requestFile = await folder.write('request.json', JSON.stringify(REQUEST));
    const { bank } = world.localnet;
    await bank.airdrop(wallet.signer.address, 5_000_000_000n);
    const mint = await bank.createMint(6, false);
    project = await run('register', '--wallet', wallet.file, '--mint', mint, ...TERMS);
    apiKey = { FLYWHEEL_API_KEY: project.apiKey };
    const vault = address(project.vaultAddress);
    await bank.airdrop(vault, 1_000_000_000n);
    await bank.mintTo(mint, vault, 10_000_000n);
  });
  after(async () => {
    await world?.stop();
    await folder?.[Symbol.asyncDispose]();
  });

  /** The service has another port after each restart. */
  function environment(): Record<string, string> {
    return { ...apiKey, FLYWHEEL_URL: world.url, SOLANA_RPC_URL: world.localnet.url };
  }

  async function run<Document>(...words: readonly string[]): Promise<Document> {
    return parseDocument<Document>(await runCommand([...words, '--json'], environment()));
  }

  /** Runs a command that shows what the chain holds, and signs it once its content is named. */
  async function confirm<Document>(...words: readonly string[]): Promise<Document> {
    const { stderr } = await runCommand(words, environment());
    const [, content] = /--content ([0-9a-f]{64})\./.exec(stderr) ?? [];
    assert.ok(content, stderr);
    return run(...words, '--content', content);
  }

  async function companyOnMultisig(): Promise<string> {
    const { multisig } = await run<Pick<ProjectOverview, 'multisig'>>('members', '--wallet', wallet.file);
    return multisig.company;
  }

  it('replaces the key that votes for the company: the new one executes batches alone, the old one can no longer vote', async () => {
    const paid = await run<Batch>('run', requestFile, '--wallet', wallet.file);
    assert.equal(paid.status, 'EXECUTED', 'by the old key');

    const newKey = await writeWallet(folder, 'company-next.json');
    const both = { COMPANY_SIGNER: newKey.file, COMPANY_SIGNER_PREVIOUS: oldKey.file };
    await world.restart(both);
    const words = ['rotate', project.projectId, '--member', 'company', '--wallet', operator.file];
    const { batchId, from, to } = await run<Rotation>('company', ...words);
    assert.deepEqual([from, to], [oldKey.signer.address, newKey.signer.address]);
    await confirm('approve', batchId, '--wallet', wallet.file);
    assert.equal(await companyOnMultisig(), from, 'a person of the company has not approved it yet');
    await confirm('company', 'approve', batchId, '--wallet', operator.file);
    await waitUntil('the new key', companyOnMultisig, (company) => company === to);
    assert.equal(
      JSON.parse((await runCommand(['company', ...words, '--json'], environment())).stderr).error,
      'ERR_ROTATION_REFUSED',
    );

    await world.restart({ COMPANY_SIGNER: newKey.file });
    const { batch } = await run<InitBatchResponse>('init', requestFile);
    const { batchIndex } = await waitUntil(
      'the setup',
      () => run<Batch>('status', batch.id),
      ({ status }) => status === 'FINALIZED',
    );
    await assert.rejects(vote(oldKey, batchIndex), ({ message, cause }: Error) =>
      /NotAMember|6005/.test(`${message} ${JSON.stringify(cause)}`),
    );
    const approved = await confirm<{ batch: Batch }>('approve', batch.id, '--wallet', wallet.file);
    assert.equal(approved.batch.status, 'EXECUTED', 'by the new key');
  });

  /** Votes for a batch on chain, without the service; the wallet pays. */
  async function vote({ signer }: Wallet, batchIndex: string): Promise<void> {
    const multisig = address(project.multisig);
    const proposal = proposalAddress(multisig, BigInt(batchIndex));
    const approval = getProposalApproveInstruction({ multisig, member: signer.address, proposal, memo: null });
    await land(world, wallet.signer, [addSignersToInstruction([signer], approval)]);
  }
});
