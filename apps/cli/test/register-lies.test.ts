import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ProjectOverview, RegisteredProject, Registration } from '@flywheel/api';
import { describeFreezeRisk } from '@flywheel/protocol';
import { createOwnMint } from '@flywheel/testing/mints';
import { forgeRegistration, REGISTRATION_LIES } from '@flywheel/testing/registration-lies';
import { openWorld, type World } from '@flywheel/testing/world';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { type Lie, type LyingService, openLyingService } from './lying-service.ts';
import { parseDocument, runCommand } from './run-command.ts';
import { makeTemporaryFolder, type TemporaryFolder, writeWallet } from './wallet-files.ts';

const LAMPORTS = 1_000_000_000n;

describe('flywheel register with a service that lies', () => {
  let world: World;
  let folder: TemporaryFolder;
  let mint: Address;
  let stranger: Address;
  let company: Address;
  let lying: LyingService;
  before(async () => {
    [world, folder] = await Promise.all([openWorld(), makeTemporaryFolder()]);
    mint = await world.localnet.bank.createMint(6, false);
    [stranger, company] = [(await generateKeyPairSigner()).address, (await generateKeyPairSigner()).address];
    lying = await openLyingService(world);
  });
  after(async () => {
    lying?.stop();
    await world?.stop();
    await folder?.[Symbol.asyncDispose]();
  });

  async function register(makeLie: (wallet: Address) => Lie | null, rpcUrl = world.localnet.url) {
    const { file, signer } = await writeWallet(folder, `${crypto.randomUUID()}.json`);
    await world.localnet.bank.airdrop(signer.address, LAMPORTS);
    lying.tell(makeLie(signer.address));
    const limits = ['--burn-limit', '1', '--airdrop-limit', '1', '--scopes', 'burn'];
    const words = ['register', '--wallet', file, '--mint', mint, ...limits, '--json'];
    const result = await runCommand(words, { FLYWHEEL_URL: lying.url, SOLANA_RPC_URL: rpcUrl });
    const { value: balance } = await world.rpc.getBalance(signer.address, { commitment: 'confirmed' }).send();
    return { result, balance, stderr: result.stderr };
  }

  it('registers if the service does not lie, and prints who votes', async () => {
    const { result } = await register(() => null);
    const project = parseDocument<RegisteredProject & { readonly company: string; readonly operator: string }>(result);
    assert.equal(project.operator, world.operator.address);
    assert.match(project.company, /^\w{32,44}$/);
  });

  it('says before the wallet pays that the company must admit the project, and who can freeze the vault', async () => {
    const { file, signer } = await writeWallet(folder, 'poor.json');
    const { address, authority } = await createOwnMint(world, false);
    lying.tell({ path: /\/environment$/, change: (answer) => answer.replace('"open"', '"approval"') });
    const limits = ['--burn-limit', '1', '--airdrop-limit', '1', '--scopes', 'burn'];
    const words = ['register', '--wallet', file, '--mint', address, ...limits];
    const { exitCode, stderr } = await runCommand(words, {
      FLYWHEEL_URL: lying.url,
      SOLANA_RPC_URL: world.localnet.url,
    });
    assert.equal(exitCode, 2, `${signer.address} holds nothing, so it has paid nothing`);
    assert.match(stderr, /The company must admit the project before it can create a batch\./);
    assert.ok(stderr.includes(`Risk: ${describeFreezeRisk(authority.address)}`), stderr);
  });

  // The SDK's tests run every lie through the same function: here is one that the chain would accept, and one that it would not.
  const lies = [true, false].flatMap((lands) => REGISTRATION_LIES.find((lie) => lie.lands === lands) ?? []);
  for (const { name, expected, forge } of lies) {
    it(`loses nothing of the wallet’s to a registration that ${name}`, async () => {
      const { result, balance, stderr } = await register((wallet) => ({
        path: /\/registrations$/,
        change: async (answer) => {
          const honest: Registration = JSON.parse(answer);
          const forged = await forgeRegistration(world, { wallet, mint, stranger, company }, forge);
          const { transaction, multisig, vaultAddress } = forged;
          return JSON.stringify({ ...honest, transaction, multisig, vaultAddress });
        },
      }));
      assert.equal(result.exitCode, 1);
      assert.equal(result.stdout, '');
      const { error, message } = JSON.parse(stderr);
      assert.equal(error, 'ERR_SIGNING_REFUSED');
      assert.match(message, expected);
      assert.equal(balance, LAMPORTS);
    });
  }

  it('signs no other text than its sign-in message', async () => {
    const { result, stderr } = await register(() => ({
      path: /\/sign-in\/challenge$/,
      change: (answer) => answer.replace('This costs nothing', 'This gives all'),
    }));
    assert.equal(result.exitCode, 1);
    const { error, message } = JSON.parse(stderr);
    assert.equal(error, 'ERR_SIGNING_REFUSED');
    assert.match(message, /^Not signed: the sign-in message from .* is not one of /);
  });

  it('prints no vault to deposit into if the service answers another one after the signature', async () => {
    const { result, stderr } = await register(() => ({
      path: /\/confirm$/,
      change: (answer) => JSON.stringify({ ...JSON.parse(answer), vaultAddress: stranger }),
    }));
    assert.equal(result.exitCode, 1);
    assert.equal(result.stdout, '');
    const { error, message } = JSON.parse(stderr);
    assert.equal(error, 'ERR_CHAIN_MISMATCH');
    assert.match(
      message,
      new RegExp(`deposit nothing into ${stranger}: The service shows the vault ${stranger}; it is`),
    );
    assert.match(message, /Its API key, shown only once: fwk_\w+$/, 'the key is lost');
  });

  it('prints no vault later, as project show, that the wallet has not signed or the chain does not hold', async () => {
    const { file, signer } = await writeWallet(folder, 'kept.json');
    await world.localnet.bank.airdrop(signer.address, LAMPORTS);
    const env = {
      FLYWHEEL_URL: lying.url,
      SOLANA_RPC_URL: world.localnet.url,
      XDG_STATE_HOME: join(folder.path, 'state'),
    };
    lying.tell({ path: /\/confirm$/, change: () => null });
    const limits = ['--burn-limit', '1', '--airdrop-limit', '1', '--scopes', 'burn'];
    const lost = await runCommand(['register', '--wallet', file, '--mint', mint, ...limits], env);
    assert.equal(lost.exitCode, 4, lost.stderr);
    const show = (...options: string[]) => runCommand(['project', 'show', '--wallet', file, ...options], env);

    lying.tell(null);
    const pins = join(folder.path, 'state', 'flywheel', 'pins.json');
    const kept = await readFile(pins, 'utf8');
    const { vaultAddress } = parseDocument<ProjectOverview>(await show('--json'));
    const [pin] = JSON.parse(await readFile(pins, 'utf8')).multisigs;
    assert.deepEqual([pin.vaultAddress, pin.signed], [vaultAddress, undefined], 'it was compared with the chain');

    await writeFile(pins, kept);
    lying.tell({ path: /\/projects\/[^/]+$/, change: (answer) => answer.replaceAll(vaultAddress, stranger) });
    const other = await show();
    assert.deepEqual([other.exitCode, other.stdout], [1, '']);
    assert.match(other.stderr, new RegExp(`shows the vault ${stranger}; this computer knows ${vaultAddress}`));

    // Whoever has the multisig's own key can create another one at its address before the signed transaction lands.
    lying.tell(null);
    await writeFile(pins, kept.replaceAll(world.operator.address, stranger));
    const taken = await show();
    assert.deepEqual([taken.exitCode, taken.stdout], [1, '']);
    assert.match(taken.stderr, /ERR_CHAIN_MISMATCH .*deposit nothing into/);

    await rm(pins);
    assert.match((await show()).stderr, /first use of this vault on this computer/);
  });

  it('says where to look before another registration if the answer to the signature is lost', async () => {
    const { result, stderr } = await register(() => ({ path: /\/confirm$/, change: () => null }));
    assert.equal(result.exitCode, 4);
    const { error, message } = JSON.parse(stderr);
    assert.equal(error, 'ERR_UNREACHABLE');
    assert.match(message, /the project may exist\. Look with flywheel project show/);
    assert.doesNotMatch(message, /npm start/);
  });

  it('verifies at a node that the wallet’s holder names if the service is on another machine', async () => {
    const { file } = await writeWallet(folder, 'remote.json');
    const limits = ['--burn-limit', '1', '--airdrop-limit', '1', '--scopes', 'burn'];
    const words = ['register', '--wallet', file, '--mint', mint, ...limits, '--json'];
    const { exitCode, stderr } = await runCommand(words, { FLYWHEEL_URL: 'https://flywheel.example.com' });
    assert.equal(exitCode, 1);
    const { error, message } = JSON.parse(stderr);
    assert.equal(error, 'ERR_CLUSTER');
    assert.match(message, /at a Solana node that you choose, not at one that flywheel\.example\.com names/);
  });

  it('verifies at a node that the holder names if the service on this machine may be a tunnel', async () => {
    const { file } = await writeWallet(folder, 'tunnel.json');
    const limits = ['--burn-limit', '1', '--airdrop-limit', '1', '--scopes', 'burn'];
    const words = ['register', '--wallet', file, '--mint', mint, ...limits, '--json'];
    for (const node of ['http://node.invalid', lying.url]) {
      lying.tell({ path: /\/environment$/, change: (answer) => answer.replace(world.localnet.url, node) });
      const { exitCode, stderr } = await runCommand(words, { FLYWHEEL_URL: lying.url });
      assert.equal(exitCode, 1);
      assert.match(stderr, /"ERR_CLUSTER".*at a Solana node that you choose/);
    }
  });
});
