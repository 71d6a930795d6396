import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MEMO_PROGRAM_ADDRESS } from '@flywheel/protocol';
import { land } from '@flywheel/testing/chain';
import { airdropPipeline, burnPipeline, execute, init, send } from '@flywheel/testing/client';
import { realClock } from '@flywheel/testing/clock';
import {
  associatedTokenAccount,
  createFeeMint,
  createFreezableMint,
  createOwnMint,
  createPlainTokenAccount,
  freezeNewAccounts,
  fundedSigner,
  mintTo,
  type OwnMint,
  scheduleFee,
} from '@flywheel/testing/mints';
import { createProject, requireOk, signWith, type TestProject } from '@flywheel/testing/project';
import { openWorld, type World } from '@flywheel/testing/world';
import { type Address, address, generateKeyPairSigner } from '@solana/kit';
import {
  AuthorityType,
  getBurnInstruction,
  getCloseAccountInstruction,
  getFreezeAccountInstruction,
  getSetAuthorityInstruction,
  getThawAccountInstruction,
} from '@solana-program/token';
import { checkRecipients } from '../src/batches/check/recipients.ts';
import { simulatePipelines } from '../src/batches/check/simulate.ts';
import { type Chain, createChain } from '../src/solana/chain.ts';
import { findBatch } from '../src/store/batches/batches.ts';
import { findProject } from '../src/store/projects/projects.ts';

const LOADER = address('BPFLoaderUpgradeab1e11111111111111111111111');

let world: World;
before(async () => {
  world = await openWorld();
});
after(() => world.stop());

