import type { DerivedAddress } from '@flywheel/protocol';
import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import {
  type AccountMeta,
  type Address,
  createNoopSigner,
  type EncodedAccount,
  type Instruction,
  isSignerRole,
  isWritableRole,
  lamports,
  type ReadonlyUint8Array,
} from '@solana/kit';
import {
  getAllocateInstruction,
  getAssignInstruction,
  getCreateAccountInstruction,
  getTransferSolInstruction,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system';
import { emptyAccount } from '../../ledger/account-journal.ts';
import { type Accounts, accountLayouts, encodeAccount } from './accounts.ts';
import { decodeStrictly, type Layout } from './borsh.ts';
import { check, type ErrorName, failure } from './errors.ts';

/** One running instruction of the program: its input, and the chain that it changes. */
export interface Call {
  /** Accounts with their roles in the transaction. */
  readonly accounts: readonly AccountMeta[];
  /** The instruction's data after its discriminator. */
  readonly argumentBytes: ReadonlyUint8Array;
  readonly chain: Chain;
}

/** The chain as an instruction sees and changes it. A failure of the transaction undoes every change. */
export interface Chain {
  readonly unixTimestamp: bigint;
  /** null for an account without lamports, as the runtime sees it. */
  read(address: Address): EncodedAccount | null;
  write(account: EncodedAccount): void;
  rentExemptLamports(bytes: number): bigint;
  /** Charges the units of the program's own computation. */
  consumeUnits(units: number): void;
  /** Calls other programs. `signers`, the program's derived addresses, sign beside the caller's signers. */
  invoke(caller: readonly AccountMeta[], instructions: readonly Instruction[], signers: readonly Address[]): void;
}

export interface Loaded<Value> {
  readonly address: Address;
  readonly value: Value;
}

/** Decodes the arguments; bytes beyond them are ignored, as Borsh readers do. */
export function readArguments<Value>(call: Call, layout: Layout<Value>): Value {
  return decodeOr(() => decodeStrictly(layout, call.argumentBytes), 'InstructionDidNotDeserialize');
}

/** Returns the account at a position. @throws InstructionFailure if it is missing. */
export function accountAt(call: Call, position: number): AccountMeta {
  const meta = call.accounts[position];
  check(meta !== undefined, 'AccountNotEnoughKeys');
  return meta;
}

export function signerAt(call: Call, position: number): Address {
  const meta = accountAt(call, position);
  check(isSignerRole(meta.role), 'AccountNotSigner');
  return meta.address;
}

export function systemProgramAt(call: Call, position: number): Address {
  const meta = accountAt(call, position);
  check(meta.address === SYSTEM_PROGRAM_ADDRESS, 'InvalidProgramId');
  return meta.address;
}

export function checkWritable(call: Call, position: number): void {
  check(isWritableRole(accountAt(call, position).role), 'ConstraintMut');
}

/** Reads an account of the program, with Anchor's checks in Anchor's order. */
export function loadAt<Name extends keyof Accounts>(call: Call, position: number, name: Name): Loaded<Accounts[Name]> {
  const meta = accountAt(call, position);
  const account = call.chain.read(meta.address);
  check(account !== null, 'AccountNotInitialized');
  check(account.programAddress === SQUADS_PROGRAM_ADDRESS, 'AccountOwnedByWrongProgram');
  return { address: meta.address, value: decodeAccount(account.data, name) };
}

/** Decodes an account's data without checking its owner. */
export function decodeAccount<Name extends keyof Accounts>(
  accountBytes: ReadonlyUint8Array,
  name: Name,
): Accounts[Name] {
  const layout = accountLayouts[name];
  const { discriminator } = layout;
  check(accountBytes.length >= discriminator.length, 'AccountDiscriminatorNotFound');
  check(
    discriminator.every((byte, index) => accountBytes[index] === byte),
    'AccountDiscriminatorMismatch',
  );
  return decodeOr(() => decodeStrictly(layout, accountBytes, discriminator.length), 'AccountDidNotDeserialize');
}

/** Writes an account's fields over its first bytes. Remaining bytes of an earlier, longer value stay. */
export function save<Name extends keyof Accounts>(
  call: Call,
  target: Address,
  name: Name,
  value: Accounts[Name],
): void {
  const account = call.chain.read(target);
  check(account !== null, 'AccountNotInitialized');
  const fields = encodeAccount(name, value);
  check(fields.length <= account.data.length, 'AccountDidNotSerialize');
  const accountBytes = Uint8Array.from(account.data);
  accountBytes.set(fields);
  call.chain.write({ ...account, data: accountBytes });
}

/** An account that `initialize` creates. */
export interface NewAccount {
  readonly position: number;
  readonly expected: DerivedAddress;
  readonly payer: Address;
  readonly bytes: number;
}

/** Creates a zeroed account of the program at its derived address with the System Program, paid by `payer`. */
export function initialize(call: Call, { position, expected, payer, bytes }: NewAccount): void {
  const target = accountAt(call, position).address;
  check(target === expected.address, 'ConstraintSeeds');
  const existing = call.chain.read(target);
  const rentLamports = call.chain.rentExemptLamports(bytes);
  if (existing === null) {
    call.chain.invoke(call.accounts, [createAccount(payer, target, rentLamports, bytes)], [target]);
    return;
  }
  check(payer !== target, 'TryingToInitPayerAsProgramAccount');
  // If anyone sent lamports to the address, the System Program cannot create the account in one step.
  const missingLamports = rentLamports - existing.lamports;
  const funding = missingLamports > 0n ? [transfer(payer, target, missingLamports)] : [];
  call.chain.invoke(call.accounts, [...funding, allocate(target, bytes), assign(target)], [target]);
}

/** Grows an account to `bytes`; the payer adds the missing rent. */
export function grow(call: Call, target: Address, bytes: number, payer: Address | null): void {
  const account = call.chain.read(target);
  check(account !== null, 'AccountNotInitialized');
  if (account.data.length >= bytes) return;
  const grown = new Uint8Array(bytes);
  grown.set(account.data);
  call.chain.write({ ...account, data: grown, space: BigInt(bytes) });
  const missingLamports = call.chain.rentExemptLamports(bytes) - account.lamports;
  if (missingLamports <= 0n) return;
  check(payer !== null, 'MissingAccount');
  call.chain.invoke(call.accounts, [transfer(payer, target, missingLamports)], []);
}

/** Closes an account of the program: its lamports go to `destination`, its owner becomes the System Program. */
export function close(call: Call, target: Address, destination: Address): void {
  const account = call.chain.read(target);
  check(account !== null, 'AccountNotInitialized');
  const receiver = call.chain.read(destination) ?? emptyAccount(destination);
  call.chain.write({ ...receiver, lamports: lamports(receiver.lamports + account.lamports) });
  call.chain.write(emptyAccount(target));
}

/** Builds a transfer by the System Program, for `Chain.invoke`. */
export function transfer(source: Address, destination: Address, amountLamports: bigint): Instruction {
  return getTransferSolInstruction({ source: createNoopSigner(source), destination, amount: amountLamports });
}

function createAccount(payer: Address, target: Address, rentLamports: bigint, bytes: number): Instruction {
  return getCreateAccountInstruction({
    payer: createNoopSigner(payer),
    newAccount: createNoopSigner(target),
    lamports: rentLamports,
    space: bytes,
    programAddress: SQUADS_PROGRAM_ADDRESS,
  });
}

function allocate(target: Address, bytes: number): Instruction {
  return getAllocateInstruction({ newAccount: createNoopSigner(target), space: bytes });
}

function assign(target: Address): Instruction {
  return getAssignInstruction({ account: createNoopSigner(target), programAddress: SQUADS_PROGRAM_ADDRESS });
}

/** Converts an error of the decoder to the program's failure. */
function decodeOr<Value>(decode: () => Value, otherwise: ErrorName): Value {
  try {
    return decode();
  } catch (cause) {
    throw Object.assign(failure(otherwise), { cause });
  }
}
