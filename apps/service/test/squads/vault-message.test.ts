import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AccountRole, type Address, getAddressDecoder, type Instruction, isSignerRole } from '@solana/kit';
import fc from 'fast-check';
import {
  compileVaultMessage,
  decodeVaultMessage,
  encodeVaultMessage,
  vaultMessageAccounts,
  vaultMessageSize,
} from '../../src/squads/vault-message.ts';

const VAULT = addressOf(1);
const MULTISIG = {
  vault: VAULT,
  lookupTable: { address: addressOf(2), addresses: [VAULT, ...[3, 4, 5, 6].map(addressOf)] },
};

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
  it('says the same as the instructions it was compiled from', () => {
    fc.assert(
      fc.property(instructions, (given) => {
        const bytes = compileVaultMessage(given, MULTISIG);
        const message = decodeVaultMessage(bytes);
        // Lookup tables come first among the accounts of an execution; indices count from after them.
        const accounts = vaultMessageAccounts(bytes, MULTISIG).slice(message.lookups.length);
        const read = message.instructions.map(({ programIndex, accountIndices, data }) => ({
          programAddress: accounts[programIndex]?.address,
          accounts: accountIndices.map((index) => accounts[index]?.address),
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

  it('hands the vault, and everybody else, to the execution as a non-signer', () => {
    fc.assert(
      fc.property(instructions, (given) => {
        const accounts = vaultMessageAccounts(compileVaultMessage(given, MULTISIG), MULTISIG);
        assert.ok(accounts.every(({ role: granted }) => !isSignerRole(granted)));
        assert.ok(accounts.some(({ address, role: granted }) => address === VAULT && granted === AccountRole.WRITABLE));
      }),
    );
  });

  it('has the length that is foretold, and encodes to the bytes it was decoded from', () => {
    fc.assert(
      fc.property(instructions, (given) => {
        const bytes = compileVaultMessage(given, MULTISIG);
        assert.equal(vaultMessageSize(given, MULTISIG), bytes.length);
        assert.deepEqual(encodeVaultMessage(decodeVaultMessage(bytes)), bytes);
      }),
    );
  });

  it('is foretold its length where its counts outgrow a byte', () => {
    const memo: Instruction = { programAddress: addressOf(3), data: new Uint8Array(1) };
    const memos = (count: number) =>
      vaultMessageSize(
        Array.from({ length: count }, () => memo),
        MULTISIG,
      );
    assert.equal(memos(300) - memos(299), 5);
  });

  it('is refused with a signer other than the vault', () => {
    const signing = {
      programAddress: addressOf(3),
      accounts: [{ address: addressOf(4), role: AccountRole.READONLY_SIGNER }],
    };
    assert.throws(() => compileVaultMessage([signing], MULTISIG), /would have to sign a vault message/);
  });

  it('is refused with bytes left over, another lookup table, or a place the table lacks', () => {
    const bytes = compileVaultMessage([{ programAddress: addressOf(3) }], MULTISIG);
    assert.throws(() => decodeVaultMessage(Uint8Array.of(...bytes, 0)), /followed by 1 more/);
    const table = { ...MULTISIG.lookupTable, address: addressOf(9) };
    assert.throws(() => vaultMessageAccounts(bytes, { ...MULTISIG, lookupTable: table }), /uses the lookup table/);
    const short = { ...MULTISIG.lookupTable, addresses: [] };
    assert.throws(
      () => vaultMessageAccounts(bytes, { ...MULTISIG, lookupTable: short }),
      /place 1 of a lookup table of 0/,
    );
  });
});

function addressOf(byte: number): Address {
  return getAddressDecoder().decode(new Uint8Array(32).fill(byte));
}
