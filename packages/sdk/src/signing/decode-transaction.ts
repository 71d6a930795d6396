import { getBase64Encoder, getCompiledTransactionMessageDecoder, getTransactionDecoder } from '@solana/kit';
import { FlywheelError } from '../errors.ts';

/** A serialized transaction and its message. @throws FlywheelError `ERR_SIGNING_REFUSED` when the text is none. */
export function decodeTransaction(wireTransaction: string) {
  try {
    const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(wireTransaction.trim()));
    return { transaction, message: getCompiledTransactionMessageDecoder().decode(transaction.messageBytes) };
  } catch (cause) {
    throw refusal(`it is no base64 transaction (${wireTransaction.length} characters).`, cause);
  }
}

/** What is thrown where nothing is signed; the problem follows on “Not signed:”. */
export function refusal(problem: string, cause?: unknown): FlywheelError<'ERR_SIGNING_REFUSED'> {
  return new FlywheelError({ code: 'ERR_SIGNING_REFUSED', message: `Not signed: ${problem}`, cause });
}
