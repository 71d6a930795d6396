import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Address, generateKeyPairSigner } from '@solana/kit';
import { getCreateAccountInstruction } from '@solana-program/system';
import { findAssociatedTokenPda, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import {
  type ExtensionArgs,
  extension,
  getCreateAssociatedTokenInstruction,
  getInitializeMint2Instruction,
  getMintSize,
  getPreInitializeInstructionsForMintExtensions,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022';
import { readVaultFunds } from '../../src/solana/vault.ts';
import { type Cluster, land, startCluster } from './cluster.ts';

let cluster: Cluster;
before(async () => {
  cluster = await startCluster();
});
after(() => cluster.localnet.stop());

async function newAddress(): Promise<Address> {
  return (await generateKeyPairSigner()).address;
}

async function tokenAccountOf(owner: Address, { mint, programAddress }: { mint: Address; programAddress: Address }) {
  return (await findAssociatedTokenPda({ owner, mint, tokenProgram: programAddress }))[0];
}

async function createToken(token2022: boolean) {
  const mint = await cluster.localnet.bank.createMint(6, token2022);
  return { mint, programAddress: token2022 ? TOKEN_2022_PROGRAM_ADDRESS : TOKEN_PROGRAM_ADDRESS };
}

describe('readVaultFunds', () => {
  for (const [name, token2022, rentLamports] of [
    ['SPL Token', false, 2_039_280n],
    ['Token-2022', true, 2_074_080n],
  ] as const) {
    it(`reads balances, and which recipients have no token account: ${name}`, async () => {
      const { localnet, chain } = cluster;
      const token = await createToken(token2022);
      const [vault, holder, newcomer, giftedAddress] = await Promise.all([0, 1, 2, 3].map(newAddress));
      assert.ok(vault && holder && newcomer && giftedAddress);
      await localnet.bank.airdrop(vault, 5_000_000n);
      await localnet.bank.mintTo(token.mint, vault, 1_234n);
      await localnet.bank.mintTo(token.mint, holder, 1n);
      const [own, held, missing, gifted] = await Promise.all(
        [vault, holder, newcomer, giftedAddress].map((owner) => tokenAccountOf(owner, token)),
      );
      assert.ok(own && held && missing && gifted);
      // Lamports alone do not make a token account.
      await localnet.bank.airdrop(gifted, 1_000_000n);
      const recipientTokenAccounts = [held, missing, gifted, missing];
      assert.deepEqual(await readVaultFunds(chain, { vault, token, tokenAccount: own, recipientTokenAccounts }), {
        lamports: 5_000_000n,
        tokenBaseUnits: 1_234n,
        mintProblem: null,
        missingTokenAccounts: [
          { address: missing, creationLamports: rentLamports },
          { address: gifted, creationLamports: rentLamports - 1_000_000n },
        ],
      });
    });
  }

  it('reads zeros for accounts that do not exist', async () => {
    const token = await createToken(false);
    const vault = await newAddress();
    const tokenAccount = await tokenAccountOf(vault, token);
    const funds = await readVaultFunds(cluster.chain, { vault, token, tokenAccount, recipientTokenAccounts: [] });
    assert.equal(funds.lamports, 0n);
    assert.equal(funds.tokenBaseUnits, 0n);
    assert.deepEqual(funds.missingTokenAccounts, []);
  });

  it('rejects a token account of another mint', async () => {
    const [token, other, vault] = [await createToken(false), await createToken(false), await newAddress()];
    await cluster.localnet.bank.mintTo(other.mint, vault, 1n);
    const tokenAccount = await tokenAccountOf(vault, other);
    await assert.rejects(
      readVaultFunds(cluster.chain, { vault, token, tokenAccount, recipientTokenAccounts: [] }),
      new RegExp(`is of mint ${other.mint}, not of ${token.mint}`),
    );
  });

  it('reads the balances without a mint that can be read, and does not estimate the rent too low', async () => {
    const { localnet, chain } = cluster;
    const [vault, recipient] = [await newAddress(), await newAddress()];
    await localnet.bank.airdrop(vault, 5_000_000n);
    const missing = { mint: await newAddress(), programAddress: TOKEN_2022_PROGRAM_ADDRESS };
    for (const token of [missing, { ...missing, mint: (await createToken(false)).mint }]) {
      const [tokenAccount, ...recipientTokenAccounts] = [
        await tokenAccountOf(vault, token),
        await tokenAccountOf(recipient, token),
      ];
      const funds = await readVaultFunds(chain, { vault, token, tokenAccount, recipientTokenAccounts });
      assert.deepEqual([funds.lamports, funds.tokenBaseUnits], [5_000_000n, 0n]);
      assert.ok((funds.missingTokenAccounts[0]?.creationLamports ?? 0n) > 2_074_080n);
    }
  });

  it('adds to token accounts the extensions that the token program derives from the mint’s', async () => {
    const { payer, chain } = cluster;
    const authority = payer.address;
    const noFee = { epoch: 0n, maximumFee: 0n, transferFeeBasisPoints: 0 };
    const extensions: ExtensionArgs[][] = [
      [extension('MintCloseAuthority', { closeAuthority: authority })],
      [extension('PermanentDelegate', { delegate: authority })],
      [extension('TransferHook', { authority, programId: authority })],
      [extension('PausableConfig', { authority, paused: false })],
      [
        extension('TransferFeeConfig', {
          transferFeeConfigAuthority: authority,
          withdrawWithheldAuthority: authority,
          withheldAmount: 0n,
          olderTransferFee: noFee,
          newerTransferFee: noFee,
        }),
        extension('TransferHook', { authority, programId: authority }),
        extension('PausableConfig', { authority, paused: false }),
      ],
    ];
    for (const ofMint of extensions) {
      const token = { mint: await createExtendedMint(ofMint), programAddress: TOKEN_2022_PROGRAM_ADDRESS };
      const owner = await newAddress();
      const ata = await tokenAccountOf(owner, token);
      const { mint } = token;
      await land(cluster, [
        getCreateAssociatedTokenInstruction({ payer, ata, owner, mint, tokenProgram: TOKEN_2022_PROGRAM_ADDRESS }),
      ]);
      const [created] = await chain.accounts([ata]);
      const recipientTokenAccounts = [await tokenAccountOf(await newAddress(), token)];
      const funds = await readVaultFunds(chain, { vault: owner, token, tokenAccount: ata, recipientTokenAccounts });
      const [missing] = funds.missingTokenAccounts;
      assert.equal(missing?.creationLamports, created?.lamports, ofMint.map(({ __kind }) => __kind).join());
    }
  });
});

async function createExtendedMint(extensions: ExtensionArgs[]): Promise<Address> {
  const { payer, chain } = cluster;
  const mint = await generateKeyPairSigner();
  const space = getMintSize(extensions);
  const lamports = await chain.minimumBalanceForRentExemption(space);
  await land(
    cluster,
    [
      getCreateAccountInstruction({
        payer,
        newAccount: mint,
        lamports,
        space,
        programAddress: TOKEN_2022_PROGRAM_ADDRESS,
      }),
      ...getPreInitializeInstructionsForMintExtensions(mint.address, extensions),
      getInitializeMint2Instruction({ mint: mint.address, decimals: 6, mintAuthority: payer.address }),
    ],
    [mint],
  );
  return mint.address;
}
