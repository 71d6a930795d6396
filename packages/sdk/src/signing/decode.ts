import type { DescribedInstruction } from '@flywheel/protocol';
import {
  type Address,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit';
import { signingRefused } from '../errors.ts';

/** The effects of a transaction, read from its bytes. */
export interface DecodedTransaction {
  readonly feePayer: Address;
  /** Every required signer; the fee payer is the first. */
  readonly signers: readonly Address[];
  readonly instructions: readonly DescribedInstruction[];
  /** The blockhash, or the value of the nonce that it advances. */
  readonly lifetimeToken: string;
}

/**
 * Decodes a transaction of which every account stands in its own bytes.
 * @param wireTransaction base64.
 * @param kind what it should be, for the error: `an approval`.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` if it is not a version 0 transaction without lookup tables.
 */
export function decodeStaticTransaction(wireTransaction: string, kind: string): DecodedTransaction {
  const { message } = decodeTransaction(wireTransaction);
  if (message.version !== 0 || (message.addressTableLookups ?? []).length > 0) {
    throw signingRefused(`${kind} is a version 0 transaction without lookup tables; this is another transaction.`);
  }
  const { staticAccounts, header } = message;
  const at = (index: number | undefined) => {
    const account = index === undefined ? undefined : staticAccounts[index];
    if (account === undefined) throw signingRefused(`it names account ${index} of ${staticAccounts.length}.`);
    return account;
  };
  return {
    feePayer: at(0),
    signers: staticAccounts.slice(0, header.numSignerAccounts),
    instructions: message.instructions.map(({ programAddressIndex, accountIndices = [], data = new Uint8Array() }) => ({
      programAddress: at(programAddressIndex),
      accounts: accountIndices.map(at),
      data,
    })),
    lifetimeToken: message.lifetimeToken,
  };
}

/**
 * Decodes a serialized transaction and its message.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` if the text is not a base64 transaction.
 */
export function decodeTransaction(wireTransaction: string) {
  try {
    const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(wireTransaction.trim()));
    return { transaction, message: getCompiledTransactionMessageDecoder().decode(transaction.messageBytes) };
  } catch (cause) {
    throw signingRefused(`it is not a base64 transaction (${wireTransaction.length} characters).`, cause);
  }
}
