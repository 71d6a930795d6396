import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AccountMeta, type Address, isSignerRole, isWritableRole, type ReadonlyUint8Array } from '@solana/kit';
import { PublicKey, SystemProgram, type TransactionInstruction } from '@solana/web3.js';
import * as sqds from '@sqds/multisig';
import BN from 'bn.js';
import fc from 'fast-check';
import * as squads from '../src/index.ts';
import {
  accounts,
  anyAddress,
  bytes,
  configAction,
  member,
  memo,
  optionalAddress,
  record,
  u8,
  u16,
  u32,
  u64,
  vaultMessage,
} from './values.ts';

// Compares everything of the package with the library of Squads' authors, byte for byte.

describe('addresses of the package', () => {
  const index = fc.bigInt({ min: 0n, max: 2n ** 53n - 1n });

  it('equal those of @sqds/multisig', async () => {
    assert.equal(squads.SQUADS_PROGRAM_ADDRESS, sqds.PROGRAM_ADDRESS);
    assert.equal(squads.programConfigAddress(), String(sqds.getProgramConfigPda({})[0]));
    await fc.assert(
      fc.asyncProperty(anyAddress, u8, index, u16, async (key, vaultIndex, transactionIndex, position) => {
        const multisigPda = new PublicKey(key);
        const ours = await Promise.all([
          squads.multisigAddress(key),
          squads.vaultAddress(key, vaultIndex),
          squads.transactionAddress(key, transactionIndex),
          squads.proposalAddress(key, transactionIndex),
          squads.batchTransactionAddress(key, transactionIndex, position),
        ]);
        const batchTransaction = { multisigPda, batchIndex: transactionIndex, transactionIndex: position + 1 };
        const theirs = [
          sqds.getMultisigPda({ createKey: multisigPda }),
          sqds.getVaultPda({ multisigPda, index: vaultIndex }),
          sqds.getTransactionPda({ multisigPda, index: transactionIndex }),
          sqds.getProposalPda({ multisigPda, transactionIndex }),
          sqds.getBatchTransactionPda(batchTransaction),
        ].map(([pda]) => pda.toBase58());
        assert.deepEqual(ours, theirs);
      }),
      { numRuns: 25 },
    );
  });

  it('of ephemeral signers have the seeds of @sqds/multisig', () => {
    fc.assert(
      fc.property(anyAddress, u8, (key, ephemeralSignerIndex) => {
        const seeds = squads.ephemeralSignerSeeds(key, ephemeralSignerIndex).map((seed) => Buffer.from(seed));
        const [ours] = PublicKey.findProgramAddressSync(seeds, sqds.PROGRAM_ID);
        const [theirs] = sqds.getEphemeralSignerPda({ transactionPda: new PublicKey(key), ephemeralSignerIndex });
        assert.equal(ours.toBase58(), theirs.toBase58());
      }),
      { numRuns: 25 },
    );
  });
});

