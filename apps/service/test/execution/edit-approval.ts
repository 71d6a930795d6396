import assert from 'node:assert/strict';
import {
  compileTransaction,
  decompileTransactionMessage,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type KeyPairSigner,
  partiallySignTransaction,
  type ReadonlyUint8Array,
  type Transaction,
  type TransactionMessage,
  type TransactionMessageWithFeePayer,
} from '@solana/kit';

export type ApprovalMessage = Extract<TransactionMessage, { version: 0 }> & TransactionMessageWithFeePayer;

/** The approval after a wallet has changed it and signed what came out. */
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

/** A transaction of these message bytes, signed by the wallet where it is a signer. */
export async function signMessage(
  messageBytes: ReadonlyUint8Array,
  wallet: Pick<KeyPairSigner, 'address' | 'keyPair'>,
): Promise<string> {
  const { header, staticAccounts } = getCompiledTransactionMessageDecoder().decode(messageBytes);
  const signers = staticAccounts.slice(0, header.numSignerAccounts);
  const unsigned = { messageBytes, signatures: Object.fromEntries(signers.map((signer) => [signer, null])) };
  const keys = signers.includes(wallet.address) ? [wallet.keyPair] : [];
  // The bytes are a message's, so their signers are all there is to know about them.
  return getBase64EncodedWireTransaction(await partiallySignTransaction(keys, unsigned as unknown as Transaction));
}

export function decodeTransaction(wire: string): Transaction {
  return getTransactionDecoder().decode(getBase64Encoder().encode(wire));
}