for (const isToken2022 of [false, true]) {
  describe(`the check before approval, ${isToken2022 ? 'Token-2022' : 'SPL Token'}`, () => {
    let mint: OwnMint;
    let project: TestProject;
    before(async () => {
      mint = await createOwnMint(world, isToken2022);
      project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
      await mintTo(world, mint, project.vaultAddress as Address, 1_000_000_000n);
    });

    // Token-2022 gives associated token accounts an immutable owner.
    it('names a recipient whose token account another wallet owns', {
      skip: isToken2022 && 'Token-2022 makes the owner of an associated token account immutable',
    }, async () => {
      const [owner, thief] = await Promise.all([fundedSigner(world), generateKeyPairSigner()]);
      const owned = await mintTo(world, mint, owner.address, 1n);
      await land(world, owner, [
        getSetAuthorityInstruction({
          owned,
          owner,
          authorityType: AuthorityType.AccountOwner,
          newAuthority: thief.address,
        }),
      ]);
      const { status, body } = await request(project, [burnPipeline(1), airdropPipeline(owner.address)]);
      assert.deepEqual([status, body.error], [409, 'ERR_BATCH_WOULD_FAIL']);
      assert.match(body.message, new RegExp(`pipelines\\[1\\]\\.actions\\[0\\]\\.toAddress: ${owner.address} gave `));
      assert.ok(body.message.includes(thief.address), body.message);
    });

    it('names all frozen recipients, token accounts and mints at once, and sends nothing', async () => {
      const frozen = await generateKeyPairSigner();
      const account = await mintTo(world, mint, frozen.address, 1n);
      const { programAddress, authority } = mint;
      await land(world, authority, [
        getFreezeAccountInstruction({ account, mint: mint.address, owner: authority }, { programAddress }),
      ]);
      const [plain, otherMint] = [await createPlainTokenAccount(world, mint), await createOwnMint(world, isToken2022)];
      const pipelines = [
        airdropPipeline(frozen.address),
        burnPipeline(1),
        airdropPipeline(otherMint.address),
        airdropPipeline(plain),
      ];
      const { status, body } = await request(project, pipelines);
      assert.deepEqual([status, body.error], [409, 'ERR_BATCH_WOULD_FAIL']);
      assert.match(body.message, /pipelines\[0\]\.actions\[0\]\.toAddress: \w+ has a frozen token account/);
      assert.match(body.message, /pipelines\[2\]\.actions\[0\]\.toAddress: \w+ is a mint, not a wallet/);
      assert.match(body.message, /pipelines\[3\]\.actions\[0\]\.toAddress: \w+ is a token account, not a wallet/);
      assert.equal(body.message.match(/pipelines\[/g)?.length, 3, body.message);
    });

    it('names a frozen vault once', async () => {
      const { programAddress, authority } = mint;
      const account = await associatedTokenAccount(mint, project.vaultAddress as Address);
      const freezing = { account, mint: mint.address, owner: authority };
      await land(world, authority, [getFreezeAccountInstruction(freezing, { programAddress })]);
      const { status, body } = await request(project, [burnPipeline(1), burnPipeline(2)]);
      await land(world, authority, [getThawAccountInstruction(freezing, { programAddress })]);
      assert.deepEqual([status, body.error], [409, 'ERR_BATCH_WOULD_FAIL']);
      assert.match(body.message, /The vault’s token account \w+ is frozen/);
      assert.doesNotMatch(body.message, /pipelines/);
    });

    it('names the first pipeline that the vault cannot pay, and passes after a deposit', async () => {
      const dry = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
      await mintTo(world, mint, dry.vaultAddress as Address, 10_000_000n);
      const pipelines = [burnPipeline(4), burnPipeline(5), burnPipeline(6), burnPipeline(7)];
      const { id, signedTx } = await prepare(dry, pipelines);
      const { status, body } = await execute(world.url, dry.apiKey, id, signedTx);
      assert.deepEqual([status, body.error], [409, 'ERR_VAULT_UNDERFUNDED']);
      assert.match(body.message, /holds 10 tokens; this batch needs 22: 12 more\. pipelines\[2\] is the first/);
      await mintTo(world, mint, dry.vaultAddress as Address, 12_000_000n);
      assert.equal(requireOk(await execute(world.url, dry.apiKey, id, signedTx)).status, 'EXECUTED');
    });

    it('counts the rent of each missing token account of a batch once', async () => {
      const rent = isToken2022 ? 2_074_080n : 2_039_280n;
      const poor = await createProject(world, {
        mint: mint.address,
        vaultBaseUnits: 0n,
        vaultLamports: 2n * rent + 5n,
      });
      await mintTo(world, mint, poor.vaultAddress as Address, 10_000_000n);
      const [a, b] = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()]);
      const pipelines = [airdropPipeline(a.address), airdropPipeline(a.address, 2), airdropPipeline(b.address)];
      const { id, signedTx } = await prepare(poor, pipelines);
      const { status, body } = await execute(world.url, poor.apiKey, id, signedTx);
      assert.deepEqual([status, body.error], [409, 'ERR_VAULT_UNDERFUNDED']);
      assert.match(body.message, /890875 more\. pipelines\[2\] is the first/);
      await world.localnet.bank.airdrop(poor.vaultAddress as Address, 890_875n);
      assert.equal(requireOk(await execute(world.url, poor.apiKey, id, signedTx)).status, 'EXECUTED');
    });

    it('does not pay twice for the token account of a recipient who closed it', async () => {
      const recipient = await fundedSigner(world);
      assert.equal(requireOk(await request(project, [airdropPipeline(recipient.address, 1)])).status, 'EXECUTED');
      const account = await associatedTokenAccount(mint, recipient.address);
      const { programAddress } = mint;
      await land(world, recipient, [
        getBurnInstruction(
          { account, mint: mint.address, authority: recipient, amount: 1_000_000n },
          { programAddress },
        ),
        getCloseAccountInstruction({ account, destination: recipient.address, owner: recipient }, { programAddress }),
      ]);
      const { id, signedTx } = await prepare(project, [airdropPipeline(recipient.address, 1)]);
      const { status, body } = await execute(world.url, project.apiKey, id, signedTx);
      assert.deepEqual([status, body.error], [409, 'ERR_BATCH_WOULD_FAIL']);
      assert.match(body.message, /pipelines\[0\]\.actions\[0\]\.toAddress: \w+ has closed the token account \w+/);
      await mintTo(world, mint, recipient.address, 1n);
      assert.equal(requireOk(await execute(world.url, project.apiKey, id, signedTx)).status, 'EXECUTED');
    });

    it('names twenty issues and counts the rest', async () => {
      const otherMint = await createOwnMint(world, isToken2022);
      const { status, body } = await request(
        project,
        Array.from({ length: 25 }, () => airdropPipeline(otherMint.address)),
      );
      assert.deepEqual([status, body.error], [409, 'ERR_BATCH_WOULD_FAIL']);
      assert.equal(body.message.match(/pipelines\[/g)?.length, 20);
      assert.match(body.message, /And 5 more\.$/);
      assert.equal(body.problems.length, 25);
      assert.deepEqual(body.problems[24], {
        code: 'ERR_BATCH_WOULD_FAIL',
        place: 'pipelines[24].actions[0].toAddress',
        message: `${otherMint.address} is a mint, not a wallet.`,
        recipient: otherMint.address,
      });
    });

    it('teaches init which addresses are no wallets, until a preview finds them to be', async () => {
      const plain = await createPlainTokenAccount(world, mint);
      const preview = (address: string) =>
        send(world.url, 'POST', '/v1/flywheel/batch/preview', {
          key: project.apiKey,
          body: { pipelines: [airdropPipeline(address)] },
        });
      const initialize = (address: string) =>
        init(world.url, project.apiKey, [burnPipeline(), airdropPipeline(address)]);
      const { problems } = requireOk(await preview(plain));
      assert.deepEqual(
        problems.map(({ place, recipient }: Record<string, string>) => [place, recipient]),
        [['pipelines[0].actions[0].toAddress', plain]],
      );
      const refused = await initialize(plain);
      const place = 'pipelines[1].actions[0].toAddress';
      assert.deepEqual([refused.status, refused.body.error], [400, 'ERR_FLYWHEEL_INVALID_ACTION']);
      assert.deepEqual(refused.body.problems[0].place, place);
      assert.match(refused.body.message, /is a token account, not a wallet/);
      assert.match((await initialize(mint.address)).body.message, /is a mint, not a wallet/);

      const wallet = (await generateKeyPairSigner()).address;
      await world.db.insertInto('non_wallets').values({ address: wallet, kind: 'mint', seen_at: new Date() }).execute();
      assert.equal((await initialize(wallet)).status, 400);
      requireOk(await preview(wallet));
      requireOk(await initialize(wallet));
    });

    it('reports a program as a recipient, which init refuses from then on', async () => {
      const program = (await generateKeyPairSigner()).address;
      const found = await findProject(world.db, project.projectId);
      assert.ok(found !== null && typeof found !== 'string');
      const account = { lamports: 1n, programAddress: LOADER, executable: true, data: new Uint8Array(36), space: 36n };
      const accounts: Chain['accounts'] = async (addresses) =>
        addresses.map((address) => (address === program ? { address, ...account } : null));
      const chain = { ...createChain({ rpcUrls: [world.localnet.url] }), accounts };
      const pipelines = [{ actions: airdropPipeline(program).actions }];
      const { issues } = await checkRecipients({ chain, db: world.db, clock: realClock }, found, pipelines);
      assert.deepEqual(
        issues.map(({ place, recipient, message }) => [place, recipient, message]),
        [['pipelines[0].actions[0].toAddress', program, `${program} is a program, not a wallet.`]],
      );
      const refused = await init(world.url, project.apiKey, [burnPipeline(), airdropPipeline(program)]);
      assert.deepEqual([refused.status, refused.body.error], [400, 'ERR_FLYWHEEL_INVALID_ACTION']);
      assert.match(refused.body.message, /pipelines\[1\]\.actions\[0\]\.toAddress.* is a program, not a wallet/);
    });
  });
}

