import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AccountMeta, AccountRole, type Address, type Instruction, isSignerRole } from '@solana/kit';
import fc from 'fast-check';
import {
  compileVaultMessage,
  decodeVaultMessage,
  encodeVaultMessage,
  vaultBatchTransactionBytes,
  vaultMessageAccounts,
  vaultMessageSize,
  vaultTransactionMatches,
} from '../src/index.ts';
import { addressOf } from './values.ts';

const VAULT = addressOf(1);
const TABLES = [
  { address: addressOf(2), addresses: [VAULT, ...[3, 4, 5, 6].map(addressOf)] },
  { address: addressOf(20), addresses: [7, 8].map(addressOf) },
];
const CONTEXT = { vault: VAULT, lookupTables: TABLES };

const role = fc.constantFrom(AccountRole.READONLY, AccountRole.WRITABLE);
const account = fc.oneof(
  fc.record({ address: fc.integer({ min: 3, max: 12 }).map(addressOf), role }),
  fc.constant({ address: VAULT, role: AccountRole.READONLY_SIGNER }),
);
const instruction = fc.record({
  programAddress: fc.integer({ min: 3, max: 14 }).map(addressOf),
  accounts: fc.array(account, { maxLength: 6 }),
  data: fc.uint8Array({ maxLength: 40 }),
});
const instructions = fc.array(instruction, { minLength: 1, maxLength: 8 });

describe('a vault message', () => {
  it('decodes to the instructions it was compiled from', () => {
    fc.assert(
      fc.property(instructions, (given) => {
        const bytes = compileVaultMessage(given, CONTEXT);
        const message = decodeVaultMessage(bytes);
        // Lookup tables come first among the accounts of an execution; indices count from after them.
        const accounts = vaultMessageAccounts(bytes, CONTEXT).slice(message.addressTableLookups.length);
        const order = inMessageOrder(message.accountKeys, accounts);
        const read = message.instructions.map(({ programIdIndex, accountIndexes, data }) => ({
          programAddress: order[programIdIndex],
          accounts: Array.from(accountIndexes, (index) => order[index]),
          data,
        }));
        const said = given.map(({ programAddress, accounts: metas, data }) => ({
          programAddress,
          accounts: metas.map(({ address }) => address),
          data,
        }));
        assert.deepEqual(read, said);
        for (const { address, role: asked } of given.flatMap(({ accounts: metas }) => metas)) {
          const granted = accounts.find((candidate) => candidate.address === address)?.role;
          if (asked === AccountRole.WRITABLE) assert.equal(granted, AccountRole.WRITABLE);
        }
      }),
    );
  });

  it('passes the vault and all other accounts to the execution as non-signers', () => {
    fc.assert(
      fc.property(instructions, (given) => {
        const accounts = vaultMessageAccounts(compileVaultMessage(given, CONTEXT), CONTEXT);
        assert.ok(accounts.every(({ role: granted }) => !isSignerRole(granted)));
        assert.ok(accounts.some(({ address, role: granted }) => address === VAULT && granted === AccountRole.WRITABLE));
      }),
    );
  });

  it('has the length of vaultMessageSize, and encodes to the bytes it was decoded from', () => {
    fc.assert(
      fc.property(instructions, (given) => {
        const bytes = compileVaultMessage(given, CONTEXT);
        assert.equal(vaultMessageSize(given, CONTEXT), bytes.length);
        assert.deepEqual(encodeVaultMessage(decodeVaultMessage(bytes)), bytes);
      }),
    );
  });

  it('has that length also if its counts exceed one byte', () => {
    const memo: Instruction = { programAddress: addressOf(3), data: new Uint8Array(1) };
    const memos = (count: number) =>
      vaultMessageSize(
        Array.from({ length: count }, () => memo),
        CONTEXT,
      );
    assert.equal(memos(300) - memos(299), 5);
  });

  it('cannot be encoded with more than its counts hold', () => {
    const message = decodeVaultMessage(compileVaultMessage([{ programAddress: addressOf(3) }], CONTEXT));
    const many = { ...message, accountKeys: Array.from({ length: 256 }, () => VAULT) };
    assert.throws(() => encodeVaultMessage(many), /256/);
    const [first] = message.instructions;
    assert.ok(first);
    const long = { ...message, instructions: [{ ...first, data: new Uint8Array(65_536) }] };
    assert.throws(() => encodeVaultMessage(long), /65536/);
  });

  it('cannot be compiled with a signer other than the vault', () => {
    const signing = {
      programAddress: addressOf(3),
      accounts: [{ address: addressOf(4), role: AccountRole.READONLY_SIGNER }],
    };
    assert.throws(() => compileVaultMessage([signing], CONTEXT), /would have to sign a vault message/);
  });

  it('is the one on chain only byte for byte, and if no key of Squads signs it too', () => {
    const bytes = compileVaultMessage([{ programAddress: addressOf(3) }], CONTEXT);
    const other = compileVaultMessage([{ programAddress: addressOf(4) }], CONTEXT);
    const onChain = { bump: 255, ephemeralSignerBumps: new Uint8Array(), message: decodeVaultMessage(bytes) };
    assert.equal(vaultTransactionMatches(onChain, bytes), true);
    assert.equal(vaultTransactionMatches(onChain, other), false);
    assert.equal(vaultTransactionMatches({ ...onChain, ephemeralSignerBumps: Uint8Array.of(255) }, bytes), false);
  });

  it('cannot be decoded or measured with remaining bytes, decoded with an unknown lookup table, or a missing table entry', () => {
    const bytes = compileVaultMessage([{ programAddress: addressOf(3) }], CONTEXT);
    assert.throws(() => decodeVaultMessage(Uint8Array.of(...bytes, 0)), /followed by 1 more/);
    assert.throws(() => vaultBatchTransactionBytes(Uint8Array.of(...bytes, 0)), /followed by 1 more/);
    assert.throws(() => vaultBatchTransactionBytes(bytes.slice(0, -1)), /breaks off/);
    assert.throws(() => vaultMessageAccounts(bytes, { vault: VAULT, lookupTables: [] }), /which is not given/);
    const short = TABLES.map((table) => ({ ...table, addresses: [] }));
    assert.throws(
      () => vaultMessageAccounts(bytes, { vault: VAULT, lookupTables: short }),
      /entry 1 of a lookup table of 0/,
    );
  });
});

/**
 * Orders accounts as the message's indices count them: all looked-up writable accounts before the read-only ones. An
 * execution lists each table's accounts together.
 */
function inMessageOrder(keys: readonly Address[], accounts: readonly AccountMeta[]): Address[] {
  const lookedUp = accounts.slice(keys.length);
  const withRole = (wanted: AccountRole) =>
    lookedUp.filter((meta) => meta.role === wanted).map(({ address }) => address);
  return [...keys, ...withRole(AccountRole.WRITABLE), ...withRole(AccountRole.READONLY)];
}
