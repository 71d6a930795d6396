import { accountRole } from '@flywheel/protocol';
import {
  type MultisigAccount,
  PERMISSION,
  type ProposalAccount,
  SQUADS_PROGRAM_ADDRESS,
  type VaultTransactionMessage,
} from '@flywheel/squads';
import {
  type AccountMeta,
  AccountRole,
  type Address,
  isSignerRole,
  isWritableRole,
  type ReadonlyUint8Array,
} from '@solana/kit';
import type { InstructionFailure } from '../../failure.ts';
import { lookupTableAddresses } from '../../lookup-table.ts';
import {
  ephemeralSignerAddress,
  numberedTransactionAddress,
  proposalAddress,
  transactionAddress,
  vaultAddress,
} from '../addresses.ts';
import { type Call, checkWritable, loadAt, save, signerAt } from '../call.ts';
import { check, failure, notEmulated } from '../errors.ts';
import { accountCount, isSignerIndex, isStaticWritableIndex } from '../vault-message.ts';
import { checkMember, checkMultisigSeeds } from './multisig.ts';

/** Runs the next transaction of an approved batch, with the vault as signer. */
export function batchExecuteTransaction(call: Call): void {
  const multisig = loadAt(call, 0, 'Multisig');
  const member = signerAt(call, 1);
  const proposal = loadAt(call, 2, 'Proposal');
  const batch = loadAt(call, 3, 'Batch');
  const transaction = loadAt(call, 4, 'VaultBatchTransaction');

  checkMultisigSeeds(multisig);
  const { index, executedTransactionIndex, size, vaultIndex } = batch.value;
  check(proposal.address === proposalAddress(multisig.address, index).address, 'ConstraintSeeds');
  checkWritable(call, 2);
  check(batch.address === transactionAddress(multisig.address, index).address, 'ConstraintSeeds');
  checkWritable(call, 3);
  const position = executedTransactionIndex + 1;
  const expected = numberedTransactionAddress(multisig.address, index, position);
  check(transaction.address === expected.address, 'ConstraintSeeds');
  checkMember(multisig.value, member, PERMISSION.execute);
  checkExecutable(call, multisig.value, proposal.value);

  const { message, ephemeralSignerBumps } = transaction.value;
  const ephemeralSigners = Array.from(
    ephemeralSignerBumps,
    (_, each) => ephemeralSignerAddress(batch.address, each).address,
  );
  const signers = [vaultAddress(multisig.address, vaultIndex).address, ...ephemeralSigners];
  const accounts = resolveAccounts(call, message, signers);
  call.chain.consumeUnits(executionUnits(message));
  runInstructions(call, message, accounts, { signers, protectedAccounts: [proposal.address, batch.address] });

  save(call, batch.address, 'Batch', { ...batch.value, executedTransactionIndex: position });
  if (position !== size) return;
  const status = { __kind: 'Executed', timestamp: call.chain.unixTimestamp } as const;
  save(call, proposal.address, 'Proposal', { ...proposal.value, status });
}

// Measured on the real program over messages of 2 to 18 accounts, 1 to 12 instructions and up to 60 accounts of those.
const UNITS_PER_ACCOUNT = 860;
const UNITS_PER_CALL = 2_350;
const UNITS_PER_PASSED_ACCOUNT = 405;

function executionUnits(message: VaultTransactionMessage): number {
  const passedAccounts = message.instructions.reduce((sum, { accountIndexes }) => sum + accountIndexes.length, 0);
  return (
    accountCount(message) * UNITS_PER_ACCOUNT +
    message.instructions.length * UNITS_PER_CALL +
    passedAccounts * UNITS_PER_PASSED_ACCOUNT
  );
}

/**
 * Checks that a batch can be executed. A proposal that was approved before it became stale can be, so staleness is
 * ignored.
 */
function checkExecutable(call: Call, multisig: MultisigAccount, { status }: ProposalAccount): void {
  check(status.__kind === 'Approved', 'InvalidProposalStatus');
  check(call.chain.unixTimestamp - status.timestamp >= BigInt(multisig.timeLock), 'TimeLockNotReleased');
}

// The instruction's own accounts; those of the message follow.
const OWN_ACCOUNTS = 5;

/**
 * Checks the given accounts against the message and returns them in the order of the message's indices: static ones,
 * all writable ones of lookup tables, all read-only ones of lookup tables. They have the message's roles.
 */
