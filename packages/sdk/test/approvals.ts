import type { ProposalToApprove } from '@flywheel/sdk';
import { getProposalApproveInstruction, proposalAddress } from '@flywheel/squads';
import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  type Base64EncodedWireTransaction,
  compileTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  type Instruction,
  type KeyPairSigner,
  type Nonce,
  partiallySignTransaction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingDurableNonce,
} from '@solana/kit';
import { BATCH } from './batches.ts';

const SYSTEM_PROGRAM = address('11111111111111111111111111111111');
const COMPUTE_BUDGET_PROGRAM = address('ComputeBudget111111111111111111111111111111');
const NONCE_ACCOUNT = address('So11111111111111111111111111111111111111112');
const NONCE = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi' as Nonce;

export interface ApprovalOptions {
  readonly operator: KeyPairSigner;
  readonly wallet: KeyPairSigner;
  readonly company: Address;
  readonly feePayer?: Address;
  /** Authority of the nonce; the operator by default. */
  readonly nonceAuthority?: Address;
  /** Replaces the votes of the wallet and the company. */
  readonly votes?: readonly Instruction[];
  readonly extra?: readonly Instruction[];
}

/** Builds an approval like the service: nonce advance, compute budget, two votes; signed by the operator. */
export async function buildApproval(options: ApprovalOptions): Promise<Base64EncodedWireTransaction> {
  const {
    operator,
    wallet,
    company,
    feePayer = operator.address,
    nonceAuthority = operator.address,
    extra = [],
  } = options;
  const votes = options.votes ?? [await vote(wallet.address), await vote(company)];
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(feePayer, draft),
    (draft) =>
      appendTransactionMessageInstructions(
        [{ programAddress: COMPUTE_BUDGET_PROGRAM, data: new Uint8Array([2, 96, 234, 0, 0]) }, ...votes, ...extra],
        draft,
      ),
    (draft) =>
      setTransactionMessageLifetimeUsingDurableNonce(
        { nonce: NONCE, nonceAccountAddress: NONCE_ACCOUNT, nonceAuthorityAddress: nonceAuthority },
        draft,
      ),
  );
  return getBase64EncodedWireTransaction(
    await partiallySignTransaction([operator.keyPair], compileTransaction(message)),
  );
}

/** Builds a transfer of lamports from one account to another. */
export function transfer(from: Address, to: Address): Instruction {
  return {
    programAddress: SYSTEM_PROGRAM,
    accounts: [
      { address: from, role: AccountRole.WRITABLE_SIGNER },
      { address: to, role: AccountRole.WRITABLE },
    ],
    data: new Uint8Array([2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
  };
}

/** The proposal that the approvals of these tests vote for. */
export const PROPOSAL = { multisig: BATCH.multisig, batchIndex: BATCH.batchIndex } as const;

/** Builds a vote for a proposal. */
export async function vote(
  member: Address,
  { multisig, batchIndex }: Omit<ProposalToApprove, 'company'> = PROPOSAL,
): Promise<Instruction> {
  const owner = address(multisig);
  const proposal = proposalAddress(owner, BigInt(batchIndex));
  return getProposalApproveInstruction({ multisig: owner, member, proposal, memo: null });
}

/** Builds a vote with a comment. */
export async function voteWithMemo(member: Address): Promise<Instruction> {
  const multisig = address(PROPOSAL.multisig);
  const proposal = proposalAddress(multisig, BigInt(PROPOSAL.batchIndex));
  return getProposalApproveInstruction({ multisig, member, proposal, memo: new TextEncoder().encode('yes') });
}
