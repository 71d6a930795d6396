import { type DescribedInstruction, LAMPORTS_PER_SIGNATURE, priorityFeeLamports } from '@flywheel/protocol';
import { PROPOSAL_APPROVE_DISCRIMINATOR, SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import type { Address } from '@solana/kit';
import {
  COMPUTE_BUDGET_PROGRAM_ADDRESS,
  getSetComputeUnitLimitInstructionDataDecoder,
  getSetComputeUnitPriceInstructionDataDecoder,
  SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR,
  SET_COMPUTE_UNIT_PRICE_DISCRIMINATOR,
} from '@solana-program/compute-budget';
import {
  ADVANCE_NONCE_ACCOUNT_DISCRIMINATOR,
  getAdvanceNonceAccountInstructionDataDecoder,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system';
import { decodeStaticTransaction } from './decode.ts';

/** One instruction of an approval transaction, read from its bytes. */
export type ApprovalStep =
  | { readonly kind: 'nonce'; readonly account: Address; readonly authority: Address }
  | { readonly kind: 'computeLimit'; readonly units: number }
  | { readonly kind: 'computePrice'; readonly microLamports: bigint }
  | { readonly kind: 'vote'; readonly proposal: Address; readonly multisig: Address; readonly member: Address }
  /** Not part of an approval. */
  | { readonly kind: 'other'; readonly program: Address; readonly bytes: number };

/** A decoded approval transaction. */
export interface Approval {
  readonly feePayer: Address;
  /** Every required signer; the fee payer is the first. */
  readonly signers: readonly Address[];
  readonly steps: readonly ApprovalStep[];
}

/**
 * Decodes an approval transaction.
 * @param proposalApproveTx base64.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` if it is not a version 0 transaction without lookup tables.
 */
export function decodeApproval(proposalApproveTx: string): Approval {
  const { feePayer, signers, instructions } = decodeStaticTransaction(proposalApproveTx, 'an approval');
  return { feePayer, signers, steps: instructions.map(stepOf) };
}

/** Calculates what an approval costs its fee payer, in lamports: signatures and priority fee. */
export function approvalFee({ signers, steps }: Approval): bigint {
  let [units, price] = [0, 0n];
  for (const step of steps) {
    if (step.kind === 'computeLimit') units = step.units;
    if (step.kind === 'computePrice') price = step.microLamports;
  }
  return BigInt(signers.length) * LAMPORTS_PER_SIGNATURE + priorityFeeLamports(units, price);
}

/** The one proposal that an approval may vote for, and the members that vote. */
export interface ExpectedVote {
  readonly wallet: Address;
  readonly multisig: Address;
  readonly proposal: Address;
  /** Votes for the company; null if it is not known: then any one member beside the wallet may. */
  readonly company: Address | null;
}

/**
 * Lists everything that an approval does beside the two votes for the expected proposal, a sentence each. Instructions count
 * from 1, as in every list of them.
 */
export function approvalIssues({ feePayer, signers, steps }: Approval, expected: ExpectedVote): string[] {
  const { wallet, multisig, proposal, company } = expected;
  const issues: string[] = [];
  if (feePayer === wallet) issues.push('Your wallet would pay the fee; the operator must pay it.');
  if (steps[0]?.kind !== 'nonce') issues.push('It does not begin with the advance of its nonce.');
  for (const [position, step] of steps.entries()) {
    const subject = `Instruction ${position + 1}`;
    if (step.kind === 'other') issues.push(`${subject} calls ${step.program}, which is not part of an approval.`);
    if (step.kind === 'nonce' && position > 0) issues.push(`${subject} advances another nonce.`);
    if (step.kind === 'nonce' && step.authority === wallet) {
      issues.push(
        `${subject} advances ${step.account}, a nonce of your wallet. That voids transactions signed with it.`,
      );
    }
    if (step.kind !== 'vote') continue;
    if (step.multisig !== multisig) issues.push(`${subject} votes in another multisig, ${step.multisig}.`);
    if (step.proposal !== proposal) issues.push(`${subject} approves another proposal, ${step.proposal}.`);
    if (step.member !== wallet && company !== null && step.member !== company) {
      issues.push(`${subject} votes as ${step.member}, which is neither your wallet nor the company ${company}.`);
    }
  }
  const voters = steps.flatMap((step) => (step.kind === 'vote' ? [step.member] : []));
  const [own, others] = [voters.filter((voter) => voter === wallet), voters.filter((voter) => voter !== wallet)];
  if (own.length !== 1) issues.push(`It contains ${own.length} votes of your wallet; it must contain 1.`);
  if (others.length !== 1) issues.push(`It contains ${others.length} votes of other members; it must contain 1.`);
  for (const signer of signers) {
    if (signer !== feePayer && !voters.includes(signer))
      issues.push(`It is also signed by ${signer}, which does not vote.`);
  }
  return issues;
}

/** An approval without a memo. */
const APPROVE = Uint8Array.of(...PROPOSAL_APPROVE_DISCRIMINATOR, 0);
/** Multisig, member, proposal. */
const VOTE_ACCOUNTS = 3;

function stepOf({ programAddress: program, accounts, data }: DescribedInstruction): ApprovalStep {
  const other: ApprovalStep = { kind: 'other', program, bytes: data.length };
  switch (program) {
    case SYSTEM_PROGRAM_ADDRESS: {
      const [account, , authority] = accounts;
      const decoder = getAdvanceNonceAccountInstructionDataDecoder();
      if (data.length !== decoder.fixedSize || !account || !authority) return other;
      const { discriminator } = decoder.decode(data);
      return discriminator === ADVANCE_NONCE_ACCOUNT_DISCRIMINATOR ? { kind: 'nonce', account, authority } : other;
    }
    case COMPUTE_BUDGET_PROGRAM_ADDRESS: {
      const [limit, price] = [
        getSetComputeUnitLimitInstructionDataDecoder(),
        getSetComputeUnitPriceInstructionDataDecoder(),
      ];
      if (data[0] === SET_COMPUTE_UNIT_LIMIT_DISCRIMINATOR && data.length === limit.fixedSize) {
        return { kind: 'computeLimit', units: limit.decode(data).units };
      }
      if (data[0] === SET_COMPUTE_UNIT_PRICE_DISCRIMINATOR && data.length === price.fixedSize) {
        return { kind: 'computePrice', microLamports: price.decode(data).microLamports };
      }
      return other;
    }
    case SQUADS_PROGRAM_ADDRESS: {
      const [multisig, member, proposal] = accounts;
      const isApprove = APPROVE.length === data.length && APPROVE.every((byte, index) => data[index] === byte);
      const isVote = multisig && member && proposal && accounts.length === VOTE_ACCOUNTS && isApprove;
      return isVote ? { kind: 'vote', multisig, member, proposal } : other;
    }
    default:
      return other;
  }
}
