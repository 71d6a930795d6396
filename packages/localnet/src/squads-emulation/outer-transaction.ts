import type { CompiledMessage } from '@flywheel/protocol';
import {
  type AccountMeta,
  AccountRole,
  type Address,
  type Blockhash,
  blockhash,
  downgradeRoleToReadonly,
  isWritableRole,
  type ReadonlyUint8Array,
} from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { readAccount } from '../ledger/svm-accounts.ts';
import { lookupTableAddresses } from './lookup-table.ts';

/** A transaction as its instructions see it: every account by address, with its role in the transaction. */
export interface OuterTransaction {
  /** Accounts in wire order: static, table-writable, table-readonly. */
  readonly accounts: readonly AccountMeta[];
  readonly instructions: readonly OuterInstruction[];
  /** Recent blockhash that its instructions see, from which a nonce gets its next value. */
  readonly blockhash: Blockhash;
}

export interface OuterInstruction {
  readonly programAddress: Address;
  readonly accounts: readonly AccountMeta[];
  readonly data: ReadonlyUint8Array;
}

/**
 * Reads a legacy, v0 or v1 message. Its lookup tables must have all its addresses, which charging the fee has checked.
 */
export function readTransaction(svm: LiteSVM, message: CompiledMessage): OuterTransaction {
  const calledPrograms = new Set(compiledInstructions(message).map(({ programIndex }) => programIndex));
  const requested = [
    ...message.staticAccounts.map((address, index) => ({ address, role: staticRole(message, index) })),
    ...loadedAccounts(svm, message, 'writableIndexes', AccountRole.WRITABLE),
    ...loadedAccounts(svm, message, 'readonlyIndexes', AccountRole.READONLY),
  ];
  const accounts = requested.map(({ address, role }, index) => {
    const isProtected = calledPrograms.has(index) || reservedAddresses.has(address);
    return { address, role: isProtected ? downgradeRoleToReadonly(role) : role };
  });
  const instructions = compiledInstructions(message).map(({ programIndex, accountIndexes, data }) => ({
    programAddress: itemAt(accounts, programIndex).address,
    accounts: accountIndexes.map((index) => itemAt(accounts, index)),
    data,
  }));
  return { accounts, instructions, blockhash: blockhash(message.lifetimeToken) };
}

/** Lists the addresses that the transaction may change. */
export function writableAddresses({ accounts }: OuterTransaction): Address[] {
  return accounts.filter(({ role }) => isWritableRole(role)).map(({ address }) => address);
}

/** One instruction on the wire, in a shape common to all versions. */
export interface CompiledInstruction {
  readonly programIndex: number;
  readonly accountIndexes: readonly number[];
  readonly data: ReadonlyUint8Array;
}

export function compiledInstructions(message: CompiledMessage): CompiledInstruction[] {
  if (message.version === 1) {
    return message.instructionHeaders.map(({ programAccountIndex }, each) => {
      const payload = itemAt(message.instructionPayloads, each);
      return {
        programIndex: programAccountIndex,
        accountIndexes: payload.instructionAccountIndices,
        data: payload.instructionData,
      };
    });
  }
  return message.instructions.map(({ programAddressIndex, accountIndices, data }) => ({
    programIndex: programAddressIndex,
    accountIndexes: accountIndices ?? [],
    data: data ?? new Uint8Array(),
  }));
}

function staticRole({ header, staticAccounts }: CompiledMessage, index: number): AccountRole {
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = header;
  if (index < numSignerAccounts) {
    const isWritable = index < numSignerAccounts - numReadonlySignerAccounts;
    return isWritable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER;
  }
  const isWritable = index < staticAccounts.length - numReadonlyNonSignerAccounts;
  return isWritable ? AccountRole.WRITABLE : AccountRole.READONLY;
}

function loadedAccounts(
  svm: LiteSVM,
  message: CompiledMessage,
  indexes: 'writableIndexes' | 'readonlyIndexes',
  role: AccountRole,
): AccountMeta[] {
  const lookups = message.version === 0 ? (message.addressTableLookups ?? []) : [];
  return lookups.flatMap((lookup) => {
    const table = readAccount(svm, lookup.lookupTableAddress);
    const addresses = lookupTableAddresses(table.exists ? table : null) ?? [];
    return lookup[indexes].map((index) => ({ address: itemAt(addresses, index), role }));
  });
}

// Accounts that are never writable in a transaction: built-in programs and sysvars. It is the whole list of Agave
// (reserved_account_keys), written here to be compared with it. packages/protocol answers another question: which addresses
// no wallet can have.
const reservedAddresses: ReadonlySet<string> = new Set([
  '11111111111111111111111111111111',
  'AddressLookupTab1e1111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  'Config1111111111111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
  'Feature111111111111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
  'NativeLoader1111111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
  'Stake11111111111111111111111111111111111111',
  'StakeConfig11111111111111111111111111111111',
  'Sysvar1111111111111111111111111111111111111',
  'Sysvar1nstructions1111111111111111111111111',
  'SysvarC1ock11111111111111111111111111111111',
  'SysvarEpochRewards1111111111111111111111111',
  'SysvarEpochSchedu1e111111111111111111111111',
  'SysvarFees111111111111111111111111111111111',
  'SysvarLastRestartS1ot1111111111111111111111',
  'SysvarRecentB1ockHashes11111111111111111111',
  'SysvarRent111111111111111111111111111111111',
  'SysvarRewards111111111111111111111111111111',
  'SysvarS1otHashes111111111111111111111111111',
  'SysvarS1otHistory11111111111111111111111111',
  'SysvarStakeHistory1111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
  'ZkE1Gama1Proof11111111111111111111111111111',
  'ZkTokenProof1111111111111111111111111111111',
]);

function itemAt<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`The message names item ${index} of ${items.length}.`);
  return item;
}
