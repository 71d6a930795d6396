// A TransactionError travels as JSON text, as a node answers it: `"AccountNotFound"`, `{"InstructionError":[1,{"Custom":1}]}`,
// `{"InsufficientFundsForRent":{"account_index":0}}`. Results quote it. Names are those of Agave's
// TransactionError and InstructionError.

/** Returns the zero-based index of the transaction's instruction that failed; null for an error that names none. */
export function failedInstruction(err: string): number | null {
  const index = /^\{"InstructionError":\[(\d+),/.exec(err)?.[1];
  return index === undefined ? null : Number(index);
}

/** Error code 1 is `InsufficientFunds` in the token programs and `ResultWithNegativeLamports` in the system program. */
export function isShortOfFunds(err: string): boolean {
  return /"Custom":1[}\]]/.test(err) || err.includes('InsufficientFundsForRent');
}

/** True for an error of the pipeline itself. Others (fee payer, blockhash, node) can go away without a change of it. */
export function isCausedByPipeline(err: string): boolean {
  return err.includes('InstructionError') || (err.includes('InsufficientFundsForRent') && !isFeeUnpaid(err));
}

/** True for an error that a recipient can cause. The vault's funds, the mint and the bounds of a transaction are not its own. */
export function mayBeCausedByRecipient(err: string): boolean {
  return !isShortOfFunds(err) && !OTHER_CAUSES.test(err);
}

/**
 * An issuer causes `MintPaused`, Token-2022's error 67, `MintDecimalsMismatch`, 18 of both token programs, and, with a
 * transfer hook, `MissingAccount`. The others are bounds of a transaction.
 */
const OTHER_CAUSES =
  /"Custom":(18|67)\}|"MissingAccount"|ComputationalBudgetExceeded|ProgramFailedToComplete|MaxAccountsDataAllocations/;

/**
 * True if the node does not show the lookup table of a simulation. The only one is the project's, which is finalized before
 * the first batch, frozen, and never closed.
 */
export function isNodeBehind(err: string): boolean {
  return err.includes('AddressLookupTable');
}

/** True if the fee payer has no account, or too little for the fee and the rent of that account, which is the first one. */
export function isFeeUnpaid(err: string): boolean {
  return err.includes('InsufficientFundsForFee') || err === '"AccountNotFound"' || FEE_PAYER_RENT.test(err);
}

const FEE_PAYER_RENT = /"InsufficientFundsForRent":\{"account_index":0\}/;
