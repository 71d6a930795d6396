import {
  assertIsTransactionWithinSizeLimit,
  type Base64EncodedWireTransaction,
  getBase64EncodedWireTransaction,
  getTransactionLifetimeConstraintFromCompiledTransactionMessage,
  type TransactionModifyingSigner,
  type TransactionPartialSigner,
} from '@solana/kit';
import { decodeTransaction, refusal } from './decode-transaction.ts';

/**
 * Whoever signs for an address: a key pair of @solana/kit (`createKeyPairSignerFromBytes`), `walletStandardSigner`,
 * `byteSigner`, or any other of its transaction signers.
 */
export type ApprovalSigner = TransactionPartialSigner | TransactionModifyingSigner;

/**
 * Adds a signer’s signature to a serialized transaction, whatever it does; signatures already there stay, unless the
 * signer is a wallet that changes what it signs.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` when the text is no transaction or does not ask for this signer.
 */
export async function signTransaction(
  wireTransaction: string,
  signer: ApprovalSigner,
): Promise<Base64EncodedWireTransaction> {
  const { transaction, message } = decodeTransaction(wireTransaction);
  if (!Object.hasOwn(transaction.signatures, signer.address)) {
    const asked = Object.keys(transaction.signatures).join(', ');
    throw refusal(`it asks for signatures by ${asked}; your wallet is ${signer.address}.`);
  }
  // A decoded transaction has lost what its lifetime is; signers ask for it.
  const lifetimeConstraint = await getTransactionLifetimeConstraintFromCompiledTransactionMessage(message);
  const signable = { ...transaction, lifetimeConstraint };
  assertIsTransactionWithinSizeLimit(signable);
  if ('modifyAndSignTransactions' in signer) {
    const [signed] = await signer.modifyAndSignTransactions([signable]);
    if (!signed) throw refusal(`${signer.address} signed nothing.`);
    return getBase64EncodedWireTransaction(signed);
  }
  const [signatures] = await signer.signTransactions([signable]);
  return getBase64EncodedWireTransaction({
    ...transaction,
    signatures: { ...transaction.signatures, ...signatures },
  });
}
