import { type CompiledMessage, encodeMessage } from '@flywheel/protocol';
import type { Transaction } from '@solana/kit';
import type { LiteSVM } from 'litesvm';
import { executeInSvm } from '../real-program.ts';
import type { TransactionError } from '../runtime.ts';
import { computeBudgetOf, computeBudgetRequests, isUnitLimitRequest, unitLimitRequest } from './compute-budget.ts';
import { failedInstruction } from './failure.ts';
import type { CompiledInstruction } from './outer-transaction.ts';

/**
 * Charges a transaction's fee by running it without its effects: with the same signers, accounts, lookup tables and
 * compute budget, and no other instruction. So the runtime itself computes the fee, checks the payer and resolves the
 * tables. Returns the error with which the runtime would not load the transaction, or null.
 */
export function chargeFee(svm: LiteSVM, transaction: Transaction, message: CompiledMessage): TransactionError | null {
  const requests = computeBudgetRequests(message);
  const bare = { ...withInstructions(message, requests), lifetimeToken: svm.latestBlockhash() };
  const { err } = executeInSvm(svm, { ...transaction, messageBytes: encodeMessage(bare) });
  const failed = err === null ? null : failedInstruction(err);
  return failed ? { InstructionError: [requests[failed.index]?.position, failed.detail] } : err;
}

function withInstructions(message: CompiledMessage, requests: readonly CompiledInstruction[]): CompiledMessage {
  if (message.version === 1) return { ...message, numInstructions: 0, instructionHeaders: [], instructionPayloads: [] };
  const instructions = requests.map(({ programIndex, data }) => ({ programAddressIndex: programIndex, data }));
  const [first] = requests;
  if (first && !requests.some(isUnitLimitRequest)) {
    // The priority fee is a price times a limit, and the default limit counts the instructions that are left out here.
    const data = unitLimitRequest(computeBudgetOf(message).unitLimit);
    instructions.push({ programAddressIndex: first.programIndex, data });
  }
  return { ...message, instructions };
}
