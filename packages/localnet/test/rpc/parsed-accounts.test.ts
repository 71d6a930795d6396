import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Address, address, generateKeyPairSigner, getAddressEncoder, getBase58Decoder } from '@solana/kit';
import { getMultisigEncoder, TOKEN_PROGRAM_ADDRESS } from '@solana-program/token';
import { AccountState, getMintEncoder, getTokenEncoder, TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022';
import { type Localnet, startLocalnet } from '../../src/index.ts';
import { useCluster } from '../cluster.ts';

const STAKE_PROGRAM = address('Stake11111111111111111111111111111111111111');
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
    const signers = addresses.slice(2, 4);
    assert.deepEqual(program, 'spl-token');
    assert.deepEqual(parsed, { type: 'multisig', info: { numRequiredSigners: 1, numValidSigners: 2, signers } });
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

function mintBytes(authority: Address): Uint8Array {
  const fee = { epoch: 1n, maximumFee: 100n, transferFeeBasisPoints: 50 };
  return new Uint8Array(
    getMintEncoder().encode({
      mintAuthority: authority,
      supply: 5n,
      decimals: 2,
      isInitialized: true,
      freezeAuthority: null,
      extensions: [
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

function tokenBytes(mint: Address, owner: Address): Uint8Array {
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
      extensions: [{ __kind: 'ImmutableOwner' }, { __kind: 'MemoTransfer', requireIncomingTransferMemos: true }],
    }),
  );
}

/** A delegated stake: tag, rent, authorities, lockup, delegation, credits. */
function stakeBytes(one: Address, two: Address): Uint8Array {
  const key = { encode: (value: Address) => new Uint8Array(getAddressEncoder().encode(value)) };
  return Buffer.concat([
    Buffer.of(2, 0, 0, 0),
    u64(42n),
    key.encode(one),
    key.encode(two),
    u64(U64_MAX),
    u64(3n),
    key.encode(one),
    key.encode(two),
    u64(20n),
    u64(2n),
    u64(U64_MAX),
    u64(0n),
    u64(10n),
  ]);
}

function configBytes(validator: Address): Uint8Array {
  const key = { encode: (value: Address) => new Uint8Array(getAddressEncoder().encode(value)) };
  const text = Buffer.from('{"name":"Solana"}');
  const keys = [key.encode(VALIDATOR_INFO), Buffer.of(0), key.encode(validator), Buffer.of(1)];
  return Buffer.concat([Buffer.of(2), ...keys, u64(BigInt(text.length)), text]);
}

function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}