function resolveAccounts(call: Call, message: VaultTransactionMessage, signers: readonly Address[]): AccountMeta[] {
  const remaining = call.accounts.slice(OWN_ACCOUNTS);
  const tables = remaining.slice(0, message.addressTableLookups.length);
  const given = remaining.slice(message.addressTableLookups.length);
  check(tables.length === message.addressTableLookups.length, 'InvalidNumberOfAccounts');
  message.addressTableLookups.forEach((lookup, each) => {
    check(tables[each]?.address === lookup.accountKey, 'InvalidAccount');
  });
  check(given.length === accountCount(message), 'InvalidNumberOfAccounts');

  const staticAccounts = message.accountKeys.map((address, each) => ({
    address,
    role: accountRole(isSignerIndex(message, each), isStaticWritableIndex(message, each)),
  }));
  const loaded = message.addressTableLookups.map((lookup) => {
    const addresses = lookupTableAddresses(call.chain.read(lookup.accountKey));
    check(addresses !== null, 'InvalidAccount');
    return {
      writable: Array.from(lookup.writableIndexes, (index) => loadedAccount(addresses[index], AccountRole.WRITABLE)),
      readonly: Array.from(lookup.readonlyIndexes, (index) => loadedAccount(addresses[index], AccountRole.READONLY)),
    };
  });
  const inGivenOrder = [...staticAccounts, ...loaded.flatMap(({ writable, readonly }) => [...writable, ...readonly])];
  inGivenOrder.forEach((wanted, each) => {
    checkGiven(given[each], wanted, signers);
  });
  return [
    ...staticAccounts,
    ...loaded.flatMap(({ writable }) => writable),
    ...loaded.flatMap(({ readonly }) => readonly),
  ];
}

function loadedAccount(address: Address | undefined, role: AccountRole): AccountMeta {
  check(address !== undefined, 'InvalidAccount');
  return { address, role };
}

/**
 * Checks that the given account is the expected one, with at least its privileges; the program itself signs for
 * `signers`.
 */
function checkGiven(given: AccountMeta | undefined, wanted: AccountMeta, signers: readonly Address[]): void {
  check(given?.address === wanted.address, 'InvalidAccount');
  const mustSign = isSignerRole(wanted.role) && !signers.includes(wanted.address);
  check(!mustSign || isSignerRole(given.role), 'InvalidAccount');
  check(!isWritableRole(wanted.role) || isWritableRole(given.role), 'InvalidAccount');
}

interface InnerInstruction {
  readonly programAddress: Address;
  readonly accounts: readonly AccountMeta[];
  readonly data: ReadonlyUint8Array;
}

interface Authority {
  readonly signers: readonly Address[];
  /** The proposal and the batch: an inner instruction that could change them could run the batch again. */
  readonly protectedAccounts: readonly Address[];
}

function runInstructions(
  call: Call,
  message: VaultTransactionMessage,
  accounts: readonly AccountMeta[],
  authority: Authority,
): void {
  const ready: InnerInstruction[] = [];
  // Instructions before a rejected one run first, because they may fail with an error of their own.
  const runReady = () => {
    if (ready.length > 0) call.chain.invoke(call.accounts, ready, authority.signers);
  };
  for (const { programIdIndex, accountIndexes, data } of message.instructions) {
    const { address: programAddress } = accountOf(accounts, programIdIndex);
    const instruction = {
      programAddress,
      accounts: Array.from(accountIndexes, (index) => accountOf(accounts, index)),
      data,
    };
    const refusal = refusalOf(instruction, authority);
    if (refusal) {
      runReady();
      throw refusal;
    }
    ready.push(instruction);
  }
  runReady();
}

function accountOf(accounts: readonly AccountMeta[], index: number): AccountMeta {
  const account = accounts[index];
  check(account !== undefined, 'InvalidTransactionMessage');
  return account;
}

function refusalOf({ programAddress, accounts }: InnerInstruction, authority: Authority): InstructionFailure | null {
  const writable = accounts.filter((account) => isWritableRole(account.role));
  if (writable.some(({ address }) => authority.protectedAccounts.includes(address))) return failure('ProtectedAccount');
  if (programAddress === SQUADS_PROGRAM_ADDRESS)
    return notEmulated('a vault message that calls the Squads program itself');
  return null;
}
