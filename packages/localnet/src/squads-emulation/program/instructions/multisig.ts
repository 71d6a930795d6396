import {
  type Member,
  type MultisigAccount,
  multisigBytes,
  multisigCreateV2ArgsDecoder,
  multisigCreateV2ArgsEncoder,
  PERMISSION,
} from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { compareAddresses, multisigAddress, programConfigAddress } from '../addresses.ts';
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

/** Creates a multisig and pays the creation fee of the program's configuration. */
export function multisigCreateV2(call: Call): void {
  const { configAuthority, members, threshold, timeLock, rentCollector } = readArguments(call, {
    encoder: multisigCreateV2ArgsEncoder,
    decoder: multisigCreateV2ArgsDecoder,
  });
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
  const multisig: MultisigAccount = {
    createKey,
    threshold,
    timeLock,
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

  const feeLamports = config.value.multisigCreationFee;
  if (feeLamports > 0n) call.chain.invoke(call.accounts, [transfer(creator, treasury, feeLamports)], []);
}

/** Checks that a loaded multisig is at the address that its create key derives. */
export function checkMultisigSeeds(multisig: Loaded<MultisigAccount>): void {
  check(multisig.address === multisigAddress(multisig.value.createKey).address, 'ConstraintSeeds');
}

/** Rejects an address that is not a member, or a member without any of the permissions (bits of `permission`). */
export function checkMember(multisig: MultisigAccount, who: Address, permissions: number): void {
  const member = multisig.members.find((candidate) => candidate.key === who);
  check(member !== undefined, 'NotAMember');
  check((member.permissions.mask & permissions) !== 0, 'Unauthorized');
}

export function isMember(multisig: MultisigAccount, who: Address): boolean {
  return multisig.members.some((member) => member.key === who);
}

export function voterCount(multisig: MultisigAccount): number {
  return countWith(multisig, PERMISSION.vote);
}

/** Checks the conditions that hold for a multisig after every change. */
export function checkInvariant(multisig: MultisigAccount): void {
  const { members, threshold } = multisig;
  check(new Set(members.map((member) => member.key)).size === members.length, 'DuplicateMember');
  check(
    members.every((member) => member.permissions.mask <= ALL_PERMISSIONS),
    'UnknownPermission',
  );
  check(countWith(multisig, PERMISSION.initiate) > 0, 'NoProposers');
  check(countWith(multisig, PERMISSION.execute) > 0, 'NoExecutors');
  check(voterCount(multisig) > 0, 'NoVoters');
  check(threshold > 0 && threshold <= voterCount(multisig), 'InvalidThreshold');
  check(multisig.timeLock <= MAX_TIME_LOCK_SECONDS, 'TimeLockExceedsMaxAllowed');
}

export function byAddress(a: Member, b: Member): number {
  return compareAddresses(a.key, b.key);
}

const ALL_PERMISSIONS = PERMISSION.initiate | PERMISSION.vote | PERMISSION.execute;

/** Limit of the program: 90 days. */
export const MAX_TIME_LOCK_SECONDS = 90 * 24 * 60 * 60;

function countWith(multisig: MultisigAccount, bit: number): number {
  return multisig.members.filter((member) => (member.permissions.mask & bit) !== 0).length;
}