describe('the check before approval, after the issuer has changed the mint,', () => {
  it('refuses airdrops of what a registration would refuse, and blames no recipient', async () => {
    const changes: [OwnMint, (mint: OwnMint) => Promise<void>, RegExp][] = [
      [
        await createFeeMint(world),
        (mint) => scheduleFee(world, mint, 1_000),
        /takes a transfer fee of 1000 basis points/,
      ],
      [await createFreezableMint(world), (mint) => freezeNewAccounts(world, mint), /freezes new token accounts/],
    ];
    for (const [mint, change, reason] of changes) {
      const project = await createProject(world, { mint: mint.address, vaultBaseUnits: 0n });
      await mintTo(world, mint, project.vaultAddress as Address, 10_000_000n);
      const recipients = await Promise.all([generateKeyPairSigner(), generateKeyPairSigner()]);
      const airdrops = recipients.map(({ address }) => airdropPipeline(address));
      const { id, signedTx } = await prepare(project, [burnPipeline(1), ...airdrops]);
      await change(mint);
      const { status, body } = await execute(world.url, project.apiKey, id, signedTx);
      assert.deepEqual([status, body.error], [409, 'ERR_BATCH_WOULD_FAIL']);
      const [problem, ...others] = body.problems;
      assert.deepEqual([Object.keys(problem), others], [['code', 'message'], []]);
      assert.ok(problem.message.startsWith(`The mint ${mint.address} `), problem.message);
      assert.match(problem.message, reason);
      const key = project.apiKey;
      requireOk(await send(world.url, 'POST', `/v1/flywheel/batch/${id}/cancel`, { key, body: {} }));
      assert.equal(requireOk(await request(project, [burnPipeline(1)])).status, 'EXECUTED');
    }
  });
});

