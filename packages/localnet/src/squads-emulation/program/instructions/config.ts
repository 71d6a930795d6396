import {
  type MultisigAccount,
  multisigAddMemberArgsDecoder,
  multisigAddMemberArgsEncoder,
  multisigBytes,
  multisigChangeThresholdArgsDecoder,
  multisigChangeThresholdArgsEncoder,
  multisigRemoveMemberArgsDecoder,
  multisigRemoveMemberArgsEncoder,
  multisigSetTimeLockArgsDecoder,
  multisigSetTimeLockArgsEncoder,
  SQUADS_PROGRAM_ADDRESS,
} from '@flywheel/squads';
import type { Address } from '@solana/kit';
import {
  type Call,
  checkWritable,
  grow,
  type Loaded,
  loadAt,
  readArguments,
  save,
  signerAt,
  systemProgramAt,
} from '../call.ts';
import { check } from '../errors.ts';
import { byAddress, checkInvariant, checkMultisigSeeds, isMember } from './multisig.ts';

/** Adds a member. Like every change of the configuration it makes all earlier transactions stale. */
export function multisigAddMember(call: Call): void {
  const { newMember } = readArguments(call, {
    encoder: multisigAddMemberArgsEncoder,
    decoder: multisigAddMemberArgsDecoder,
  });
  const { multisig, rentPayer } = loadConfig(call);
  check(!isMember(multisig.value, newMember.key), 'DuplicateMember');
  const members = [...multisig.value.members, newMember].toSorted(byAddress);
  growForMembers(call, multisig, members.length, rentPayer);
  change(call, multisig, { members });
}

export function multisigRemoveMember(call: Call): void {
  const { oldMember } = readArguments(call, {
    encoder: multisigRemoveMemberArgsEncoder,
    decoder: multisigRemoveMemberArgsDecoder,
  });
  const { multisig } = loadConfig(call);
  check(multisig.value.members.length > 1, 'RemoveLastMember');
  check(isMember(multisig.value, oldMember), 'NotAMember');
  change(call, multisig, { members: multisig.value.members.filter(({ key }) => key !== oldMember) });
}

export function multisigChangeThreshold(call: Call): void {
  const { newThreshold } = readArguments(call, {
    encoder: multisigChangeThresholdArgsEncoder,
    decoder: multisigChangeThresholdArgsDecoder,
  });
  const { multisig } = loadConfig(call);
  change(call, multisig, { threshold: newThreshold });
}

export function multisigSetTimeLock(call: Call): void {
  const { timeLock } = readArguments(call, {
    encoder: multisigSetTimeLockArgsEncoder,
    decoder: multisigSetTimeLockArgsDecoder,
  });
  const { multisig } = loadConfig(call);
  change(call, multisig, { timeLock });
}

interface ConfigAccounts {
  readonly multisig: Loaded<MultisigAccount>;
  readonly rentPayer: Address | null;
}

function loadConfig(call: Call): ConfigAccounts {
  const multisig = loadAt(call, 0, 'Multisig');
  const configAuthority = signerAt(call, 1);
  const rentPayer = rentPayerAt(call, 2);
  checkMultisigSeeds(multisig);
  checkWritable(call, 0);
  if (rentPayer.isGiven) checkWritable(call, 2);
  check(configAuthority === multisig.value.configAuthority, 'Unauthorized');
  return { multisig, rentPayer: rentPayer.address };
}

export interface RentPayer {
  readonly isGiven: boolean;
  /** null also if it is given without the System Program, which the program would have to call. */
  readonly address: Address | null;
}

/** The optional account that pays for a multisig's growth, and the optional System Program behind it. */
export function rentPayerAt(call: Call, position: number): RentPayer {
  const payer = isGiven(call, position) ? signerAt(call, position) : null;
  const hasSystemProgram = isGiven(call, position + 1);
  if (hasSystemProgram) systemProgramAt(call, position + 1);
  return { isGiven: payer !== null, address: hasSystemProgram ? payer : null };
}

/** Returns false for an optional account that is missing, or replaced by the program's own address. */
function isGiven(call: Call, position: number): boolean {
  const given = call.accounts[position];
  return given !== undefined && given.address !== SQUADS_PROGRAM_ADDRESS;
}

// The program grows the account by at least ten members, so that it need not do so each time.
const SPARE_MEMBERS = 10;

/** Grows a multisig's account for this number of members. */
export function growForMembers(
  call: Call,
  multisig: Loaded<MultisigAccount>,
  memberCount: number,
  payer: Address | null,
): void {
  const currentBytes = call.chain.read(multisig.address)?.data.length ?? 0;
  if (currentBytes >= multisigBytes(memberCount)) return;
  const spareBytes = multisigBytes(SPARE_MEMBERS) - multisigBytes(0);
  grow(call, multisig.address, Math.max(currentBytes + spareBytes, multisigBytes(memberCount)), payer);
}

function change(call: Call, { address, value }: Loaded<MultisigAccount>, changed: Partial<MultisigAccount>): void {
  const multisig = { ...value, ...changed, staleTransactionIndex: value.transactionIndex };
  checkInvariant(multisig);
  save(call, address, 'Multisig', multisig);
}
