import type { Address } from '@solana/kit';
import { getAddressCodec, getStructDecoder, getU16Decoder, getU32Decoder } from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { type Multisig, multisigBytes, permission } from '../accounts.ts';
import { compareAddresses, multisigAddress, programConfigAddress } from '../addresses.ts';
import { listCodec, memoDecoder, optionCodec } from '../borsh.ts';
import {
  accountAt,
  type Call,
  checkWritable,
  initialize,
  type Loaded,
  loadAt,
  readArguments,
  save,
  signerAt,
  systemProgramAt,
  transfer,
} from '../call.ts';
import { check } from '../errors.ts';
import { type Member, memberCodec } from '../member.ts';

const createArguments = getStructDecoder([
  ['configAuthority', optionCodec(getAddressCodec())],
  ['threshold', getU16Decoder()],
  ['members', listCodec(memberCodec())],
  ['timeLockSeconds', getU32Decoder()],
  ['rentCollector', optionCodec(getAddressCodec())],
  ['memo', memoDecoder()],
]);

/** Creates a multisig and pays the creation fee that the program's configuration asks for. */
export function multisigCreateV2(call: Call): void {
  const { configAuthority, members, threshold, timeLockSeconds, rentCollector } = readArguments(call, createArguments);
  const config = loadAt(call, 0, 'ProgramConfig');
  const treasury = accountAt(call, 1).address;
  const target = accountAt(call, 2).address;
  const createKey = signerAt(call, 3);
  const creator = signerAt(call, 4);
  systemProgramAt(call, 5);

  const expected = multisigAddress(createKey);
  initialize(call, { position: 2, expected, payer: creator, bytes: multisigBytes(members.length) });
  check(config.address === programConfigAddress().address, 'ConstraintSeeds');
  checkWritable(call, 1);
  checkWritable(call, 4);
  check(treasury === config.value.treasury, 'InvalidAccount');
  const multisig: Multisig = {
    createKey,
    threshold,
    timeLockSeconds,
    rentCollector,
    // Anchor's `Pubkey::default()`: all zeros, which is also the System Program's address.
    configAuthority: configAuthority ?? SYSTEM_PROGRAM_ADDRESS,
    transactionIndex: 0n,
    staleTransactionIndex: 0n,
    bump: expected.bump,
    members: members.toSorted(byAddress),
  };
  checkInvariant(multisig);
  save(call, target, 'Multisig', multisig);

  const feeLamports = config.value.multisigCreationFeeLamports;
  if (feeLamports > 0n) call.chain.invoke(call.accounts, [transfer(creator, treasury, feeLamports)], []);
}

/** Checks that a loaded multisig lies at the address that its create key derives. */
export function checkMultisigSeeds(multisig: Loaded<Multisig>): void {
  check(multisig.address === multisigAddress(multisig.value.createKey).address, 'ConstraintSeeds');
}

/** Refuses who is no member, or a member with none of the permissions given (bits of `permission`). */
export function checkMember(multisig: Multisig, who: Address, permissions: number): void {
  const member = multisig.members.find((candidate) => candidate.address === who);
  check(member !== undefined, 'NotAMember');
  check((member.permissions & permissions) !== 0, 'Unauthorized');
}

export function isMember(multisig: Multisig, who: Address): boolean {
  return multisig.members.some((member) => member.address === who);
}

export function voterCount(multisig: Multisig): number {
  return countWith(multisig, permission.vote);
}

/** What must hold of a multisig after every change. */
export function checkInvariant(multisig: Multisig): void {
  const { members, threshold } = multisig;
  check(new Set(members.map((member) => member.address)).size === members.length, 'DuplicateMember');
  check(
    members.every((member) => member.permissions <= ALL_PERMISSIONS),
    'UnknownPermission',
  );
  check(countWith(multisig, permission.initiate) > 0, 'NoProposers');
  check(countWith(multisig, permission.execute) > 0, 'NoExecutors');
  check(voterCount(multisig) > 0, 'NoVoters');
  check(threshold > 0 && threshold <= voterCount(multisig), 'InvalidThreshold');
  check(multisig.timeLockSeconds <= MAX_TIME_LOCK_SECONDS, 'TimeLockExceedsMaxAllowed');
}

export function byAddress(a: Member, b: Member): number {
  return compareAddresses(a.address, b.address);
}

const ALL_PERMISSIONS = permission.initiate | permission.vote | permission.execute;

/** The program's own bound: 90 days. */
export const MAX_TIME_LOCK_SECONDS = 90 * 24 * 60 * 60;

function countWith(multisig: Multisig, bit: number): number {
  return multisig.members.filter((member) => (member.permissions & bit) !== 0).length;
}