describe('account layouts of the package', () => {
  for (const [name, values] of Object.entries(accounts)) {
    it(`encode and decode ${name} as @sqds/multisig does`, () => {
      const theirs = memberOf<{ fromArgs(value: unknown): { serialize(): [Buffer] } }>(sqds.accounts, name);
      const decode = memberOf<(account: squads.AccountBytes) => unknown>(squads, `decode${name}`);
      const encoder = memberOf<{ encode(value: unknown): ReadonlyUint8Array }>(squads, `${camel(name)}Encoder`);
      const discriminator = memberOf<ReadonlyUint8Array>(squads, `${constant(name)}_DISCRIMINATOR`);
      fc.assert(
        fc.property(values as fc.Arbitrary<object>, anyAddress, (value, address) => {
          const data = new Uint8Array(theirs.fromArgs(toBeet(value)).serialize()[0]);
          assert.deepEqual(Uint8Array.of(...discriminator, ...encoder.encode(value)), data);
          assert.deepEqual(decode({ address, programAddress: squads.SQUADS_PROGRAM_ADDRESS, data }), value);
        }),
      );
    });
  }

  it('state the size of every account', () => {
    fc.assert(
      fc.property(
        accounts.Multisig,
        accounts.VaultBatchTransaction,
        accounts.ConfigTransaction,
        (multisig, vbt, config) => {
          const { message, ephemeralSignerBumps } = vbt;
          const keys = multisig.members.map(({ key }) => new PublicKey(key));
          const size = (name: string, value: object) =>
            memberOf<{ fromArgs(value: unknown): { serialize(): [Buffer] } }>(sqds.accounts, name)
              .fromArgs(toBeet(value))
              .serialize()[0].length;
          // The program keeps space for a rent collector and for every member's vote.
          const rentCollector = multisig.createKey;
          assert.equal(squads.multisigBytes(keys.length), size('Multisig', { ...multisig, rentCollector }));
          const status = { __kind: 'Active', timestamp: 0n };
          const approved = multisig.members.map(({ key }) => key);
          const proposal = { multisig: rentCollector, transactionIndex: 1n, bump: 0, status };
          const full = { ...proposal, approved, rejected: approved, cancelled: approved };
          assert.equal(squads.proposalBytes(keys.length), size('Proposal', full));
          const bumps = ephemeralSignerBumps.length;
          const bytes = squads.encodeVaultMessage(message);
          assert.equal(squads.vaultBatchTransactionBytes(bytes) + bumps, size('VaultBatchTransaction', vbt));
          const actions = config.actions as squads.ConfigAction[];
          assert.equal(squads.configTransactionBytes(actions), size('ConfigTransaction', config));
        },
      ),
    );
    assert.equal(squads.batchBytes(), sqds.accounts.Batch.byteSize);
  });

  it('reject accounts of other programs, of other kinds and with too few bytes', () => {
    const [address, programAddress] = [squads.SQUADS_PROGRAM_ADDRESS, squads.SQUADS_PROGRAM_ADDRESS];
    const data = Uint8Array.of(...squads.BATCH_DISCRIMINATOR, 1, 2, 3);
    const stranger = '11111111111111111111111111111111' as Address;
    assert.throws(() => squads.decodeBatch({ address, programAddress: stranger, data }), /is owned by/);
    assert.throws(() => squads.decodeMultisig({ address, programAddress, data }), /is not a Squads Multisig/);
    assert.throws(() => squads.decodeBatch({ address, programAddress, data }), /too short or malformed \(11 bytes\)/);
  });
});

describe('instructions of the package', () => {
  const config = ['multisig', 'configAuthority', 'rentPayer?'];
  const create = (subject: string) => ['multisig', subject, 'creator', 'rentPayer'];
  const vote = ['multisig', 'member', 'proposal'];
  const instructions: Readonly<Record<string, readonly [readonly string[], Record<string, fc.Arbitrary<unknown>>]>> = {
    MultisigCreateV2: [
      ['programConfig', 'treasury', 'multisig', 'createKey', 'creator'],
      {
        configAuthority: optionalAddress,
        threshold: u16,
        members: fc.array(member, { maxLength: 4 }),
        timeLock: u32,
        rentCollector: optionalAddress,
        memo,
      },
    ],
    MultisigAddMember: [config, { newMember: member, memo }],
    MultisigRemoveMember: [config, { oldMember: anyAddress, memo }],
    MultisigChangeThreshold: [config, { newThreshold: u16, memo }],
    MultisigSetTimeLock: [config, { timeLock: u32, memo }],
    ConfigTransactionCreate: [create('transaction'), { actions: fc.array(configAction, { maxLength: 3 }), memo }],
    ConfigTransactionExecute: [['multisig', 'member', 'proposal', 'transaction', 'rentPayer?'], {}],
    ConfigTransactionAccountsClose: [['multisig', 'proposal', 'transaction', 'rentCollector'], {}],
    BatchCreate: [create('batch'), { vaultIndex: u8, memo }],
    BatchAddTransaction: [
      ['multisig', 'proposal', 'batch', 'transaction', 'member', 'rentPayer'],
      { ephemeralSigners: u8, transactionMessage: bytes },
    ],
    BatchExecuteTransaction: [['multisig', 'member', 'proposal', 'batch', 'transaction'], {}],
    BatchAccountsClose: [['multisig', 'proposal', 'batch', 'rentCollector'], {}],
    VaultBatchTransactionAccountClose: [['multisig', 'proposal', 'batch', 'transaction', 'rentCollector'], {}],
    ProposalCreate: [create('proposal'), { transactionIndex: u64, draft: fc.boolean() }],
    ProposalActivate: [vote, {}],
    ProposalApprove: [vote, { memo }],
    ProposalReject: [vote, { memo }],
    ProposalCancel: [vote, { memo }],
    ProposalCancelV2: [vote, { memo }],
  };

  for (const [name, [accountNames, args]] of Object.entries(instructions)) {
    it(`build ${name} as @sqds/multisig does`, () => {
      const ours = memberOf<(input: unknown) => squads.SquadsInstruction>(squads, `get${name}Instruction`);
      const theirs = memberOf<(keys: object, ...args: object[]) => TransactionInstruction>(
        sqds.generated,
        `create${name}Instruction`,
      );
      const accountValues = Object.fromEntries(
        accountNames.map((account) => [account.replace('?', ''), account.endsWith('?') ? optionalAddress : anyAddress]),
      );
      fc.assert(
        fc.property(record(accountValues), record(args), (named, values) => {
          const built = ours({ ...named, ...values });
          const expected = theirs(keysOf(named), ...(Object.keys(args).length > 0 ? [{ args: toBeet(values) }] : []));
          assert.equal(built.programAddress, expected.programId.toBase58());
          assert.deepEqual(new Uint8Array(built.data), new Uint8Array(expected.data));
          assert.deepEqual(
            built.accounts.map(plainMeta),
            expected.keys.map((meta) => ({ ...meta, pubkey: meta.pubkey.toBase58() })),
          );
        }),
      );
    });
  }

  it('are all compared here', () => {
    const exported = Object.keys(squads).flatMap((name) => /^get(\w+)Instruction$/.exec(name)?.[1] ?? []);
    assert.deepEqual(exported.toSorted(), Object.keys(instructions).toSorted());
  });
});

