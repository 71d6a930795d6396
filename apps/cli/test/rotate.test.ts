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
  /** The company’s key after the first test. */
  let newKey: Wallet;
  let project: RegisteredProject;
  let requestFile: string;
  let apiKey: Record<string, string> = {};

  before(async () => {
    folder = await makeTemporaryFolder();
    const names = ['wallet.json', 'operator.json', 'company.json'];
    const [first, second, third] = await Promise.all(names.map((name) => writeWallet(folder, name)));
    assert.ok(first && second && third);
    [wallet, operator, oldKey] = [first, second, third];
    world = await openWorld({
      COMPANY_SIGNER: oldKey.file,
      COMPANY_OPERATORS: operator.signer.address,
      NONCE_POOL_SIZE: '4',
    });
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

  async function readMembers(): Promise<ProjectOverview['multisig']> {
    return (await run<Pick<ProjectOverview, 'multisig'>>('members', '--wallet', wallet.file)).multisig;
  }

  /** Requests a replacement, and has the wallet and a person of the company approve it. */
  async function rotate(member: 'company' | 'operator'): Promise<Rotation> {
    const rotation = await run<Rotation>(...rotateWords(member));
    await confirm('approve', rotation.batchId, '--wallet', wallet.file);
    assert.equal((await readMembers())[member], rotation.from, 'a person of the company has not approved it yet');
    await confirm('company', 'approve', rotation.batchId, '--wallet', operator.file);
    return rotation;
  }

  function rotateWords(member: 'company' | 'operator'): string[] {
    return ['company', 'rotate', project.projectId, '--member', member, '--wallet', operator.file];
  }

  /** Creates a batch, and waits until it is set up. */
  async function setUp(): Promise<Batch> {
    const { batch } = await run<InitBatchResponse>('init', requestFile);
    const read = () => run<Batch>('status', batch.id);
    return waitUntil('the setup', read, ({ status }) => status === 'FINALIZED');
  }

  async function approveBatch({ id }: Pick<Batch, 'id'>): Promise<Batch> {
    return (await confirm<{ batch: Batch }>('approve', id, '--wallet', wallet.file)).batch;
  }

  /** The error of a command that must fail. */
  async function failure(...words: readonly string[]): Promise<string> {
    return JSON.parse((await runCommand([...words, '--json'], environment())).stderr).error;
  }

  it('replaces the key that votes for the company: the new one executes batches alone, the old one can no longer vote', async () => {
    const paid = await run<Batch>('run', requestFile, '--wallet', wallet.file);
    assert.equal(paid.status, 'EXECUTED', 'by the old key');

    newKey = await writeWallet(folder, 'company-next.json');
    const both = { COMPANY_SIGNER: newKey.file, COMPANY_SIGNER_PREVIOUS: oldKey.file };
    await world.restart(both);
    const { from, to } = await rotate('company');
    assert.deepEqual([from, to], [oldKey.signer.address, newKey.signer.address]);
    await waitUntil('the new key', readMembers, ({ company }) => company === to);
    assert.equal(await failure(...rotateWords('company')), 'ERR_ROTATION_REFUSED');

    await world.restart({ COMPANY_SIGNER: newKey.file });
    const batch = await setUp();
    await assert.rejects(vote(oldKey, batch.batchIndex), ({ message, cause }: Error) =>
      /NotAMember|6005/.test(`${message} ${JSON.stringify(cause)}`),
    );
    assert.equal((await approveBatch(batch)).status, 'EXECUTED', 'by the new key');
  });

  it('replaces the operator: batches set up before and after it are executed, and nothing needs the old key in the end', async () => {
    const next = await writeWallet(folder, 'operator-next.json');
    await world.localnet.bank.airdrop(next.signer.address, 5_000_000_000n);
    const earlier = await setUp();
    const present = { COMPANY_SIGNER: newKey.file, OPERATOR_SIGNER: next.file };
    const both = { ...present, OPERATOR_SIGNER_PREVIOUS: world.environment.OPERATOR_SIGNER ?? '' };
    await world.restart(both);
    const { batchId, from, to } = await rotate('operator');
    assert.deepEqual([from, to], [world.operator.address, next.signer.address]);
    assert.equal(await failure('init', requestFile), 'ERR_ROTATION_OPEN', 'it waits for the earlier batch');
    const waiting = new RegExp(`Rotation ${batchId}: .*1 open batch`);
    await waitUntil(
      'the doctor to tell it',
      () => examine('rotation', both),
      (text) => waiting.test(text),
    );
    assert.equal((await approveBatch(earlier)).status, 'EXECUTED', 'set up before');
    await waitUntil('the new operator', readMembers, (members) => members.operator === to);
    assert.equal(await failure(...rotateWords('operator')), 'ERR_ROTATION_REFUSED');

    // The doctor makes many calls, so it is asked when there is something new to say.
    const nonces = world.db.selectFrom('nonces').select('address').where('authority', '=', world.operator.address);
    await waitUntil(
      'the end of the nonces of the old key',
      () => nonces.execute(),
      ({ length }) => length === 0,
    );
    const none = `0 projects with the previous operator ${from}, and 0 nonces of it`;
    await waitUntil(
      'the end of the old key',
      () => examine('operator', both),
      (text) => text.includes(none),
    );
    await world.restart(present);
    const later = await run<Batch>('run', requestFile, '--wallet', wallet.file, '--again');
    assert.equal(later.status, 'EXECUTED', 'by the new key alone');
  });

  /** The findings of the doctor about a topic, in the environment of a worker. */
  async function examine(topic: string, settings: Readonly<Record<string, string>>): Promise<string> {
    const { stdout } = await runCommand(['doctor', '--json'], { ...world.environment, ...settings, ...environment() });
    const { findings }: { findings: { topic: string; text: string }[] } = JSON.parse(stdout);
    return findings
      .filter((each) => each.topic === topic)
      .map(({ text }) => text)
      .join('\n');
  }

  /** Votes for a batch on chain, without the service; the wallet pays. */
  async function vote({ signer }: Wallet, batchIndex: string): Promise<void> {
    const multisig = address(project.multisig);
    const proposal = proposalAddress(multisig, BigInt(batchIndex));
    const approval = getProposalApproveInstruction({ multisig, member: signer.address, proposal, memo: null });
    await land(world, wallet.signer, [addSignersToInstruction([signer], approval)]);
  }
});
