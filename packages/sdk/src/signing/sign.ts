import {
  assertIsTransactionWithinSizeLimit,
  type Base64EncodedWireTransaction,
  getBase64EncodedWireTransaction,
  getTransactionLifetimeConstraintFromCompiledTransactionMessage,
  type TransactionModifyingSigner,
  type TransactionPartialSigner,
} from '@solana/kit';
import { COMPUTE_BUDGET_PROGRAM_ADDRESS } from '@solana-program/compute-budget';
import { signingRefused } from '../errors.ts';
import { type ApprovalStep, decodeApproval } from './approval.ts';
import { decodeTransaction } from './decode.ts';

/**
 * A signer for one address: a key pair of @solana/kit (`createKeyPairSignerFromBytes`), `walletStandardSigner`,
 * `byteSigner`, or another transaction signer of @solana/kit.
 */
export type ApprovalSigner = TransactionPartialSigner | TransactionModifyingSigner;

/**
 * Adds the project wallet's signature to `proposalApproveTx`; existing signatures stay. It signs only a transaction that
 * advances a nonce, sets its compute budget and approves proposals, and that the wallet does not pay for. It does not
 * check what the proposals do; `verifyAndSign` does.
 * @param proposalApproveTx base64.
 * @returns the signed transaction, base64.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` with the reason.
 *
 * @example
 * const signedTx = await signApproval(proposalApproveTx, wallet);
 * await client.executeBatch({ batchId: batch.id, signedTx });
 */
export async function signApproval(
  proposalApproveTx: string,
  wallet: ApprovalSigner,
): Promise<Base64EncodedWireTransaction> {
  const { feePayer, steps } = decodeApproval(proposalApproveTx);
  if (feePayer === wallet.address) throw signingRefused(`your wallet ${wallet.address} would pay the fee.`);
  for (const [position, step] of steps.entries()) {
    if (isForeign(step)) {
      throw signingRefused(`instruction ${position} calls ${step.program}, which is not part of an approval.`);
    }
  }
  return signTransaction(proposalApproveTx, wallet);
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

/** A wallet may add compute-budget instructions of other kinds; they cost the fee payer, not the wallet. */
function isForeign(step: ApprovalStep): step is Extract<ApprovalStep, { kind: 'other' }> {
  return step.kind === 'other' && step.program !== COMPUTE_BUDGET_PROGRAM_ADDRESS;
}
