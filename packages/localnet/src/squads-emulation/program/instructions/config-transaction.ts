import {
  type ConfigAction,
  configTransactionCreateArgsDecoder,
  configTransactionCreateArgsEncoder,
  type Member,
  type MultisigAccount,
  PERMISSION,
} from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system';
import { encodedBytes } from '../accounts.ts';
import { compareAddresses, proposalAddress, transactionAddress } from '../addresses.ts';
import {
  accountAt,
  type Call,
  checkWritable,
  close,
  decodeAccount,
  initialize,
  loadAt,
  readArguments,
  save,
  signerAt,
  systemProgramAt,
} from '../call.ts';
import { check, notEmulated } from '../errors.ts';
import { canClose, checkRentReclaimable, rentCollectorAt } from './close.ts';
import { growForMembers, rentPayerAt } from './config.ts';
import { byAddress, checkInvariant, checkMember, checkMultisigSeeds, MAX_TIME_LOCK_SECONDS } from './multisig.ts';
import { statusNow } from './proposal.ts';

/** Stores changes of the configuration at the multisig's next transaction index, for a vote like that on a batch. */
export function configTransactionCreate(call: Call): void {
  const { actions } = readArguments(call, {
    encoder: configTransactionCreateArgsEncoder,
    decoder: configTransactionCreateArgsDecoder,
  });
  const multisig = loadAt(call, 0, 'Multisig');
  const target = accountAt(call, 1).address;
  const creator = signerAt(call, 2);
  const rentPayer = signerAt(call, 3);
  systemProgramAt(call, 4);

  const index = multisig.value.transactionIndex + 1n;
  const expected = transactionAddress(multisig.address, index);
  const transaction = { multisig: multisig.address, creator, index, bump: expected.bump, actions };
  initialize(call, { position: 1, expected, payer: rentPayer, bytes: encodedBytes('ConfigTransaction', transaction) });
  checkMultisigSeeds(multisig);
  checkWritable(call, 0);
  checkWritable(call, 3);
  check(multisig.value.configAuthority === SYSTEM_PROGRAM_ADDRESS, 'NotSupportedForControlled');
  checkMember(multisig.value, creator, PERMISSION.initiate);
  check(actions.length > 0, 'NoActions');
  for (const action of actions) {
    if (action.__kind !== 'SetTimeLock') continue;
    check(action.newTimeLock <= MAX_TIME_LOCK_SECONDS, 'TimeLockExceedsMaxAllowed');
  }
  save(call, target, 'ConfigTransaction', transaction);
  save(call, multisig.address, 'Multisig', { ...multisig.value, transactionIndex: index });
}

/** Changes the configuration as approved. Unlike a batch it can no longer be executed once it is stale. */
export function configTransactionExecute(call: Call): void {
  const multisig = loadAt(call, 0, 'Multisig');
  const member = signerAt(call, 1);
  const proposal = loadAt(call, 2, 'Proposal');
  const transaction = loadAt(call, 3, 'ConfigTransaction');
  const rentPayer = rentPayerAt(call, 4);

  checkMultisigSeeds(multisig);
  checkWritable(call, 0);
  const { index, actions } = transaction.value;
  check(proposal.address === proposalAddress(multisig.address, index).address, 'ConstraintSeeds');
  checkWritable(call, 2);
  check(transaction.address === transactionAddress(multisig.address, index).address, 'ConstraintSeeds');
  if (rentPayer.isGiven) checkWritable(call, 4);
  checkMember(multisig.value, member, PERMISSION.execute);
  const { status, transactionIndex } = proposal.value;
  check(status.__kind === 'Approved', 'InvalidProposalStatus');
  const waitedSeconds = call.chain.unixTimestamp - status.timestamp;
  check(waitedSeconds >= BigInt(multisig.value.timeLock), 'TimeLockNotReleased');
  check(transactionIndex > multisig.value.staleTransactionIndex, 'StaleProposal');

  const memberCount = multisig.value.members.length + actions.reduce((sum, action) => sum + addedMembers(action), 0);
  if (memberCount > multisig.value.members.length) growForMembers(call, multisig, memberCount, rentPayer.address);
  const changed = actions.reduce(apply, multisig.value);
  checkInvariant(changed);
  save(call, multisig.address, 'Multisig', changed);
  save(call, proposal.address, 'Proposal', { ...proposal.value, status: statusNow(call, 'Executed') });
}

