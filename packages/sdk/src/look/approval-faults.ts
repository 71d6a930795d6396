import type { Address } from '@solana/kit';
import type { Approval } from './decode-approval.ts';

/** What an approval may do at most, and whom it concerns. */
export interface ExpectedVote {
  readonly wallet: Address;
  readonly multisig: Address;
  readonly proposal: Address;
  readonly members: readonly Address[];
}

/** Everything an approval does beside voting for this one proposal; empty when it does nothing else. */
export function approvalFaults({ feePayer, steps }: Approval, expected: ExpectedVote): string[] {
  const faults: string[] = [];
  if (feePayer === expected.wallet) faults.push('It would have your wallet pay its fee; the operator pays.');
  if (steps[0]?.kind !== 'nonce') faults.push('It does not begin with the advance of its nonce.');
  const voters: Address[] = [];
  for (const [position, step] of steps.entries()) {
    const place = `Instruction ${position}`;
    if (step.kind === 'other') faults.push(`${place} calls ${step.program}, which has no part in an approval.`);
    if (step.kind === 'nonce' && position > 0) faults.push(`${place} advances another nonce.`);
    if (step.kind === 'nonce' && step.authority === expected.wallet)
      faults.push(`${place} advances a nonce of your wallet’s, ${step.account}; whatever waits on it would be void.`);
    if (step.kind !== 'vote') continue;
    if (step.multisig !== expected.multisig) faults.push(`${place} votes in another multisig, ${step.multisig}.`);
    if (step.proposal !== expected.proposal) faults.push(`${place} approves another proposal, ${step.proposal}.`);
    if (!expected.members.includes(step.member)) faults.push(`${place} votes as ${step.member}, who is no member.`);
    voters.push(step.member);
  }
  if (voters.filter((voter) => voter === expected.wallet).length !== 1) {
    faults.push(`It holds ${voters.filter((voter) => voter === expected.wallet).length} votes of your wallet, not 1.`);
  }
  return faults;
}
