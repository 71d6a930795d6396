import {
  type Address,
  address,
  assertIsTransactionWithinSizeLimit,
  type Base64EncodedWireTransaction,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionLifetimeConstraintFromCompiledTransactionMessage,
  type ReadonlyUint8Array,
  type TransactionPartialSigner,
} from '@solana/kit';
import { FlywheelError } from './errors.ts';

const SYSTEM_PROGRAM = address('11111111111111111111111111111111');
const COMPUTE_BUDGET_PROGRAM = address('ComputeBudget111111111111111111111111111111');
const SQUADS_PROGRAM = address('SQDS4ep65T869zMMBKyuUq6aD6EgTu8psMjkvj52pCf');
/** SystemInstruction::AdvanceNonceAccount, a little-endian u32. */
const ADVANCE_NONCE = [4, 0, 0, 0];
/** Anchor’s discriminator: the first eight bytes of SHA-256("global:proposal_approve"). */
const PROPOSAL_APPROVE = [144, 37, 164, 136, 188, 216, 42, 248];

/**
 * Adds the project wallet’s signature to `proposalApproveTx`; signatures already there stay. Whatever asked for it, a
 * transaction that does anything but vote (advance its nonce, set its compute budget, approve proposals), or that has
 * the wallet pay for it, is not signed.
 * @throws FlywheelError `ERR_SIGNING_REFUSED`, naming what is wrong.
 *
 * @example
 * const signedTx = await signApproval(proposalApproveTx, wallet);
 * await client.executeBatch({ batchId: batch.id, signedTx });
 */
export async function signApproval(
  proposalApproveTx: string,
  wallet: TransactionPartialSigner,
): Promise<Base64EncodedWireTransaction> {
  const { message } = decode(proposalApproveTx);
  if (message.version !== 0 || (message.addressTableLookups ?? []).length > 0) {
    throw refusal('an approval is a version 0 transaction without lookup tables; this is none.');
  }
  const [feePayer] = message.staticAccounts;
  if (feePayer === wallet.address) throw refusal(`it would have your wallet ${wallet.address} pay for it.`);
  for (const [position, { programAddressIndex, data = new Uint8Array() }] of message.instructions.entries()) {
    const program = message.staticAccounts[programAddressIndex];
    if (program === undefined || !isPartOfApproval(program, data)) {
      throw refusal(
        `instruction ${position} calls ${program ?? 'an unknown program'} for something other than a vote.`,
      );
    }
  }
  return signTransaction(proposalApproveTx, wallet);
}

/**
 * Adds a signer’s signature to a serialized transaction, whatever it does; signatures already there stay.
 * @throws FlywheelError `ERR_SIGNING_REFUSED` when the text is no transaction or does not ask for this signer.
 */
export async function signTransaction(
  wireTransaction: string,
  signer: TransactionPartialSigner,
): Promise<Base64EncodedWireTransaction> {
  const { transaction, message } = decode(wireTransaction);
  if (!Object.hasOwn(transaction.signatures, signer.address)) {
    const asked = Object.keys(transaction.signatures).join(', ');
    throw refusal(`it asks for signatures by ${asked}; your wallet is ${signer.address}.`);
  }
  // A decoded transaction has lost what its lifetime is; signers ask for it.
  const lifetimeConstraint = await getTransactionLifetimeConstraintFromCompiledTransactionMessage(message);
  const signable = { ...transaction, lifetimeConstraint };
  assertIsTransactionWithinSizeLimit(signable);
  const [signatures] = await signer.signTransactions([signable]);
  return getBase64EncodedWireTransaction({
    ...transaction,
    signatures: { ...transaction.signatures, ...signatures },
  });
}

function decode(wireTransaction: string) {
  try {
    const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(wireTransaction.trim()));
    return { transaction, message: getCompiledTransactionMessageDecoder().decode(transaction.messageBytes) };
  } catch (cause) {
    throw refusal(`it is no base64 transaction (${wireTransaction.length} characters).`, cause);
  }
}

function isPartOfApproval(program: Address, instruction: ReadonlyUint8Array): boolean {
  if (program === COMPUTE_BUDGET_PROGRAM) return true;
  if (program === SYSTEM_PROGRAM)
    return instruction.length === ADVANCE_NONCE.length && startsWith(instruction, ADVANCE_NONCE);
  return program === SQUADS_PROGRAM && startsWith(instruction, PROPOSAL_APPROVE);
}

function startsWith(bytes: ReadonlyUint8Array, prefix: readonly number[]): boolean {
  return prefix.every((byte, position) => bytes[position] === byte);
}

function refusal(problem: string, cause?: unknown): FlywheelError {
  return new FlywheelError({ code: 'ERR_SIGNING_REFUSED', message: `Not signed: ${problem}`, cause });
}
