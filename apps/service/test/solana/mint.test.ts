import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NATIVE_MINT_2022_ADDRESS, NATIVE_MINT_ADDRESS } from '@flywheel/protocol';
import { type Address, address, type ReadonlyUint8Array } from '@solana/kit';
import { getMintEncoder, getTokenEncoder, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import {
  AccountState,
  type ExtensionArgs,
  extension,
  getMintEncoder as getMint2022Encoder,
  getTokenEncoder as getToken2022Encoder,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022';
import { MAX_MINT_BYTES, type MintFacts, type MintProblem, readMint } from '../../src/solana/mint.ts';

const MINT = address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v');
const SOMEONE = address('SysvarRent111111111111111111111111111111111');
const SYSTEM_PROGRAM = address('11111111111111111111111111111111');
const FIELDS = { mintAuthority: SOMEONE, supply: 1_000_000n, decimals: 6, isInitialized: true, freezeAuthority: null };
const NO_FEE = { epoch: 0n, maximumFee: 0n, transferFeeBasisPoints: 0 };

function read(programAddress: Address, data: ReadonlyUint8Array): Promise<MintFacts | MintProblem> {
  const account = { address: MINT, lamports: 1n, executable: false, programAddress, space: BigInt(data.length) };
  return readMint(
    { accounts: async (_, { maxBytes } = {}) => [{ ...account, data: Uint8Array.from(data).subarray(0, maxBytes) }] },
    MINT,
  );
}

function read2022(...extensions: ExtensionArgs[]): Promise<MintFacts | MintProblem> {
  return read(TOKEN_2022_PROGRAM_ADDRESS, getMint2022Encoder().encode({ ...FIELDS, extensions }));
}

async function reasonOf(found: Promise<MintFacts | MintProblem>): Promise<string> {
  const result = await found;
  assert.ok('problem' in result, 'the mint was not refused');
  return result.problem;
}

async function warnings(found: Promise<MintFacts | MintProblem>): Promise<readonly string[]> {
  const result = await found;
  assert.ok('warnings' in result, 'the mint was refused');
  return result.warnings;
}

describe('readMint', () => {
  it('reads an SPL mint', async () => {
    assert.deepEqual(await read(TOKEN_PROGRAM_ADDRESS, getMintEncoder().encode(FIELDS)), {
      decimals: 6,
      programAddress: TOKEN_PROGRAM_ADDRESS,
      supply: 1_000_000n,
      warnings: [],
    });
  });

  it('reads a Token-2022 mint without extensions', async () => {
    const data = getMint2022Encoder().encode({ ...FIELDS, extensions: null });
    assert.deepEqual(await read(TOKEN_2022_PROGRAM_ADDRESS, data), {
      decimals: 6,
      programAddress: TOKEN_2022_PROGRAM_ADDRESS,
      supply: 1_000_000n,
      warnings: [],
    });
  });

  it('reads name and symbol of metadata inside the mint', async () => {
    const found = await read2022(
      extension('MetadataPointer', { authority: null, metadataAddress: MINT }),
      extension('TokenMetadata', {
        updateAuthority: SOMEONE,
        mint: MINT,
        name: 'Flywheel',
        symbol: 'FLY',
        uri: '',
        additionalMetadata: new Map(),
      }),
    );
    assert.ok('name' in found);
    assert.deepEqual([found.name, found.symbol, found.warnings], ['Flywheel', 'FLY', []]);
  });

  it('refuses a mint with more metadata than it reads', async () => {
    const metadata = { updateAuthority: SOMEONE, mint: MINT, name: 'n', symbol: 's', additionalMetadata: new Map() };
    const found = read2022(extension('TokenMetadata', { ...metadata, uri: 'u'.repeat(MAX_MINT_BYTES) }));
    assert.match(
      await reasonOf(found),
      /^has 16\d{3} bytes; this service reads mints of at most 16384\. Shorten its metadata/,
    );
  });

  it('refuses wrapped SOL of both token programs, which no program burns', async () => {
    const data = Uint8Array.from(getMintEncoder().encode({ ...FIELDS, mintAuthority: null, decimals: 9 }));
    for (const [mint, programAddress] of [
      [NATIVE_MINT_ADDRESS, TOKEN_PROGRAM_ADDRESS],
      [NATIVE_MINT_2022_ADDRESS, TOKEN_2022_PROGRAM_ADDRESS],
    ] as const) {
      const account = { address: mint, lamports: 1n, executable: false, programAddress, data, space: 82n };
      const found = readMint({ accounts: async () => [account] }, mint);
      assert.equal(await reasonOf(found), 'is wrapped SOL, which cannot be burned.');
    }
  });

  it('warns of a freeze authority', async () => {
    const data = getMintEncoder().encode({ ...FIELDS, freezeAuthority: SOMEONE });
    assert.match(
      (await warnings(read(TOKEN_PROGRAM_ADDRESS, data))).join(),
      new RegExp(`freeze authority, ${SOMEONE},`),
    );
  });
});

describe('readMint, for an account that is not a mint,', () => {
  it('rejects a missing account', async () => {
    assert.equal(await reasonOf(readMint({ accounts: async () => [null] }, MINT)), 'does not exist on this cluster.');
  });

  it('rejects an account of another program', async () => {
    assert.match(
      await reasonOf(read(SYSTEM_PROGRAM, new Uint8Array())),
      /is not a mint: it belongs to the program 1{32}/,
    );
  });

  it('rejects an account that is not initialized', async () => {
    assert.equal(await reasonOf(read(TOKEN_PROGRAM_ADDRESS, new Uint8Array(82))), 'is not initialized.');
    assert.equal(await reasonOf(read(TOKEN_2022_PROGRAM_ADDRESS, new Uint8Array(82))), 'is not initialized.');
  });

  it('rejects a token account of either program', async () => {
    const token = {
      mint: MINT,
      owner: SOMEONE,
      amount: 1n,
      delegate: null,
      state: AccountState.Initialized,
      isNative: null,
      delegatedAmount: 0n,
      closeAuthority: null,
    };
    assert.match(await reasonOf(read(TOKEN_PROGRAM_ADDRESS, getTokenEncoder().encode(token))), /is not a mint/);
    const extensions = [extension('ImmutableOwner', {})];
    const data = getToken2022Encoder().encode({ ...token, extensions });
    assert.match(await reasonOf(read(TOKEN_2022_PROGRAM_ADDRESS, data)), /is not a mint/);
    assert.match(await reasonOf(read(TOKEN_2022_PROGRAM_ADDRESS, data.slice(0, 165))), /is not a mint/);
  });
});

describe('readMint, for Token-2022 extensions that it rejects,', () => {
  const rejected: [string, ExtensionArgs, RegExp][] = [
    [
      'an active transfer hook',
      extension('TransferHook', { authority: SYSTEM_PROGRAM, programId: SOMEONE }),
      /transfer hook/,
    ],
    ['non-transferable tokens', extension('NonTransferable', {}), /non-transferable/],
    [
      'accounts frozen by default',
      extension('DefaultAccountState', { state: AccountState.Frozen }),
      /freezes new token accounts/,
    ],
    ['a fee in this epoch', fees(NO_FEE, { ...NO_FEE, transferFeeBasisPoints: 25 }), /fee of 25 basis points/],
    [
      'a fee that ends in the next epoch',
      fees({ ...NO_FEE, transferFeeBasisPoints: 300 }, NO_FEE),
      /fee of 300 basis points/,
    ],
    ['a paused mint', extension('PausableConfig', { authority: SOMEONE, paused: true }), /is paused/],
    ['permissioned burns', extension('PermissionedBurn', { authority: SOMEONE }), /burns only with the signature/],
    [
      'confidential burns',
      extension('ConfidentialMintBurn', {
        confidentialSupply: new Uint8Array(64),
        decryptableSupply: new Uint8Array(36),
        supplyElgamalPubkey: SOMEONE,
        pendingBurn: new Uint8Array(64),
      }),
      /plain burns are refused/,
    ],
  ];
  for (const [name, extensionArgs, words] of rejected) {
    it(`rejects ${name}`, async () => {
      assert.match(await reasonOf(read2022(extensionArgs)), words);
    });
  }

  it('rejects an unknown extension', async () => {
    const known = getMint2022Encoder().encode({ ...FIELDS, extensions: [] });
    const unknown = Uint8Array.of(...known, 0xe7, 0x03, 0, 0); // extension type 999, no bytes
    assert.match(
      await reasonOf(read(TOKEN_2022_PROGRAM_ADDRESS, unknown)),
      /has an extension that this service does not know/,
    );
  });

  it('gives every reason', async () => {
    const found = read2022(
      extension('NonTransferable', {}),
      extension('PausableConfig', { authority: SOMEONE, paused: true }),
    );
    assert.match(await reasonOf(found), /^is non-transferable: .* It is paused: /);
  });
});

describe('readMint, for other Token-2022 extensions,', () => {
  const warned: [string, ExtensionArgs, RegExp][] = [
    ['a permanent delegate', extension('PermanentDelegate', { delegate: SOMEONE }), /permanent delegate Sysvar/],
    [
      'a hook that can be set later',
      extension('TransferHook', { authority: SOMEONE, programId: SYSTEM_PROGRAM }),
      /set a transfer hook/,
    ],
    ['a fee that can be set later', fees(NO_FEE, NO_FEE), /set a transfer fee/],
    [
      'a pause that can be set later',
      extension('PausableConfig', { authority: SOMEONE, paused: false }),
      /can pause it/,
    ],
    [
      'scaled amounts',
      extension('ScaledUiAmountConfig', {
        authority: SOMEONE,
        multiplier: 2,
        newMultiplierEffectiveTimestamp: 0n,
        newMultiplier: 2,
      }),
      /scaled amounts/,
    ],
  ];
  for (const [name, extensionArgs, words] of warned) {
    it(`warns of ${name}`, async () => {
      const found = await warnings(read2022(extensionArgs));
      assert.equal(found.length, 1);
      assert.match(found.join(), words);
    });
  }

  it('ignores those that change nothing', async () => {
    const harmless = [
      extension('MintCloseAuthority', { closeAuthority: SOMEONE }),
      extension('DefaultAccountState', { state: AccountState.Initialized }),
      extension('TransferHook', { authority: SYSTEM_PROGRAM, programId: SYSTEM_PROGRAM }),
      extension('PermanentDelegate', { delegate: SYSTEM_PROGRAM }),
      extension('PermissionedBurn', { authority: null }),
    ];
    assert.deepEqual(await warnings(read2022(...harmless)), []);
  });
});

function fees(older: typeof NO_FEE, newer: typeof NO_FEE): ExtensionArgs {
  return extension('TransferFeeConfig', {
    transferFeeConfigAuthority: SOMEONE,
    withdrawWithheldAuthority: SOMEONE,
    withheldAmount: 0n,
    olderTransferFee: older,
    newerTransferFee: newer,
  });
}
