import assert from 'node:assert/strict';
import { decodeTransaction } from '@flywheel/testing/values';
import {
  compileTransaction,
  decompileTransactionMessage,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
  type KeyPairSigner,
  partiallySignTransaction,
  type ReadonlyUint8Array,
  type Transaction,
  type TransactionMessage,
  type TransactionMessageWithFeePayer,
} from '@solana/kit';

export type ApprovalMessage = Extract<TransactionMessage, { version: 0 }> & TransactionMessageWithFeePayer;

/** Changes an approval and signs the result, as a wallet would. */
export function editApproval(
  wire: string,
  wallet: Pick<KeyPairSigner, 'address' | 'keyPair'>,
  edit: (message: ApprovalMessage) => TransactionMessage & TransactionMessageWithFeePayer,
): Promise<string> {
  const compiled = getCompiledTransactionMessageDecoder().decode(decodeTransaction(wire).messageBytes);
  const message = decompileTransactionMessage(compiled);
  assert.equal(message.version, 0);
  return signMessage(compileTransaction(edit(message as ApprovalMessage)).messageBytes, wallet);
}

/** Builds a transaction with these message bytes, signed by the wallet if it is a signer. */
export async function signMessage(
  messageBytes: ReadonlyUint8Array,
  wallet: Pick<KeyPairSigner, 'address' | 'keyPair'>,
): Promise<string> {
  const { header, staticAccounts } = getCompiledTransactionMessageDecoder().decode(messageBytes);
  const signers = staticAccounts.slice(0, header.numSignerAccounts);
  const unsigned = { messageBytes, signatures: Object.fromEntries(signers.map((signer) => [signer, null])) };
  const keys = signers.includes(wallet.address) ? [wallet.keyPair] : [];
  // The bytes are a message's; kit needs nothing of it but its signers.
  return getBase64EncodedWireTransaction(await partiallySignTransaction(keys, unsigned as unknown as Transaction));
}
