import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type Address,
  address,
  generateKeyPairSigner,
  getAddressEncoder,
  getBase58Decoder,
  lamports,
  type ReadonlyUint8Array,
} from '@solana/kit';
import { ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS } from '@solana-program/address-lookup-table';
import { getNonceEncoder, NonceState, NonceVersion, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { getMultisigEncoder, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import {
  AccountState,
  type ExtensionArgs,
  getMintEncoder,
  getTokenEncoder,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022';
import { parseAccount } from '../../src/encoding/account-parsing.ts';
import { parseNativeAccount } from '../../src/encoding/native-account-parsing.ts';
import { parseExtensions } from '../../src/encoding/token-extensions.ts';
import { type Localnet, startLocalnet } from '../../src/index.ts';
import { useCluster } from '../cluster.ts';

const STAKE_PROGRAM = address('Stake11111111111111111111111111111111111111');
const VOTE_PROGRAM = address('Vote111111111111111111111111111111111111111');
const NO_ADDRESS = address('11111111111111111111111111111111');
const CONFIG_PROGRAM = address('Config1111111111111111111111111111111111111');
const VALIDATOR_INFO = address('Va1idator1nfo111111111111111111111111111111');
const TOKEN_PROGRAM_DATA_OWNER = 'BPFLoaderUpgradeab1e11111111111111111111111';
const U64_MAX = 18_446_744_073_709_551_615n;

describe('jsonParsed', () => {
  const addresses: Address[] = [];
  let localnet: Localnet;
  let directory: string;
  const written: Record<string, { readonly owner: Address; readonly data: Uint8Array; readonly address: Address }> = {};

  before(async () => {
    for (let count = 0; count < 12; count++) addresses.push((await generateKeyPairSigner()).address);
    const [one, two, mint, token, stake, config, multisig, garbage] = addresses.slice(2);
    assert.ok(one && two && mint && token && stake && config && multisig && garbage);
    Object.assign(written, {
      multisig: { address: multisig, owner: TOKEN_PROGRAM_ADDRESS, data: multisigBytes([one, two]) },
      mint: { address: mint, owner: TOKEN_2022_PROGRAM_ADDRESS, data: mintBytes(one) },
      token: { address: token, owner: TOKEN_2022_PROGRAM_ADDRESS, data: tokenBytes(mint, two) },
      stake: { address: stake, owner: STAKE_PROGRAM, data: stakeBytes(one, two) },
      config: { address: config, owner: CONFIG_PROGRAM, data: configBytes(one) },
      garbage: { address: garbage, owner: STAKE_PROGRAM, data: Uint8Array.of(2, 0, 0, 0, 1) },
    });
    directory = await mkdtemp(join(tmpdir(), 'flywheel-localnet-'));
    for (const { address: pubkey, owner, data } of Object.values(written)) {
      const account = { lamports: 10_000_000, data: [Buffer.from(data).toString('base64'), 'base64'], owner };
      const content = { pubkey, account: { ...account, executable: false } };
      await writeFile(join(directory, `${pubkey}.json`), JSON.stringify(content));
    }
    localnet = await startLocalnet({
      slotMs: 0,
      squadsProgram: 'emulation',
      genesis: { accountDirectories: [directory] },
    });
  });

  after(async () => {
    await localnet.stop();
    await rm(directory, { recursive: true });
  });

  const read = async (target: Address | undefined) => {
    const { result } = await useCluster(localnet).call('getAccountInfo', [target, { encoding: 'jsonParsed' }]);
    return (result as { value: { owner: string; data: { program: string; parsed: unknown } } }).value; // its shape
  };

  test('shows a multisig of the token program', async () => {
    const { program, parsed } = (await read(written.multisig?.address)).data;
    assert.deepEqual(program, 'spl-token');
    const info = { numRequiredSigners: 1, numValidSigners: 2, isInitialized: true, signers: addresses.slice(2, 4) };
    assert.deepEqual(parsed, { type: 'multisig', info });
  });

  test('shows the extensions of Token-2022 mints and accounts', async () => {
    const fee = { epoch: 1, maximumFee: 100, transferFeeBasisPoints: 50 };
    assert.partialDeepStrictEqual((await read(written.mint?.address)).data.parsed, {
      type: 'mint',
      info: {
        extensions: [
          {
            extension: 'transferFeeConfig',
            state: {
              transferFeeConfigAuthority: addresses[2],
              withdrawWithheldAuthority: null,
              withheldAmount: 7,
              olderTransferFee: fee,
              newerTransferFee: { ...fee, epoch: 2 },
            },
          },
          { extension: 'defaultAccountState', state: { accountState: 'frozen' } },
          { extension: 'metadataPointer', state: { authority: null, metadataAddress: addresses[2] } },
          { extension: 'nonTransferable' },
        ],
      },
    });
    assert.partialDeepStrictEqual((await read(written.token?.address)).data.parsed, {
      type: 'account',
      info: { extensions: [{ extension: 'immutableOwner' }, { extension: 'memoTransfer' }] },
    });
  });

  test('shows the authority and the value of a nonce, and nothing of one that no decoder reads', () => {
    const [nonce, authority, blockhash] = addresses;
    assert.ok(nonce && authority && blockhash);
    const parse = (programAddress: Address, data: Uint8Array) =>
      parseAccount(
        { address: nonce, data, programAddress, executable: false, lamports: lamports(1n), space: BigInt(data.length) },
        (missing) => ({ address: missing, exists: false }),
      );
    const state = NonceState.Initialized;
    const content = { version: NonceVersion.Current, state, authority, blockhash, lamportsPerSignature: 5_000n };
    const bytes = new Uint8Array(getNonceEncoder().encode(content));
    const info = { authority, blockhash, feeCalculator: { lamportsPerSignature: '5000' } };
    const parsed = { type: 'initialized', info };
    assert.deepEqual(parse(SYSTEM_PROGRAM_ADDRESS, bytes), { program: 'nonce', parsed, space: 80 });
    const broken = bytes.map((byte, index) => (index === 4 ? 7 : byte));
    assert.equal(parse(SYSTEM_PROGRAM_ADDRESS, broken), null);
    const table = Uint8Array.of(1, ...new Uint8Array(55));
    assert.deepEqual(parse(ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS, table)?.program, 'address-lookup-table');
    assert.equal(parse(ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS, Uint8Array.of(...table, 1)), null);
    assert.equal(parse(ADDRESS_LOOKUP_TABLE_PROGRAM_ADDRESS, new Uint8Array(56)), null);
  });

  test('shows the confidential extensions of Token-2022 with keys and ciphertexts in base64', () => {
    const [key, cipher, balance] = [addresses[2] ?? NO_ADDRESS, new Uint8Array(64).fill(7), new Uint8Array(36).fill(9)];
    const inBase64 = (bytes: ReadonlyUint8Array) => Buffer.from(bytes).toString('base64');
    const shownKey = inBase64(getAddressEncoder().encode(key));
    const [shownCipher, shownBalance] = [inBase64(cipher), inBase64(balance)];
    const counters = {
      pendingBalanceCreditCounter: 1n,
      maximumPendingBalanceCreditCounter: 65_536n,
      expectedPendingBalanceCreditCounter: 2n,
      actualPendingBalanceCreditCounter: 3n,
    };
    const flags = { approved: true, allowConfidentialCredits: true, allowNonConfidentialCredits: false };
    const account: ExtensionArgs[] = [
      {
        ...{ __kind: 'ConfidentialTransferAccount', elgamalPubkey: key, ...flags, ...counters },
        ...{ pendingBalanceLow: cipher, pendingBalanceHigh: cipher, availableBalance: cipher },
        decryptableAvailableBalance: balance,
      },
      { __kind: 'ConfidentialTransferFeeAmount', withheldAmount: cipher },
    ];
    assert.deepEqual(parseExtensions(tokenBytes(key, key, account)), [
      {
        extension: 'confidentialTransferAccount',
        state: {
          ...{ elgamalPubkey: shownKey, ...flags, ...counters },
          ...{ pendingBalanceLo: shownCipher, pendingBalanceHi: shownCipher, availableBalance: shownCipher },
          decryptableAvailableBalance: shownBalance,
        },
      },
      { extension: 'confidentialTransferFeeAmount', state: { withheldAmount: shownCipher } },
    ]);
    const mint: ExtensionArgs[] = [
      { __kind: 'ConfidentialTransferMint', authority: key, autoApproveNewAccounts: true, auditorElgamalPubkey: key },
      { __kind: 'ConfidentialTransferMint', authority: null, autoApproveNewAccounts: true, auditorElgamalPubkey: null },
      {
        ...{ __kind: 'ConfidentialTransferFee', authority: key, elgamalPubkey: key },
        ...{ harvestToMintEnabled: true, withheldAmount: cipher },
      },
      {
        ...{ __kind: 'ConfidentialMintBurn', confidentialSupply: cipher, decryptableSupply: balance },
        ...{ supplyElgamalPubkey: key, pendingBurn: cipher },
      },
    ];
    assert.deepEqual(parseExtensions(mintBytes(key, mint)), [
      {
        extension: 'confidentialTransferMint',
        state: { authority: key, autoApproveNewAccounts: true, auditorElgamalPubkey: shownKey },
      },
      {
        extension: 'confidentialTransferMint',
        state: { authority: null, autoApproveNewAccounts: true, auditorElgamalPubkey: null },
      },
      {
        extension: 'confidentialTransferFeeConfig',
        state: {
          ...{ authority: key, withdrawWithheldAuthorityElgamalPubkey: shownKey },
          ...{ harvestToMintEnabled: true, withheldAmount: shownCipher },
        },
      },
      {
        extension: 'confidentialMintBurn',
        state: {
          ...{ confidentialSupply: shownCipher, decryptableSupply: shownBalance },
          ...{ supplyElgamalPubkey: shownKey, pendingBurn: shownCipher },
        },
      },
    ]);
  });

  test('shows vote accounts of every version', () => {
    const [node = NO_ADDRESS, voter = NO_ADDRESS] = addresses.slice(2);
    for (const tag of [0, 1, 2, 3]) {
      const data = voteBytes(tag, node, voter);
      const account = { address: node, programAddress: VOTE_PROGRAM, data, executable: false } as const;
      const priorVoters = [{ authorizedPubkey: node, epochOfLastAuthorizedSwitch: 1n, targetEpoch: 2n }];
      const parsed = parseNativeAccount({ ...account, lamports: lamports(1n), space: BigInt(data.length) });
      assert.deepEqual(
        parsed,
        {
          program: 'vote',
          parsed: {
            type: 'vote',
            info: {
              ...{ nodePubkey: node, authorizedWithdrawer: voter, commission: 7, rootSlot: 5n },
              votes: [{ slot: 6n, confirmationCount: 31 }],
              authorizedVoters: [{ epoch: 3n, authorizedVoter: voter }],
              priorVoters: tag === 3 ? [] : priorVoters,
              epochCredits: [{ epoch: 3n, credits: '20', previousCredits: '10' }],
              lastTimestamp: { slot: 6n, timestamp: -1n },
            },
          },
          space: data.length,
        },
        `version ${tag}`,
      );
      const short = { ...account, data: data.subarray(0, -1), lamports: lamports(1n), space: BigInt(data.length - 1) };
      assert.equal(parseNativeAccount(short), null, 'the bytes end too early');
    }
  });

  test('shows a delegated stake', async () => {
    const [one, two] = addresses.slice(2);
    const { program, parsed } = (await read(written.stake?.address)).data;
    assert.equal(program, 'stake');
    assert.deepEqual(parsed, {
      type: 'delegated',
      info: {
        meta: {
          rentExemptReserve: '42',
          authorized: { staker: one, withdrawer: two },
          lockup: { unixTimestamp: -1, epoch: 3, custodian: one },
        },
        stake: {
          delegation: { voter: two, stake: '20', activationEpoch: '2', deactivationEpoch: String(U64_MAX) },
          creditsObserved: 10,
        },
      },
    });
  });

  test('shows what a validator says of itself', async () => {
    const { program, parsed } = (await read(written.config?.address)).data;
    assert.equal(program, 'config');
    const keys = [
      { pubkey: VALIDATOR_INFO, signer: false },
      { pubkey: addresses[2], signer: true },
    ];
    assert.deepEqual(parsed, { type: 'validatorInfo', info: { keys, configData: { name: 'Solana' } } });
  });

  test('shows programs of the upgradeable loader and their code', async () => {
    const program = await read(TOKEN_PROGRAM_ADDRESS);
    assert.equal(program.owner, TOKEN_PROGRAM_DATA_OWNER);
    const { parsed } = program.data;
    const { programData } = (parsed as { info: { programData: Address } }).info; // its shape
    const { data } = await read(programData);
    assert.partialDeepStrictEqual(data, { program: 'bpf-upgradeable-loader', parsed: { type: 'programData' } });
  });

  test('shows every sysvar', async () => {
    for (const [name, type] of [
      ['SysvarC1ock11111111111111111111111111111111', 'clock'],
      ['SysvarEpochSchedu1e111111111111111111111111', 'epochSchedule'],
      ['SysvarFees111111111111111111111111111111111', 'fees'],
      ['SysvarRecentB1ockHashes11111111111111111111', 'recentBlockhashes'],
      ['SysvarRent111111111111111111111111111111111', 'rent'],
      ['SysvarS1otHashes111111111111111111111111111', 'slotHashes'],
      ['SysvarS1otHistory11111111111111111111111111', 'slotHistory'],
      ['SysvarStakeHistory1111111111111111111111111', 'stakeHistory'],
      ['SysvarLastRestartS1ot1111111111111111111111', 'lastRestartSlot'],
      ['SysvarEpochRewards1111111111111111111111111', 'epochRewards'],
    ] as const) {
      assert.partialDeepStrictEqual(await read(address(name)), { data: { program: 'sysvar', parsed: { type } } }, name);
    }
  });

  test('shows what cannot be read as base64', async () => {
    assert.deepEqual((await read(written.garbage?.address)).data, ['AgAAAAE=', 'base64']);
  });
});

function multisigBytes(signers: readonly Address[]): Uint8Array {
  const none = getBase58Decoder().decode(new Uint8Array(32)) as Address; // 32 bytes
  const all = Array.from({ length: 11 }, (_, index) => signers[index] ?? none);
  return new Uint8Array(getMultisigEncoder().encode({ m: 1, n: signers.length, isInitialized: true, signers: all }));
}

function mintBytes(authority: Address, extensions?: ExtensionArgs[]): Uint8Array {
  const fee = { epoch: 1n, maximumFee: 100n, transferFeeBasisPoints: 50 };
  return new Uint8Array(
    getMintEncoder().encode({
      mintAuthority: authority,
      supply: 5n,
      decimals: 2,
      isInitialized: true,
      freezeAuthority: null,
      extensions: extensions ?? [
        {
          __kind: 'TransferFeeConfig',
          transferFeeConfigAuthority: authority,
          withdrawWithheldAuthority: address('11111111111111111111111111111111'),
          withheldAmount: 7n,
          olderTransferFee: fee,
          newerTransferFee: { ...fee, epoch: 2n },
        },
        { __kind: 'DefaultAccountState', state: AccountState.Frozen },
        { __kind: 'MetadataPointer', authority: null, metadataAddress: authority },
        { __kind: 'NonTransferable' },
      ],
    }),
  );
}

function tokenBytes(mint: Address, owner: Address, extensions?: ExtensionArgs[]): Uint8Array {
  return new Uint8Array(
    getTokenEncoder().encode({
      mint,
      owner,
      amount: 5n,
      delegate: null,
      state: AccountState.Initialized,
      isNative: null,
      delegatedAmount: 0n,
      closeAuthority: null,
      extensions: extensions ?? [
        { __kind: 'ImmutableOwner' },
        { __kind: 'MemoTransfer', requireIncomingTransferMemos: true },
      ],
    }),
  );
}

/** A delegated stake: tag, rent, authorities, lockup, delegation, credits. */
function stakeBytes(one: Address, two: Address): Uint8Array {
  const authorities = [key(one), key(two)];
  return Buffer.concat([
    ...[Buffer.of(2, 0, 0, 0), u64(42n), ...authorities],
    ...[u64(U64_MAX), u64(3n), ...authorities],
    ...[u64(20n), u64(2n), u64(U64_MAX), u64(0n), u64(10n)],
  ]);
}

/** A vote account with one entry in each list; the fields of the versions stand in different places. */
function voteBytes(tag: number, node: Address, voter: Address): Uint8Array {
  const prior = [key(node), u64(1n), u64(2n), ...(tag === 0 ? [u64(9n)] : [])];
  const ring = [...prior, Buffer.alloc(31 * (tag === 0 ? 56 : 48)), u64(0n), Buffer.alloc(tag === 0 ? 0 : 1)];
  const shares = [
    key(node),
    key(node),
    Buffer.of(0xbc, 2),
    Buffer.of(0, 1),
    u64(8n),
    Buffer.of(1),
    Buffer.alloc(48, 3),
  ];
  return Buffer.concat([
    ...[Buffer.of(tag, 0, 0, 0), key(node)],
    ...(tag === 0 ? [key(voter), u64(3n), ...ring] : []),
    key(voter),
    ...(tag === 3 ? shares : [Buffer.of(7)]),
    ...[u64(1n), Buffer.alloc(tag >= 2 ? 1 : 0, 1), u64(6n), Buffer.of(31, 0, 0, 0)],
    ...[Buffer.of(1), u64(5n)],
    ...(tag === 0 ? [] : [u64(1n), u64(3n), key(voter)]),
    ...(tag === 1 || tag === 2 ? ring : []),
    ...[u64(1n), u64(3n), u64(20n), u64(10n)],
    ...[u64(6n), u64(U64_MAX)],
  ]);
}

function configBytes(validator: Address): Uint8Array {
  const text = Buffer.from('{"name":"Solana"}');
  const keys = [key(VALIDATOR_INFO), Buffer.of(0), key(validator), Buffer.of(1)];
  return Buffer.concat([Buffer.of(2), ...keys, u64(BigInt(text.length)), text]);
}

function key(value: Address): Uint8Array {
  return new Uint8Array(getAddressEncoder().encode(value));
}

function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}