/** Closes a config transaction that can no longer be executed, and its proposal; their rent goes to the rent collector. */
export function configTransactionAccountsClose(call: Call): void {
  const multisig = loadAt(call, 0, 'Multisig');
  const proposalTarget = accountAt(call, 1).address;
  const transaction = loadAt(call, 2, 'ConfigTransaction');
  accountAt(call, 3);
  systemProgramAt(call, 4);

  checkRentReclaimable(multisig);
  const { index } = transaction.value;
  check(proposalTarget === proposalAddress(multisig.address, index).address, 'ConstraintSeeds');
  checkWritable(call, 1);
  checkWritable(call, 2);
  check(transaction.value.multisig === multisig.address, 'TransactionForAnotherMultisig');
  check(transaction.address !== accountAt(call, 3).address, 'ConstraintClose');
  const rentCollector = rentCollectorAt(call, 3, multisig.value);
  const isStale = index <= multisig.value.staleTransactionIndex;
  const proposal = call.chain.read(proposalTarget);
  const hasProposal = proposal !== null && proposal.data.length > 0;
  // A stale batch may still be executed; a stale change of the configuration may not, approved or not.
  const isOver = (status: Parameters<typeof canClose>[0]) =>
    canClose(status, isStale) || (isStale && status.__kind === 'Approved');
  check(hasProposal ? isOver(decodeAccount(proposal.data, 'Proposal').status) : isStale, 'InvalidProposalStatus');
  if (hasProposal) close(call, proposalTarget, rentCollector);
  close(call, transaction.address, rentCollector);
}

function addedMembers({ __kind }: ConfigAction): number {
  if (__kind === 'AddMember') return 1;
  return __kind === 'RemoveMember' ? -1 : 0;
}

function apply(multisig: MultisigAccount, action: ConfigAction): MultisigAccount {
  const stale = { ...multisig, staleTransactionIndex: multisig.transactionIndex };
  switch (action.__kind) {
    case 'AddMember':
      return { ...stale, members: [...multisig.members, action.newMember].toSorted(byAddress) };
    case 'RemoveMember': {
      const leaving = searchMember(multisig.members, action.oldMember);
      check(leaving !== null, 'NotAMember');
      return { ...stale, members: multisig.members.toSpliced(leaving, 1) };
    }
    case 'ChangeThreshold':
      return { ...stale, threshold: action.newThreshold };
    case 'SetTimeLock':
      return { ...stale, timeLock: action.newTimeLock };
    case 'SetRentCollector':
      return { ...multisig, rentCollector: action.newRentCollector };
    case 'AddSpendingLimit':
    case 'RemoveSpendingLimit':
      throw notEmulated('a config transaction about spending limits');
    default:
      throw new Error(`Unknown config action: ${JSON.stringify(action satisfies never)}.`);
  }
}

/**
 * Finds a member like Rust's binary search: between two actions a member may occur twice, and which one is found
 * decides which stays.
 */
function searchMember(members: readonly Member[], wanted: Address): number | null {
  let [left, right] = [0, members.length];
  while (left < right) {
    const middle = left + Math.floor((right - left) / 2);
    const member = members[middle];
    if (member === undefined) break;
    const order = compareAddresses(member.key, wanted);
    if (order === 0) return middle;
    if (order < 0) left = middle + 1;
    else right = middle;
  }
  return null;
}
