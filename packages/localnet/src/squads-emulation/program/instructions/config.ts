import { type Address, getAddressDecoder, getStructDecoder, getU16Decoder, getU32Decoder } from '@solana/kit';
import { type Multisig, multisigBytes } from '../accounts.ts';
import { SQUADS_PROGRAM_ADDRESS } from '../addresses.ts';
import { memoDecoder } from '../borsh.ts';
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
import { memberCodec } from '../member.ts';
import { byAddress, checkInvariant, checkMultisigSeeds, isMember } from './multisig.ts';

const addMemberArguments = getStructDecoder([
  ['member', memberCodec()],
  ['memo', memoDecoder()],
]);

/** Adds a member. Like every change of the configuration it makes all transactions before it stale. */
export function multisigAddMember(call: Call): void {
  const { member } = readArguments(call, addMemberArguments);
  const { multisig, rentPayer } = loadConfig(call);
  check(!isMember(multisig.value, member.address), 'DuplicateMember');
  const members = [...multisig.value.members, member].toSorted(byAddress);
  growForMembers(call, multisig, members.length, rentPayer);
  change(call, multisig, { members });
}

const removeMemberArguments = getStructDecoder([
  ['member', getAddressDecoder()],
  ['memo', memoDecoder()],
]);

export function multisigRemoveMember(call: Call): void {
  const { member } = readArguments(call, removeMemberArguments);
  const { multisig } = loadConfig(call);
  check(multisig.value.members.length > 1, 'RemoveLastMember');
  check(isMember(multisig.value, member), 'NotAMember');
  change(call, multisig, { members: multisig.value.members.filter(({ address }) => address !== member) });
}

const changeThresholdArguments = getStructDecoder([
  ['threshold', getU16Decoder()],
  ['memo', memoDecoder()],
]);

export function multisigChangeThreshold(call: Call): void {
  const { threshold } = readArguments(call, changeThresholdArguments);
  const { multisig } = loadConfig(call);
  change(call, multisig, { threshold });
}

const setTimeLockArguments = getStructDecoder([
  ['timeLockSeconds', getU32Decoder()],
  ['memo', memoDecoder()],
]);

export function multisigSetTimeLock(call: Call): void {
  const { timeLockSeconds } = readArguments(call, setTimeLockArguments);
  const { multisig } = loadConfig(call);
  change(call, multisig, { timeLockSeconds });
}

interface ConfigAccounts {
  readonly multisig: Loaded<Multisig>;
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
  /** null also where it is given without the System Program, which would have to be called. */
  readonly address: Address | null;
}

/** The optional account that pays for a multisig's growth, and the optional System Program behind it. */
export function rentPayerAt(call: Call, position: number): RentPayer {
  const payer = isGiven(call, position) ? signerAt(call, position) : null;
  const hasSystemProgram = isGiven(call, position + 1);
  if (hasSystemProgram) systemProgramAt(call, position + 1);
  return { isGiven: payer !== null, address: hasSystemProgram ? payer : null };
}

/** An optional account is left out by naming the program itself in its place, or nothing at all. */
function isGiven(call: Call, position: number): boolean {
  const given = call.accounts[position];
  return given !== undefined && given.address !== SQUADS_PROGRAM_ADDRESS;
}

// The program grows the account by ten members at least, so that it need not do so each time.
const SPARE_MEMBERS = 10;

/** Makes room in a multisig's account for so many members. */
export function growForMembers(
  call: Call,
  multisig: Loaded<Multisig>,
  memberCount: number,
  payer: Address | null,
): void {
  const currentBytes = call.chain.read(multisig.address)?.data.length ?? 0;
  if (currentBytes >= multisigBytes(memberCount)) return;
  const spareBytes = multisigBytes(SPARE_MEMBERS) - multisigBytes(0);
  grow(call, multisig.address, Math.max(currentBytes + spareBytes, multisigBytes(memberCount)), payer);
}

function change(call: Call, { address, value }: Loaded<Multisig>, changed: Partial<Multisig>): void {
  const multisig = { ...value, ...changed, staleTransactionIndex: value.transactionIndex };
  checkInvariant(multisig);
  save(call, address, 'Multisig', multisig);
}
