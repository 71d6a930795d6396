import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { describeFreezeRisk } from '@flywheel/protocol';
import { assertError } from '@flywheel/testing/batches';
import { land } from '@flywheel/testing/chain';
import { openGate } from '@flywheel/testing/gate';
import { createOwnMint, fundedSigner, mintTo } from '@flywheel/testing/mints';
import { createProject, requireOk, signIn, signWith } from '@flywheel/testing/project';
import type { World } from '@flywheel/testing/world';
import { type ConsoleWorld, openConsoleWorld } from '@flywheel/testing/world';
import { type Address, generateKeyPairSigner, some } from '@solana/kit';
import { getCreateAccountInstruction } from '@solana-program/system';
import {
  type ExtensionArgs,
  extension,
  getInitializeMetadataPointerInstruction,
  getInitializeMint2Instruction,
  getInitializeNonTransferableMintInstruction,
  getInitializeTokenMetadataInstruction,
  getMintSize,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022';
import { sql } from 'kysely';

let world: World;
let ask: ConsoleWorld['ask'];
let cookie: string;
before(async () => {
  ({ world, ask } = await openConsoleWorld());
  cookie = await signIn(world.url, await generateKeyPairSigner());
});
after(() => world.stop());

const preview = async (mint: string) => requireOk(await ask('GET', `/mints/${mint}`, cookie));

describe('the preview of a token', () => {
  it('shows its program, decimals, supply, warnings, and the cost of a registration', async () => {
    const mint = await createOwnMint(world, false);
    await mintTo(world, mint, mint.authority.address, 1_500_000n);
    const seen = await preview(mint.address);
    assert.deepEqual(seen, {
      mint: mint.address,
      warnings: [describeFreezeRisk(mint.authority.address)],
      token: { program: 'spl-token', decimals: 6, supply: '1.5' },
      costLamports: seen.costLamports,
    });
    const wallet = await fundedSigner(world);
    const request = { mint: mint.address, burnLimit: '1', airdropLimit: '1', scopes: ['burn'] };
    const begun = requireOk(await ask('POST', '/registrations', await signIn(world.url, wallet), request));
    assert.equal(seen.costLamports, begun.costLamports);
  });

  it('shows the token’s own name and symbol', async () => {
    const mint = await createMint2022({ name: 'Ad Rewards', symbol: 'ADR' });
    const { token, problem } = await preview(mint);
    assert.deepEqual(token, { program: 'token-2022', decimals: 6, supply: '0', name: 'Ad Rewards', symbol: 'ADR' });
    assert.equal(problem, undefined);
    const project = await createProject(world, { mint, vaultBaseUnits: 0n });
    const { projects } = requireOk(await ask('GET', '/projects', project.cookie));
    assert.equal(projects[0].token.name, 'Ad Rewards');
    assert.equal(requireOk(await ask('GET', `/projects/${project.projectId}`, project.cookie)).token.symbol, 'ADR');
  });

  it('gives the reason if a token cannot be registered', async () => {
    const missing = (await generateKeyPairSigner()).address;
    const wallet = (await fundedSigner(world)).address;
    for (const [mint, problem] of [
      [missing, /^Mint \w+ does not exist on this cluster\.$/],
      [wallet, /^Mint \w+ is not a mint: it belongs to the program 1{32}\.$/],
      [await createMint2022({ isTransferable: false }), /^Mint \w+ is non-transferable/],
      ['1'.repeat(44), /^1{44} is not an address/],
    ] as const) {
      const seen = await preview(mint);
      assert.match(seen.problem, problem);
      assert.equal(seen.token, undefined);
      assert.match(seen.costLamports, /^\d+$/);
    }
  });

  it('is bounded at once for each wallet, because it reads the cluster', async () => {
    const mint = await createMint2022({ name: 'Ad Rewards', symbol: 'ADR' });
    const gate = await openGate(world.localnet);
    await world.restart(gate.environment);
    const held = gate.hold('getMultipleAccounts');
    const asked = Array.from({ length: 9 }, () => ask('GET', `/mints/${mint}`, cookie));
    assertError(await Promise.race(asked), 429, 'ERR_TOO_MANY_AT_ONCE', /^8 previews are in progress/);
    held.release();
    const answers = await Promise.all(asked);
    assert.equal(answers.filter(({ status }) => status === 200).length, 8);
    await world.restart();
    await gate.stop();
  });

  it('needs a session and a valid address', async () => {
    assertError(await ask('GET', '/mints/So11111111111111111111111111111111111111112', ''), 401, 'ERR_UNAUTHORIZED');
    assertError(await ask('GET', '/mints/0x12', cookie), 400, 'ERR_INVALID_REQUEST', /params\.mint/);
  });
});

describe('registrations that are not paid', () => {
  it('are bounded for an hour by wallet and by address, because each is stored and costs its wallet nothing', async () => {
    const project = await createProject(world);
    const body = { mint: project.mint, burnLimit: '1', airdropLimit: '1', scopes: ['burn'] };
    const begin = (by = project.cookie) => ask('POST', '/registrations', by, body);
    const answers = await Promise.all(Array.from({ length: 22 }, () => begin()));
    assert.equal(answers.filter(({ status }) => status === 200).length, 20, 'the project is paid');
    const ofWallet = /^20 registrations of this wallet were begun in the last hour and not paid; the maximum is 20\./;
    assertError(await begin(), 429, 'ERR_TOO_MANY_REGISTRATIONS', ofWallet);
    requireOk(await begin(cookie));
    await sql`
      insert into registrations
        (id, wallet, network, request, token, multisig, create_key, message, last_valid_block_height, created_at)
      select gen_random_uuid(), gen_random_uuid()::text, network, request, token, multisig, create_key, message,
        last_valid_block_height, created_at
      from registrations cross join generate_series(1, 4)
      where wallet = ${project.wallet.address} and project_id is null
    `.execute(world.db);
    assertError(await begin(cookie), 429, 'ERR_TOO_MANY_REGISTRATIONS', /^1\d\d registrations of this address /);
    await sql`update registrations set created_at = created_at - interval '1 hour'`.execute(world.db);
    requireOk(await begin());
    requireOk(await begin(cookie));
  });
});

describe('the completion of a registration', () => {
  it('is bounded at once for each wallet, because it sends until the transaction has landed', async () => {
    const gate = await openGate(world.localnet);
    await world.restart(gate.environment);
    const wallet = await fundedSigner(world);
    const own = await signIn(world.url, wallet);
    const mint = await createMint2022({ name: 'Ad Rewards', symbol: 'ADR' });
    const request = { mint, burnLimit: '1', airdropLimit: '1', scopes: ['burn'] };
    const { registrationId, transaction } = requireOk(await ask('POST', '/registrations', own, request));
    const body = { signedTransaction: await signWith(wallet, transaction) };
    const held = gate.hold('getMultipleAccounts');
    const asked = Array.from({ length: 9 }, () => ask('POST', `/registrations/${registrationId}/confirm`, own, body));
    assertError(await Promise.race(asked), 429, 'ERR_TOO_MANY_AT_ONCE', /^8 registrations are in progress/);
    held.release();
    const answers = await Promise.all(asked);
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    await world.restart();
    await gate.stop();
  });
});

describe('a registration', () => {
  it('stores the approval mode, and is the first entry of the project’s audit log', async () => {
    const limits = { burnLimit: '10', airdropLimit: '20' };
    const proofTypes = [{ type: 'WATCH_AD' }];
    const project = await createProject(world, { approvalMode: 'manual', scopes: ['burn'], proofTypes, ...limits });
    const settings = { scopes: ['burn'], ...limits, proofTypes, approvalMode: 'manual' };
    const read = async (path: string) =>
      requireOk(await ask('GET', `/projects/${project.projectId}${path}`, project.cookie));
    const companyTerms = { approvalMode: 'manual', ...limits };
    assert.deepEqual(await read('/settings'), { ...settings, companyTerms });
    assert.equal((await read('')).approvalMode, 'manual');
    const { entries } = await read('/history');
    assert.equal(entries.length, 1);
    const [{ id, at, ...entry }] = entries;
    assert.deepEqual(entry, {
      actor: project.wallet.address,
      action: 'project.registered',
      projectId: project.projectId,
      after: { mintAddress: project.mint, multisig: project.multisig, ...settings },
    });
    assert.ok(id && Date.parse(at));
  });

  it('is rejected for a mint with the wrong length, and for an unknown mode', async () => {
    const wallet = await fundedSigner(world);
    const own = await signIn(world.url, wallet);
    const request = { mint: '1'.repeat(44), burnLimit: '1', airdropLimit: '1', scopes: ['burn'] };
    assertError(await ask('POST', '/registrations', own, request), 400, 'ERR_INVALID_REQUEST', /body\.mint/);
    const mint = await world.localnet.bank.createMint(6, false);
    const unknown = await ask('POST', '/registrations', own, { ...request, mint, approvalMode: 'never' });
    assertError(unknown, 400, 'ERR_INVALID_REQUEST', /body\.approvalMode/);
  });
});

interface Mint2022Options {
  readonly name?: string;
  readonly symbol?: string;
  readonly isTransferable?: boolean;
}

/** Creates a Token-2022 mint with 6 decimals and, if it has a name, metadata in the mint. */
async function createMint2022({ name, symbol = '', isTransferable = true }: Mint2022Options): Promise<Address> {
  const [authority, mint] = await Promise.all([fundedSigner(world), generateKeyPairSigner()]);
  const pointer = { authority: some(authority.address), metadataAddress: some(mint.address) };
  const extensions: ExtensionArgs[] = [
    ...(name === undefined ? [] : [extension('MetadataPointer', pointer)]),
    ...(isTransferable ? [] : [extension('NonTransferable', {})]),
  ];
  const space = getMintSize(extensions);
  // The program extends the account for the metadata; its rent must be there before.
  const lamports = await world.rpc.getMinimumBalanceForRentExemption(BigInt(space + 500)).send();
  const authorities = { mintAuthority: authority.address, updateAuthority: authority.address };
  await land(world, authority, [
    getCreateAccountInstruction({
      payer: authority,
      newAccount: mint,
      lamports,
      space,
      programAddress: TOKEN_2022_PROGRAM_ADDRESS,
    }),
    ...(name === undefined ? [] : [getInitializeMetadataPointerInstruction({ mint: mint.address, ...pointer })]),
    ...(isTransferable ? [] : [getInitializeNonTransferableMintInstruction({ mint: mint.address })]),
    getInitializeMint2Instruction({ mint: mint.address, decimals: 6, ...authorities }),
    ...(name === undefined
      ? []
      : [
          getInitializeTokenMetadataInstruction({
            metadata: mint.address,
            mint: mint.address,
            ...authorities,
            mintAuthority: authority,
            name,
            symbol,
            uri: '',
          }),
        ]),
  ]);
  return mint.address;
}