describe('the simulation before approval', () => {
  it('passes for pipelines of the maximum size, of every kind of action', async () => {
    const project = await createProject(world);
    const largest = [
      { ...burnPipeline(), actions: [{ action: 'MEMO', message: 'm'.repeat(600) }] },
      { ...burnPipeline(), actions: Array.from({ length: 24 }, () => ({ action: 'BURN', amount: 1 })) },
      {
        ...burnPipeline(),
        actions: await Promise.all(
          Array.from({ length: 7 }, async () => ({
            action: 'AIRDROP',
            toAddress: (await generateKeyPairSigner()).address,
            amount: 1,
          })),
        ),
      },
    ];
    const [memo] = largest;
    assert.ok(memo);
    // Memos grow until init rejects one; the previous one has the maximum size.
    const bytes = await largestMemo(project);
    memo.actions = [{ action: 'MEMO', message: 'm'.repeat(bytes) }];
    assert.equal(requireOk(await request(project, largest)).status, 'EXECUTED');
  });

  it('has the results of each pipeline alone, with a fraction of the calls', async () => {
    const project = await createProject(world);
    const recipients = await Promise.all(Array.from({ length: 24 }, () => generateKeyPairSigner()));
    const { batch } = requireOk(
      await init(world.url, project.apiKey, [
        burnPipeline(),
        ...recipients.map((recipient) => airdropPipeline(recipient.address)),
        { ...burnPipeline(), actions: [{ action: 'MEMO', message: 'm'.repeat(600) }] },
      ]),
    );
    const [compiled, found] = await Promise.all([
      findBatch(world.db, batch.id),
      findProject(world.db, project.projectId),
    ]);
    assert.ok(compiled && found && typeof found !== 'string');
    // A memo must be valid UTF-8. A program that does not exist fails the transaction as a whole.
    const [badMemo, noProgram] = [MEMO_PROGRAM_ADDRESS, recipients[0]?.address ?? LOADER].map((programAddress) => ({
      programAddress,
      data: Uint8Array.of(0xff),
    }));
    const ends = [badMemo, ...Array(6), badMemo, badMemo, ...Array(12), noProgram];
    const pipelines = compiled.pipelines.map(({ instructions }, position) => ({
      instructions: [...instructions, ...(ends[position] ? [ends[position]] : [])],
    }));
    const positions = [...pipelines.keys()];

    let calls = 0;
    const real = createChain({ rpcUrls: [world.localnet.url] });
    const simulate: Chain['simulate'] = (wire, options) => {
      calls += 1;
      return real.simulate(wire, options);
    };
    const simulateAll = (chain: Chain, which: readonly number[]) =>
      simulatePipelines({ chain }, found.flywheel.multisig, pipelines, which);
    const together = await simulateAll({ ...real, simulate }, positions);
    const alone = await Promise.all(positions.map((position) => simulateAll(real, [position])));
    assert.deepEqual(
      together.failures,
      alone.flatMap(({ failures }) => failures),
    );
    assert.deepEqual(
      together.failures.map(({ pipeline }) => pipeline),
      [0, 7, 8, 21],
    );
    assert.deepEqual(together.computeUnits, new Map(alone.flatMap(({ computeUnits }) => [...computeUnits])));
    assert.equal(together.computeUnits.size, positions.length - 4);
    assert.ok(calls <= 15, `${calls} calls for ${positions.length} pipelines`);
  });
});

async function largestMemo(project: TestProject): Promise<number> {
  const pipeline = { ...burnPipeline(), actions: [{ action: 'MEMO', message: 'm'.repeat(900) }] };
  const { body } = await init(world.url, project.apiKey, [pipeline]);
  const [, needs, holds] = /needs (\d+) bytes; one transaction holds (\d+)/.exec(body.message) ?? [];
  return 900 - (Number(needs) - Number(holds));
}

async function prepare(project: TestProject, pipelines: readonly unknown[]) {
  const { batch, proposalApproveTx } = requireOk(await init(world.url, project.apiKey, pipelines));
  return { id: batch.id as string, signedTx: await signWith(project.wallet, proposalApproveTx) };
}

async function request(project: TestProject, pipelines: readonly unknown[]) {
  const { id, signedTx } = await prepare(project, pipelines);
  return execute(world.url, project.apiKey, id, signedTx);
}
