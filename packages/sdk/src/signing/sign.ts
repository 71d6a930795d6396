import { address } from '@flywheel/protocol';
import { proposalAddress } from '@flywheel/squads';
import {
  assertIsTransactionWithinSizeLimit,
  type Base64EncodedWireTransaction,
  getBase64EncodedWireTransaction,
  getTransactionLifetimeConstraintFromCompiledTransactionMessage,
  type TransactionModifyingSigner,
  type TransactionPartialSigner,
} from '@solana/kit';
import { signingRefused } from '../errors.ts';
import { approvalIssues, decodeApproval } from './approval.ts';
import { decodeTransaction } from './decode.ts';

/**
 * A signer for one address: a key pair of @solana/kit (`createKeyPairSignerFromBytes`), `walletStandardSigner`,
 * `byteSigner`, or another transaction signer of @solana/kit.
 */
export type ApprovalSigner = TransactionPartialSigner | TransactionModifyingSigner;

/** The proposal that a wallet is asked to approve. */
export interface ProposalToApprove {
  readonly multisig: string;
  /** As the batch has it. */
  readonly batchIndex: string;
  /**
   * The member that votes for the company, from your own records. `'trust-service'` accepts whichever member the transaction
   * names.
   */
  readonly company: string;
}

/**
 * Adds the project wallet's signature to `proposalApproveTx` without verifying what the proposal does; `verifyAndSign` does
 * that. It signs only a transaction that advances a nonce, sets its compute budget and approves this one proposal, once
 * for the wallet and once for the company that you name, and that the wallet does not pay for. Existing signatures stay.
 * @param proposalApproveTx base64.
 * @returns the signed transaction, base64.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` with every reason.
 *
 * @example
 * const { batchIndex } = await client.getBatch(batchId);
 * const signedTx = await signApproval(proposalApproveTx, wallet, { multisig, batchIndex, company });
 * await client.executeBatch({ batchId, signedTx });
 */
export async function signApproval(
  proposalApproveTx: string,
  wallet: ApprovalSigner,
  { multisig, batchIndex, company }: ProposalToApprove,
): Promise<Base64EncodedWireTransaction> {
  requireCompany({ company });
  const issues = approvalIssues(decodeApproval(proposalApproveTx), {
    wallet: wallet.address,
    multisig: address(multisig),
    proposal: proposalAddress(address(multisig), BigInt(batchIndex)),
    company: company === 'trust-service' ? null : address(company),
  });
  if (issues.length > 0) throw signingRefused(issues.join(' '));
  return signTransaction(proposalApproveTx, wallet);
}

/** For callers without types: to leave `company` out by mistake must not accept every member. */
function requireCompany({ company }: { readonly company?: string }): void {
  if (company !== undefined) return;
  throw signingRefused(
    'company is missing. Pass the member that votes for the company, from your own records; "trust-service" accepts any.',
  );
}

/**
 * Adds a signer's signature to a serialized transaction, whatever the transaction does. Existing signatures stay, unless
 * the signer is a wallet that changes what it signs.
 * @param wireTransaction base64.
 * @returns the signed transaction, base64.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` if the text is not a transaction, or does not need this signer.
 */
export async function signTransaction(
  wireTransaction: string,
  signer: ApprovalSigner,
): Promise<Base64EncodedWireTransaction> {
  const { transaction, message } = decodeTransaction(wireTransaction);
  if (!Object.hasOwn(transaction.signatures, signer.address)) {
    const required = Object.keys(transaction.signatures).join(', ');
    throw signingRefused(`it needs signatures of ${required}; your wallet is ${signer.address}.`);
  }
  // Decoding loses the lifetime, which signers ask for.
  const lifetimeConstraint = await getTransactionLifetimeConstraintFromCompiledTransactionMessage(message);
  const signable = { ...transaction, lifetimeConstraint };
  assertIsTransactionWithinSizeLimit(signable);
  if ('modifyAndSignTransactions' in signer) {
    const [signed] = await signer.modifyAndSignTransactions([signable]);
    if (!signed) throw signingRefused(`${signer.address} returned no transaction.`);
    return getBase64EncodedWireTransaction(signed);
  }
  const [signatures] = await signer.signTransactions([signable]);
  return getBase64EncodedWireTransaction({
    ...transaction,
    signatures: { ...transaction.signatures, ...signatures },
  });
}
