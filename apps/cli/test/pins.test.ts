import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Batch, InitBatchResponse, RegisteredProject } from '@flywheel/api';
import { approveForCompany, type Decider } from '@flywheel/testing/decisions';
import { requireOk, signIn } from '@flywheel/testing/project';
import { signSuccession } from '@flywheel/testing/successions';
import { approve, rotateCompany, rotateOperator, waitForWithdrawal } from '@flywheel/testing/treasury';
import { createSignerFile, openConsoleWorld, type World } from '@flywheel/testing/world';
import { type Address, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { type LyingService, openLyingService } from './lying-service.ts';
import { type CommandResult, parseDocument, runCommand } from './run-command.ts';
import { makeTemporaryFolder, type TemporaryFolder, writeWallet } from './wallet-files.ts';

interface CliProject extends RegisteredProject {
  readonly company: string;
  readonly operator: string;
}

describe('what the command line knows of a multisig', () => {
  let world: World;
  let decider: Decider;
  let folder: TemporaryFolder;
  let lying: LyingService;
  let wallet: { readonly file: string; readonly signer: KeyPairSigner };
  let mint: Address;
  let project: CliProject;
  let env: Record<string, string>;
  before(async () => {
    folder = await makeTemporaryFolder();
    // A member without a vote beside the operator changes nothing for the wallet.
    const { address: recovery } = await generateKeyPairSigner();
    ({ world, company: decider } = await openConsoleWorld({ RECOVERY_ADDRESS: recovery }));
    lying = await openLyingService(world);
    mint = await world.localnet.bank.createMint(6, false);
    env = { FLYWHEEL_URL: lying.url, SOLANA_RPC_URL: world.localnet.url, XDG_STATE_HOME: folder.path };
    wallet = await writeWallet(folder);
    await world.localnet.bank.airdrop(wallet.signer.address, 1_000_000_000n);
    project = parseDocument(await register());
    env.FLYWHEEL_API_KEY = project.apiKey;
    const vault = project.vaultAddress as Address;
    await world.localnet.bank.airdrop(vault, 1_000_000_000n);
    await world.localnet.bank.mintTo(mint, vault, 1_000_000_000n);
  });
  after(async () => {
    lying?.stop();
    await world?.stop();
    await folder?.[Symbol.asyncDispose]();
  });

  const pinFile = () => join(folder.path, 'flywheel', 'pins.json');
  const readPins = async () => JSON.parse(await readFile(pinFile(), 'utf8'));

  function register(...options: string[]): Promise<CommandResult> {
    return registerWithNotes('--json', ...options);
  }

  function registerWithNotes(...options: string[]): Promise<CommandResult> {
    const limits = ['--burn-limit', '9', '--airdrop-limit', '9', '--scopes', 'burn,airdrop'];
    return runCommand(['register', '--wallet', wallet.file, '--mint', mint, ...limits, ...options], env);
  }

  /** Runs a new batch; a test reads its notes on stderr. */
  async function run(...options: string[]): Promise<CommandResult> {
    const actions = [{ action: 'BURN', amount: 0.001 }];
    const pipelines = [burn(crypto.randomUUID(), actions)];
    const file = await folder.write(`${crypto.randomUUID()}.json`, JSON.stringify({ pipelines }));
    return runCommand(['run', file, '--wallet', wallet.file, ...options], env);
  }

  async function assertRefused(result: CommandResult, expected: RegExp): Promise<void> {
    assert.equal(result.exitCode, 1, result.stderr);
    assert.match(result.stderr, /^✗ ERR_PIN /);
    assert.match(result.stderr, expected);
    assert.equal(result.stdout, '');
  }

  it('is kept from its registration, and a run says nothing about it', async () => {
    const { multisigs, services } = await readPins();
    const { multisig, vaultAddress, company, operator } = project;
    const [pin] = multisigs;
    assert.deepEqual(
      [pin.multisig, pin.vaultAddress, pin.mintAddress, pin.company, pin.wallet],
      [multisig, vaultAddress, mint, company, wallet.signer.address],
    );
    assert.deepEqual([services[0].companies, services[0].operators], [[company], [operator]]);
    const { exitCode, stderr } = await run();
    assert.equal(exitCode, 0, stderr);
    assert.doesNotMatch(stderr, /first use|has moved/);
  });

  it('is kept at the first use of a project that was registered elsewhere, and shown', async () => {
    const kept = await readFile(pinFile(), 'utf8');
    await rm(pinFile());
    const first = await run();
    assert.equal(first.exitCode, 0, first.stderr);
    assert.match(
      first.stderr,
      new RegExp(
        `first use of the multisig ${project.multisig} .* company ${project.company}, the vault ${project.vaultAddress} and the mint ${mint}`,
      ),
    );
    assert.doesNotMatch((await run()).stderr, /first use/);
    await writeFile(pinFile(), kept);
  });

  it('is kept with the mint that was verified, whatever the service says about the batch, and not for another vault', async () => {
    const kept = await readFile(pinFile(), 'utf8');
    await rm(pinFile());
    const stranger = (await generateKeyPairSigner()).address;
    const tellBatch = (shown: string) => {
      lying.tell({ path: /\/v1\/flywheel\/batch\//, change: (answer) => answer.replaceAll(shown, stranger) });
    };
    tellBatch(project.vaultAddress);
    const refused = await run();
    assert.match(refused.stderr, /^✗ ERR_SIGNING_REFUSED /m);
    await assert.rejects(readPins(), { code: 'ENOENT' });
    const [, open = ''] = /^Batch (\S+)$/m.exec(refused.stderr) ?? [];
    lying.tell(null);
    assert.equal((await runCommand(['cancel', open], env)).exitCode, 0);
    tellBatch(mint);
    const { exitCode, stderr } = await run();
    lying.tell(null);
    const [pin] = (await readPins()).multisigs;
    await writeFile(pinFile(), kept);
    assert.equal(exitCode, 0, stderr);
    assert.deepEqual([pin.vaultAddress, pin.mintAddress], [project.vaultAddress, mint]);
  });

  it('refuses another vault or mint that the service shows, before anything is created', async () => {
    const stranger = (await generateKeyPairSigner()).address;
    const count = async () => (await world.db.selectFrom('batches').select('id').execute()).length;
    const before = await count();
    for (const [shown, expected] of [
      [project.vaultAddress, new RegExp(`shows the vault ${stranger}; this computer knows ${project.vaultAddress}`)],
      [mint, new RegExp(`does not have the project’s token|shows the mint ${stranger}`)],
    ] as const) {
      lying.tell({ path: /\/projects$/, change: (answer) => answer.replaceAll(shown, stranger) });
      const refused = await run();
      assert.equal(refused.exitCode, 1, refused.stderr);
      assert.match(refused.stderr, expected);
    }
    const other = await world.localnet.bank.createMint(6, false);
    lying.tell({ path: /\/projects$/, change: (answer) => answer.replaceAll(mint, other) });
    await assertRefused(
      await run(),
      new RegExp(`shows the mint ${other} for the vault .*; this computer knows ${mint}`),
    );
    // The name of a vault that is known says nothing about its mint.
    await assertRefused(await run('--trust', project.vaultAddress), new RegExp(`shows the mint ${other}`));
    assert.equal(await count(), before);
    lying.tell(null);
  });

  it('is not ignored when its file is damaged', async () => {
    const kept = await readFile(pinFile(), 'utf8');
    await writeFile(pinFile(), '{"multisigs":');
    await assertRefused(await run(), /pins\.json, where this computer keeps its multisigs, is damaged/);
    await writeFile(pinFile(), kept);
  });

  it('refuses to cast a cancel vote in another vault than it knows, before anything is cancelled', async () => {
    const actions = [{ action: 'BURN', amount: 0.001 }];
    const file = await folder.write('cancelled.json', JSON.stringify({ pipelines: [burn('cancelled', actions)] }));
    const { batch } = parseDocument<InitBatchResponse>(await runCommand(['init', file, '--json'], env));
    const stranger = (await generateKeyPairSigner()).address;
    const cancel = (...options: string[]) =>
      runCommand(['cancel', batch.id, '--wallet', wallet.file, '--json', ...options], env);
    lying.tell({ path: /\/batch\//, change: (answer) => answer.replaceAll(project.vaultAddress, stranger) });
    const refused = await cancel();
    lying.tell(null);
    assert.equal(refused.exitCode, 1);
    const { error, message } = JSON.parse(refused.stderr);
    assert.equal(error, 'ERR_PIN');
    assert.match(message, new RegExp(`shows the vault ${stranger}; this computer knows ${project.vaultAddress}`));
    assert.equal(parseDocument<Batch>(await cancel()).status, 'FAILED');
  });

  it('casts no cancel vote in a multisig that only the service names, unless --trust has its vault', async () => {
    const actions = [{ action: 'BURN', amount: 0.001 }];
    const file = await folder.write('unknown.json', JSON.stringify({ pipelines: [burn('unknown', actions)] }));
    const { batch } = parseDocument<InitBatchResponse>(await runCommand(['init', file, '--json'], env));
    const elsewhere = { ...env, XDG_STATE_HOME: join(folder.path, 'another computer') };
    const cancel = (...options: string[]) =>
      runCommand(['cancel', batch.id, '--wallet', wallet.file, ...options], elsewhere);
    lying.tell({
      path: /\/cancel$/,
      change: (answer) => JSON.stringify({ ...JSON.parse(answer), cancelTx: 'AAAA' }),
    });
    const unasked = await cancel();
    const trusted = await cancel('--trust', project.vaultAddress);
    lying.tell(null);
    assert.equal(unasked.exitCode, 0, unasked.stderr);
    assert.match(
      unasked.stderr,
      new RegExp(`--trust ${project.vaultAddress} casts it, if that is the project’s vault`),
    );
    assert.match(trusted.stderr, /^✗ ERR_SIGNING_REFUSED /m);
  });

  it('follows the rotation of both keys: in its overlap, after it, and to their successors in a new project', async () => {
    const { COMPANY_SIGNER = '', OPERATOR_SIGNER = '' } = world.environment;
    const next = { company: join(folder.path, 'company-2.json'), operator: join(folder.path, 'operator-2.json') };
    const company = await createSignerFile(next.company);
    const operator = await createSignerFile(next.operator);
    await world.localnet.bank.airdrop(operator, 10_000_000_000n);
    await world.restart({
      ...{ COMPANY_SIGNER: next.company, COMPANY_SIGNER_PREVIOUS: COMPANY_SIGNER },
      ...{ OPERATOR_SIGNER: next.operator, OPERATOR_SIGNER_PREVIOUS: OPERATOR_SIGNER },
    });

    // In the overlap this multisig still has the old keys.
    const overlap = await run();
    assert.equal(overlap.exitCode, 0, overlap.stderr);
    assert.doesNotMatch(overlap.stderr, /has moved|has changed/);

    const kept = await readFile(pinFile(), 'utf8');
    const succeeded = await registerWithNotes();
    assert.equal(succeeded.exitCode, 0, succeeded.stderr);
    assert.match(succeeded.stderr, new RegExp(`${project.company} has signed that ${company} succeeds it`));
    assert.match(succeeded.stderr, new RegExp(`${project.operator} has signed that ${operator} succeeds it`));
    const [{ companies, operators }] = (await readPins()).services;
    assert.deepEqual([companies, operators], [[company], [operator]]);
    assert.doesNotMatch((await registerWithNotes()).stderr, /succeeds it/);

    // On another computer, which still keeps the old keys: a thief of one would like to mislead it.
    const thief = await generateKeyPairSigner();
    const genesisHash = await world.rpc.getGenesisHash().send();
    const forged = await signSuccession(thief, { role: 'company', to: company, genesisHash });
    for (const successions of [[], [{ ...forged, from: project.company }]]) {
      await writeFile(pinFile(), kept);
      const change = (answer: string) => JSON.stringify({ ...JSON.parse(answer), successions });
      lying.tell({ path: /\/registrations$/, change });
      const refused = await register();
      assert.equal(refused.exitCode, 1);
      const { error, message } = JSON.parse(refused.stderr);
      assert.equal(error, 'ERR_PIN');
      assert.match(message, new RegExp(`${company} would vote for the company, not ${project.company}`));
      assert.match(message, new RegExp(`If they are these, add --trust ${company} --trust ${operator}\\.`));
    }
    assert.equal((await register('--trust', company)).exitCode, 1, 'the operator is accepted');
    const trusted = parseDocument<CliProject>(await register('--trust', company, '--trust', operator));
    lying.tell(null);
    assert.equal(trusted.company, company);
    assert.deepEqual((await readPins()).services[0].companies, [company]);

    const cookie = await signIn(world.url, wallet.signer);
    const owner = { projectId: project.projectId, cookie, wallet: wallet.signer };
    for (const rotate of [rotateCompany, rotateOperator]) {
      const { batchId } = requireOk(await rotate(world, owner, decider.cookie));
      await waitForWithdrawal(world, owner, batchId, ({ batch }) => batch.status === 'FINALIZED');
      requireOk(await approve(world, owner, batchId));
      requireOk(await approveForCompany(world, decider, batchId));
      await waitForWithdrawal(world, owner, batchId, ({ batch }) => batch.status === 'EXECUTED');
    }

    const moved = await run();
    assert.equal(moved.exitCode, 0, moved.stderr);
    assert.match(moved.stderr, new RegExp(`has moved from ${project.company} to ${company}`));
    assert.match(moved.stderr, new RegExp(`has changed from ${project.operator} to ${operator}`));
    const { multisigs } = await readPins();
    const pin = multisigs.find((it: { multisig: string }) => it.multisig === project.multisig);
    assert.deepEqual([pin.company, pin.operator], [company, operator]);
    assert.doesNotMatch((await run()).stderr, /has moved|has changed/);

    // On another computer this is a first use, of a multisig with a past.
    await rm(pinFile());
    assert.match(
      (await run()).stderr,
      new RegExp(`the members or settings of ${project.multisig} have changed before`),
    );
  });
});

function burn(adId: string, actions: readonly object[]) {
  return { type: 'WATCH_AD', payload: JSON.stringify({ adId }), actions };
}
