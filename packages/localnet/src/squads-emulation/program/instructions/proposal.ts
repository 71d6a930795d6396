import {
  type MultisigAccount,
  PERMISSION,
  type ProposalAccount,
  type ProposalStatus,
  proposalApproveArgsDecoder,
  proposalApproveArgsEncoder,
  proposalBytes,
  proposalCreateArgsDecoder,
  proposalCreateArgsEncoder,
} from '@flywheel/squads';
import type { Address } from '@solana/kit';
import { compareAddresses, proposalAddress } from '../addresses.ts';
import {
  accountAt,
  type Call,
  checkWritable,
  grow,
  initialize,
  type Loaded,
  loadAt,
  readArguments,
  save,
  signerAt,
  systemProgramAt,
} from '../call.ts';
import { check, type ErrorName } from '../errors.ts';
import { checkMember, checkMultisigSeeds, isMember, voterCount } from './multisig.ts';

/** Opens the vote on a batch, as a draft or directly active. */
export function proposalCreate(call: Call): void {
  const { transactionIndex, draft } = readArguments(call, {
    encoder: proposalCreateArgsEncoder,
    decoder: proposalCreateArgsDecoder,
  });
  const multisig = loadAt(call, 0, 'Multisig');
  const target = accountAt(call, 1).address;
  const creator = signerAt(call, 2);
  const rentPayer = signerAt(call, 3);
  systemProgramAt(call, 4);

  const expected = proposalAddress(multisig.address, transactionIndex);
  const bytes = proposalBytes(multisig.value.members.length);
  initialize(call, { position: 1, expected, payer: rentPayer, bytes });
  checkMultisigSeeds(multisig);
  checkWritable(call, 3);
  check(transactionIndex <= multisig.value.transactionIndex, 'InvalidTransactionIndex');
  check(transactionIndex > multisig.value.staleTransactionIndex, 'StaleProposal');
  checkMember(multisig.value, creator, PERMISSION.initiate | PERMISSION.vote);
  save(call, target, 'Proposal', {
    multisig: multisig.address,
    transactionIndex,
    status: statusNow(call, draft ? 'Draft' : 'Active'),
    bump: expected.bump,
    approved: [],
    rejected: [],
    cancelled: [],
  });
}

/** Ends additions to a draft and opens it for votes. */
export function proposalActivate(call: Call): void {
  const { multisig, proposal, member } = loadVote(call);
  checkMember(multisig, member, PERMISSION.initiate);
  check(proposal.value.status.__kind === 'Draft', 'InvalidProposalStatus');
  checkNotStale(multisig, proposal.value);
  save(call, proposal.address, 'Proposal', { ...proposal.value, status: statusNow(call, 'Active') });
}

export function proposalApprove(call: Call): void {
  const { multisig, proposal, member } = loadActiveVote(call);
  const rejected = proposal.value.rejected.filter((voter) => voter !== member);
  const approved = withVote(proposal.value.approved, member, 'AlreadyApproved');
  const status = approved.length >= multisig.threshold ? statusNow(call, 'Approved') : proposal.value.status;
  save(call, proposal.address, 'Proposal', { ...proposal.value, approved, rejected, status });
}

export function proposalReject(call: Call): void {
  const { multisig, proposal, member } = loadActiveVote(call);
  const approved = proposal.value.approved.filter((voter) => voter !== member);
  const rejected = withVote(proposal.value.rejected, member, 'AlreadyRejected');
  // After this number of rejections the remaining voters cannot reach the threshold.
  const cutoff = voterCount(multisig) - multisig.threshold + 1;
  const status = rejected.length >= cutoff ? statusNow(call, 'Rejected') : proposal.value.status;
  save(call, proposal.address, 'Proposal', { ...proposal.value, approved, rejected, status });
}

export function proposalCancel(call: Call): void {
  readArguments(call, voteArguments);
  const vote = loadVote(call);
  save(call, vote.proposal.address, 'Proposal', withCancellation(call, vote));
}

/** Cancels like `proposalCancel`, and grows the account for the votes of members who were added after its creation. */
export function proposalCancelV2(call: Call): void {
  readArguments(call, voteArguments);
  const vote = loadVote(call);
  systemProgramAt(call, 3);
  const cancelled = withCancellation(call, vote);
  grow(call, vote.proposal.address, proposalBytes(vote.multisig.members.length), vote.member);
  save(call, vote.proposal.address, 'Proposal', cancelled);
}

/** All votes take the same argument. */
const voteArguments = { encoder: proposalApproveArgsEncoder, decoder: proposalApproveArgsDecoder };

interface Vote {
  readonly multisig: MultisigAccount;
  readonly proposal: Loaded<ProposalAccount>;
  readonly member: Address;
}

function loadVote(call: Call): Vote {
  const multisig = loadAt(call, 0, 'Multisig');
  const member = signerAt(call, 1);
  const proposal = loadAt(call, 2, 'Proposal');
  checkMultisigSeeds(multisig);
  checkWritable(call, 1);
  const expected = proposalAddress(multisig.address, proposal.value.transactionIndex);
  check(proposal.address === expected.address, 'ConstraintSeeds');
  checkWritable(call, 2);
  return { multisig: multisig.value, proposal, member };
}

function loadActiveVote(call: Call): Vote {
  readArguments(call, voteArguments);
  const vote = loadVote(call);
  checkMember(vote.multisig, vote.member, PERMISSION.vote);
  check(vote.proposal.value.status.__kind === 'Active', 'InvalidProposalStatus');
  checkNotStale(vote.multisig, vote.proposal.value);
  return vote;
}

function withCancellation(call: Call, { multisig, proposal, member }: Vote): ProposalAccount {
  checkMember(multisig, member, PERMISSION.vote);
  check(proposal.value.status.__kind === 'Approved', 'InvalidProposalStatus');
  const stillMembers = proposal.value.cancelled.filter((voter) => isMember(multisig, voter));
  const cancelled = withVote(stillMembers, member, 'AlreadyCancelled');
  const status = cancelled.length >= multisig.threshold ? statusNow(call, 'Cancelled') : proposal.value.status;
  return { ...proposal.value, cancelled, status };
}

function withVote(votes: readonly Address[], member: Address, otherwise: ErrorName): Address[] {
  check(!votes.includes(member), otherwise);
  return [...votes, member].toSorted(compareAddresses);
}

function checkNotStale(multisig: MultisigAccount, proposal: ProposalAccount): void {
  check(proposal.transactionIndex > multisig.staleTransactionIndex, 'StaleProposal');
}

type TimedStatus = Extract<ProposalStatus, { timestamp: bigint }>;

export function statusNow(call: Call, kind: TimedStatus['__kind']): ProposalAccount['status'] {
  return { __kind: kind, timestamp: call.chain.unixTimestamp };
}