describe('a vault message', () => {
  it('has the bytes of @sqds/multisig in its instruction form', () => {
    fc.assert(
      fc.property(vaultMessage, (message) => {
        const [theirs] = sqds.types.transactionMessageBeet.serialize(toBeet(message, 'array') as never);
        const ours = squads.encodeVaultMessage(message);
        assert.deepEqual(ours, new Uint8Array(theirs));
        assert.deepEqual(squads.decodeVaultMessage(ours), message);
      }),
    );
  });
});

/** Reads a member by its computed name, which must exist. */
function memberOf<T>(library: object, name: string): T {
  const found: unknown = Reflect.get(library, name);
  assert.ok(found, `There is no ${name}.`);
  return found as T;
}

/** Collects accounts by their names, which `ProposalCancelV2` prefixes. */
function keysOf(accountsByName: Readonly<Record<string, unknown>>): object {
  const present = Object.entries(accountsByName).filter(([, address]) => address !== null);
  const keys = Object.fromEntries(present.map(([name, address]) => [name, toBeet(address)]));
  const prefixed = Object.entries(keys).map(([name, key]) => [
    `proposalVoteItem${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    key,
  ]);
  return { ...keys, ...Object.fromEntries(prefixed), systemProgram: SystemProgram.programId };
}

/** Converts values to those of beet: keys for addresses, strings for memos, objects like BN for bigints. */
function toBeet(value: unknown, byteLists: 'bytes' | 'array' = 'bytes', name = ''): unknown {
  if (typeof value === 'bigint') return toBn(value);
  if (typeof value === 'string') return name === '__kind' ? value : new PublicKey(value);
  if (name === 'memo' && value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (name === 'period') return PERIODS.indexOf((value as { __kind: string }).__kind);
  if (name === 'reserved' || (byteLists === 'array' && name.endsWith('Indexes'))) return [...(value as Uint8Array)];
  if (byteLists === 'array' && name === 'data') return [...(value as Uint8Array)];
  if (value instanceof Uint8Array || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => toBeet(each, byteLists));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toBeet(each, byteLists, key)]));
}

const PERIODS = ['OneTime', 'Day', 'Week', 'Month'];

function toBn(value: bigint): BN {
  return new BN(value.toString());
}

function plainMeta({ address, role }: AccountMeta): object {
  return { pubkey: address, isSigner: isSignerRole(role), isWritable: isWritableRole(role) };
}

function camel(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

function constant(name: string): string {
  return name.replaceAll(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
